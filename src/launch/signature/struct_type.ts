/**
 * Structs that kernels take: described once, laid out as C++ does.
 *
 * @module
 */

import { requireOptions } from "../../ffi/arguments.ts";
import { describeValue } from "../../ffi/describe_value.ts";
import { bytesPerElement, type DType } from "../../memory/dtype.ts";
import {
  type C_TYPES,
  type CTypeSpelling,
  scalarTypeOf,
  type VectorSpelling,
  type VectorTable,
  type VectorType,
  vectorTypeOf,
} from "./c_types.ts";
import {
  bytesOfElement,
  decode,
  type Encoder,
  encoderOf,
  encodingError,
  type EncodingProblem,
} from "./encoding.ts";

// ---- Types of fields -----------------------------------------------------------------------------

/**
 * The fields of a struct in the order of their declaration. Each is a scalar or vector type in C's
 * words, `"float"`, an array of them, `"float[4]"`, a struct, or a struct and its count.
 * @category Launching kernels
 */
export type StructFields = Readonly<
  Record<string, string | StructType | readonly [StructType, number]>
>;

/**
 * Structs by the names that signatures give them, or by their own.
 * @category Launching kernels
 */
export type StructTypes = readonly StructType[] | Readonly<Record<string, StructType>>;

/**
 * No structs: signatures name scalars and vectors only.
 *
 * @ignore
 */
export type NoStructs = readonly [];

/** The JavaScript value that a scalar takes. */
export type ScalarArgument<Type extends DType> = Type extends "int64" | "uint64" ? number | bigint
  : Type extends "bool" ? boolean
  : number;

type ScalarResult<Type extends DType> = Type extends "int64" | "uint64" ? bigint
  : Type extends "bool" ? boolean
  : number;

/** A tuple of this length. */
type Vector<Element, Length extends 1 | 2 | 3 | 4> = Length extends 1 ? readonly [Element]
  : Length extends 2 ? readonly [Element, Element]
  : Length extends 3 ? readonly [Element, Element, Element]
  : readonly [Element, Element, Element, Element];

/** The JavaScript value that a vector takes: a number for each element. */
export type VectorArgument<Spelling extends VectorSpelling> = Vector<
  ScalarArgument<VectorTable[Spelling][0]>,
  VectorTable[Spelling][1]
>;

/**
 * The value that encodes to a struct of these fields.
 *
 * @ignore
 */
export type StructArgument<Fields extends StructFields> = string extends keyof Fields ? object
  : { readonly [Field in keyof Fields]: FieldArgument<Fields[Field]> };

/**
 * The decoded value of a struct of these fields.
 *
 * @ignore
 */
export type StructResult<Fields extends StructFields> = string extends keyof Fields
  ? Readonly<Record<string, unknown>>
  : { readonly [Field in keyof Fields]: FieldResult<Fields[Field]> };

/** The value that encodes to a field: arrays may be typed arrays. */
type FieldArgument<Field> = Field extends StructType<string, infer Argument> ? Argument
  : Field extends readonly [StructType<string, infer Argument>, number] ? ArrayLike<Argument>
  : Field extends `${infer Element}[${infer Extents}`
    ? Extents extends `${string}][${infer Inner}` ? ArrayLike<FieldArgument<`${Element}[${Inner}`>>
    : ArrayLike<FieldArgument<Element>>
  : Field extends CTypeSpelling ? ScalarArgument<(typeof C_TYPES)[Field]>
  : Field extends VectorSpelling ? VectorArgument<Field>
  : never;

type FieldResult<Field> = Field extends StructType<string, object, infer Result> ? Result
  : Field extends readonly [StructType<string, object, infer Result>, number] ? readonly Result[]
  : Field extends `${infer Element}[${infer Extents}`
    ? Extents extends `${string}][${infer Inner}` ? readonly FieldResult<`${Element}[${Inner}`>[]
    : readonly FieldResult<Element>[]
  : Field extends CTypeSpelling ? ScalarResult<(typeof C_TYPES)[Field]>
  : Field extends VectorSpelling
    ? Vector<ScalarResult<VectorTable[Field][0]>, VectorTable[Field][1]>
  : never;

/**
 * Each field itself if it can be read, else the reason.
 *
 * @ignore
 */
export type ReadableFields<Fields> = {
  readonly [Field in keyof Fields]: ReadableField<Fields[Field]>;
};

type ReadableField<Field> = Field extends CTypeSpelling | VectorSpelling ? Field
  : Field extends `${infer Element}[${number}]${infer Inner}`
    ? Element extends CTypeSpelling | VectorSpelling
      ? Inner extends "" | `[${number}]${string}` ? Field : NoField<Field>
    : NoField<Field>
  : Field extends string ? NoField<Field>
  : Field;

type NoField<Field extends string> =
  `"${Field}" is no field: one reads "float", "float3" or "float[4]"`;

// ---- Layout --------------------------------------------------------------------------------------

/**
 * A field at its place in C++.
 * @category Launching kernels
 */
export interface FieldLayout {
  /** The field's name. */
  readonly name: string;
  /** Its type, or that of the elements of an array. */
  readonly element: DType | VectorType | StructType;
  /** The extents of an array, outermost first; empty for other fields. */
  readonly extents: readonly number[];
  /** Its offset in the struct, in bytes. */
  readonly offset: number;
  /** Its alignment, in bytes. */
  readonly alignment: number;
  /** Its size in bytes. */
  readonly bytes: number;
}

/** The maximum size of a struct in bytes: an extent beyond it is a mistake. */
const MAX_BYTES = 2 ** 24;

/** The maximum alignment: CUDA aligns allocations no further. */
const MAX_ALIGNMENT = 256;

const STRUCT_NAME = /^(?:::)?[A-Za-z_]\w*(?:::[A-Za-z_]\w*)*(?:<.*>)?$/s;
const ARRAY = /^([^[]*)((?:\[[0-9]+\])*)$/;

/** The next multiple of an alignment. */
function aligned(offset: number, alignment: number): number {
  return Math.ceil(offset / alignment) * alignment;
}

function readField(place: string, field: unknown): Pick<FieldLayout, "element" | "extents"> {
  if (field instanceof StructType) return { element: field, extents: [] };
  if (Array.isArray(field) && field.length === 2 && field[0] instanceof StructType) {
    return { element: field[0], extents: [field[1]] };
  }
  if (typeof field === "string") {
    const [, spelling = field, array = ""] = ARRAY.exec(field) ?? [];
    const element = scalarTypeOf(spelling) ?? vectorTypeOf(spelling);
    const extents = [...array.matchAll(/[0-9]+/g)].map(([digits]) => Number(digits));
    if (element !== undefined) return { element, extents };
    if (field.endsWith("*")) {
      throw new TypeError(
        `${place} must be no pointer, which is a parameter of its own: it is ` +
          describeValue(field),
      );
    }
  }
  throw new TypeError(
    `${place} must be a type such as "float", "float3" or "float[4]", a struct, or ` +
      `[struct, count]: it is ${describeValue(field)}`,
  );
}

/** Places each field at the next multiple of its alignment. */
function layOutFields(struct: string, fields: StructFields): readonly FieldLayout[] {
  let end = 0;
  return Object.entries(fields).map(([name, field]) => {
    const place = `Cannot define struct ${struct} as field ${name}`;
    // Objects give the key `__proto__` another meaning.
    if (!/^[A-Za-z_]\w*$/.test(name) || name === "__proto__") {
      throw new TypeError(`${place} must have a name that C++ allows`);
    }
    const { element, extents } = readField(place, field);
    for (const extent of extents) {
      if (Number.isInteger(extent) && extent >= 1) continue;
      throw new RangeError(
        `${place} must have at least one element: it is ${describeValue(extent)}`,
      );
    }
    const bytes = extents.reduce((product, extent) => product * extent, bytesOfElement(element));
    const alignment = typeof element === "string" ? bytesPerElement(element) : element.alignment;
    const offset = aligned(end, alignment);
    end = offset + bytes;
    if (end > MAX_BYTES) {
      throw new RangeError(`${place} must end within ${MAX_BYTES} bytes: it ends at ${end}`);
    }
    return { name, element, extents, offset, alignment, bytes };
  });
}

/**
 * A struct as C++ lays it out. Made by {@linkcode defineStruct}.
 *
 * @typeParam Name The struct's name in C++.
 * @typeParam Argument The values that it encodes.
 * @typeParam Result The values that it decodes to.
 * @category Launching kernels
 */
export class StructType<
  Name extends string = string,
  Argument extends object = object,
  Result extends object = object,
> {
  /** The struct's name in C++, as signatures name it. */
  readonly name: Name;
  /** The fields at their places in C++. */
  readonly fields: readonly FieldLayout[];
  /** The alignment of its address, in bytes. */
  readonly alignment: number;
  /** Its size in bytes: a multiple of its alignment, and 1 without fields. */
  readonly bytes: number;
  #encoder: Encoder | undefined;

  /**
   * Lays a struct out; {@linkcode defineStruct} has the compiler check the types of fields too.
   *
   * @throws {TypeError} If the name or a field is invalid.
   * @throws {RangeError} If an array is empty, or the alignment is no power of two up to 256.
   */
  constructor(name: Name, fields: StructFields, options: { readonly alignment?: number } = {}) {
    if (typeof name !== "string" || !STRUCT_NAME.test(name)) {
      throw new TypeError(
        'Cannot define a struct as its name must be one of C++, such as "Particle": it is ' +
          describeValue(name),
      );
    }
    requireOptions(options, ["alignment"], `define struct ${name}`);
    const { alignment = 1 } = options;
    if (typeof fields !== "object" || fields === null || Array.isArray(fields)) {
      throw new TypeError(
        `Cannot define struct ${name} as its fields must be an object: they are ` +
          describeValue(fields),
      );
    }
    const isPower = typeof alignment === "number" && Number.isInteger(Math.log2(alignment));
    if (!isPower || alignment < 1 || alignment > MAX_ALIGNMENT) {
      throw new RangeError(
        `Cannot define struct ${name} as its alignment must be a power of two up to ` +
          `${MAX_ALIGNMENT}: it is ${describeValue(alignment)}`,
      );
    }
    this.name = name;
    this.fields = layOutFields(name, fields);
    this.alignment = Math.max(alignment, ...this.fields.map((field) => field.alignment));
    const last = this.fields.at(-1);
    this.bytes = aligned(last === undefined ? 1 : last.offset + last.bytes, this.alignment);
  }

  /**
   * Writes a value as the bytes that a kernel sees. Padding becomes zero.
   *
   * @param target Receives `bytes` bytes from `offset` on.
   * @throws {TypeError} If a field is missing, unknown or of another kind.
   * @throws {RangeError} If a number does not fit its field, an array has another length, or there
   * is no room.
   */
  encode(value: Argument, target: Uint8Array, offset = 0): void {
    const view = this.#viewOf("encode", target, offset);
    this.#encoder ??= encoderOf(this);
    const problem = this.#encoder(value, view, 0);
    if (problem !== undefined) throw this.#encodingError(problem);
  }

  #encodingError(problem: EncodingProblem): Error {
    const subject = problem.path === "" ? "it" : "its ";
    const path = problem.path.replace(/^\./, "");
    return encodingError(`Cannot encode a ${this.name} as ${subject}`, { ...problem, path });
  }

  /**
   * Reads a value: 64-bit integers as `bigint`, arrays and vectors as arrays.
   *
   * @param source Holds `bytes` bytes from `offset` on.
   * @throws {RangeError} If there are fewer bytes.
   */
  decode(source: Uint8Array, offset = 0): Result {
    return decode(this, this.#viewOf("decode", source, offset), 0) as Result;
  }

  #viewOf(action: string, memory: Uint8Array, offset: number): DataView {
    if (!(memory instanceof Uint8Array)) {
      throw new TypeError(
        `Cannot ${action} a ${this.name} as its bytes must be a Uint8Array: they are ${
          describeValue(memory)
        }`,
      );
    }
    if (Number.isInteger(offset) && offset >= 0 && offset + this.bytes <= memory.length) {
      return new DataView(memory.buffer, memory.byteOffset + offset, this.bytes);
    }
    throw new RangeError(
      `Cannot ${action} a ${this.name} as its ${this.bytes} bytes must lie in the ` +
        `${memory.length} bytes there are: they begin at ${describeValue(offset)}`,
    );
  }
}

/**
 * Describes a struct: signatures can then name it, its values are typed, and their bytes are those of
 * C++.
 *
 * @param name The struct's name in C++, as signatures name it: `Particle`, `physics::Particle`,
 * `Pair<float, 2>`.
 * @param fields Its fields in the order of their declaration, each a type in C's words, an array of
 * one, another struct, or a struct and its count.
 * @param options.alignment The minimum alignment of its address in bytes, as in `__align__(16)`: a
 * power of two up to 256.
 * @throws {TypeError} If the name or a field is invalid.
 * @throws {RangeError} If an array is empty, or the alignment is no power of two up to 256.
 *
 * @example
 * ```ts
 * import { defineStruct } from "@gridstride/cuda";
 *
 * // struct Particle { float3 position; float mass; double energy; int tags[3]; };
 * const Particle = defineStruct("Particle", {
 *   position: "float3",
 *   mass: "float",
 *   energy: "double",
 *   tags: "int[3]",
 * });
 * console.log(Particle.bytes, Particle.alignment); // 40 8
 *
 * const bytes = new Uint8Array(Particle.bytes);
 * Particle.encode({ position: [1, 2, 3], mass: 4, energy: 5, tags: [6, 7, 8] }, bytes);
 * console.log(Particle.decode(bytes).position); // [ 1, 2, 3 ]
 * ```
 * @category Launching kernels
 */
export function defineStruct<
  const Name extends string,
  const Fields extends StructFields = Readonly<Record<never, never>>,
>(
  name: Name,
  // TypeScript infers from the branches of a conditional type that are the parameter itself, and
  // reports the one that is not.
  fields: string extends keyof Fields ? Fields
    : Fields extends ReadableFields<Fields> ? Fields
    : ReadableFields<NoInfer<Fields>>,
  options?: { readonly alignment?: number },
): StructType<Name, StructArgument<Fields>, StructResult<Fields>> {
  return new StructType(name, fields, options);
}
