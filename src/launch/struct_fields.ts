/**
 * The fields of structs as types: how they are described, and as which values they are passed.
 *
 * @module
 */

import type { C_TYPES, CTypeSpelling, ScalarType } from "./c_types.ts";
import type { StructType } from "./struct_type.ts";
import type { VectorLength, VectorSpelling, VectorTable } from "./vector_types.ts";

/**
 * What a field is: a scalar or vector type in C's words, `"float"`, or an array of them,
 * `"float[4]"`; a struct; or a struct and how many of it.
 */
export type StructField = string | StructType | readonly [StructType, number];

/** The fields of a struct in the order of their declaration. */
export type StructFields = Readonly<Record<string, StructField>>;

/** The JavaScript value that a scalar takes. */
export type ScalarArgument<Type extends ScalarType> = Type extends "int64" | "uint64"
  ? number | bigint
  : Type extends "bool" ? boolean
  : number;

/** The JavaScript value that a scalar is decoded to. */
export type ScalarResult<Type extends ScalarType> = Type extends "int64" | "uint64" ? bigint
  : Type extends "bool" ? boolean
  : number;

/** An array of this length, whose length the compiler knows. */
export type VectorOf<Element, Length extends VectorLength> = Length extends 1 ? readonly [Element]
  : Length extends 2 ? readonly [Element, Element]
  : Length extends 3 ? readonly [Element, Element, Element]
  : readonly [Element, Element, Element, Element];

/** The JavaScript value that a vector takes: a number for each element. */
export type VectorArgument<Spelling extends VectorSpelling> = VectorOf<
  ScalarArgument<VectorTable[Spelling][0]>,
  VectorTable[Spelling][1]
>;

/** The JavaScript value that a vector is decoded to. */
export type VectorResult<Spelling extends VectorSpelling> = VectorOf<
  ScalarResult<VectorTable[Spelling][0]>,
  VectorTable[Spelling][1]
>;

/** What a struct of these fields is encoded from. */
export type StructArgument<Fields extends StructFields> = string extends keyof Fields ? object
  : { readonly [Field in keyof Fields]: FieldArgument<Fields[Field]> };

/** What a struct of these fields is decoded to. */
export type StructResult<Fields extends StructFields> = string extends keyof Fields
  ? Readonly<Record<string, unknown>>
  : { readonly [Field in keyof Fields]: FieldResult<Fields[Field]> };

/**
 * What a field is encoded from: arrays also from typed arrays.
 *
 * @internal
 */
export type FieldArgument<Field> = Field extends StructType<string, infer Argument> ? Argument
  : Field extends readonly [StructType<string, infer Argument>, number] ? ArrayLike<Argument>
  : Field extends `${infer Element}[${infer Extents}`
    ? Extents extends `${string}][${infer Inner}` ? ArrayLike<FieldArgument<`${Element}[${Inner}`>>
    : ArrayLike<FieldArgument<Element>>
  : Field extends CTypeSpelling ? ScalarArgument<(typeof C_TYPES)[Field]>
  : Field extends VectorSpelling ? VectorArgument<Field>
  : never;

/**
 * What a field is decoded to.
 *
 * @internal
 */
export type FieldResult<Field> = Field extends StructType<string, object, infer Result> ? Result
  : Field extends readonly [StructType<string, object, infer Result>, number] ? readonly Result[]
  : Field extends `${infer Element}[${infer Extents}`
    ? Extents extends `${string}][${infer Inner}` ? readonly FieldResult<`${Element}[${Inner}`>[]
    : readonly FieldResult<Element>[]
  : Field extends CTypeSpelling ? ScalarResult<(typeof C_TYPES)[Field]>
  : Field extends VectorSpelling ? VectorResult<Field>
  : never;

/** Each field itself where it can be read, else the reason why not. */
export type ReadableFields<Fields> = {
  readonly [Field in keyof Fields]: ReadableField<Fields[Field]>;
};

/** @internal */
type ReadableField<Field> = Field extends `${infer Element}[${number}]${infer Inner}`
  ? Inner extends "" | `[${number}]${string}` ? ReadableElement<Element, Field>
  : `"${Field}" is no field: an array reads "float[4]"`
  : Field extends string ? ReadableElement<Field, Field>
  : Field;

/** The field where its element type is one, else the reason why not. */
type ReadableElement<Element extends string, Field extends string> = Element extends
  CTypeSpelling | VectorSpelling ? Field
  : Element extends `${string}*` ? `"${Field}" is no field: a pointer is a parameter of its own`
  : `"${Element}" is not a type a field can have`;
