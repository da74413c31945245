/**
 * One parameter of a kernel's C signature, read by TypeScript.
 *
 * @module
 */

import type { DType } from "../../memory/dtype.ts";
import type {
  C_TYPES,
  CTypeSpelling,
  CTypeWord,
  ElaboratedWord,
  IgnoredQualifier,
  PointeeDType,
  RestrictQualifier,
  VectorSpelling,
  VectorTable,
} from "./c_types.ts";
import type { DeviceMemory, ReadonlyDeviceMemory } from "./device_memory.ts";
import type {
  EmptyGroups,
  Group,
  IsBlank,
  IsWhole,
  TrimEnd,
  TrimStart,
  TypeKey,
} from "./signature_type_text.ts";
import type { ScalarArgument, StructType, VectorArgument } from "./struct_type.ts";

/** Structs by the names of {@linkcode TypeKey}. */
export type NamedStructs = Readonly<Record<string, StructType>>;

/**
 * What stands where a signature cannot be read: no value is assignable to it, and the compiler's
 * complaint shows the message.
 */
export interface SignatureError<Message extends string> {
  /** What is wrong with the signature. */
  readonly cannotReadSignature: Message;
}

/**
 * The device memory that a pointer parameter takes. It also takes `null`, the null pointer: that is
 * added where this is used, as editors would show the name of a union and not what it takes.
 */
export type PointerArgument<D extends DType, IsConst extends boolean> = IsConst extends true
  ? ReadonlyDeviceMemory<D>
  : DeviceMemory<D>;

/** The error of a parameter. */
type ParameterError<Position extends number, Problem extends string> = SignatureError<
  `Parameter ${Position}: ${Problem}`
>;

// ---- Declarators -------------------------------------------------------------------------------

/** The argument that a parameter takes, from its text. */
export type ReadParameter<
  Text extends string,
  Position extends number,
  Structs extends NamedStructs,
> = Text extends `${string}${"=" | "(" | "<"}${string}`
  ? WithoutValue<Text> extends infer Declared extends string
    ? HasDeclaratorInParentheses<Declared> extends true
      ? ParameterError<Position, "a pointer to a function or an array cannot be passed">
    : ReadTemplate<Declared, Position, Structs>
  : ParameterError<Position, "its brackets do not match">
  : ReadDeclarator<Text, Position, Structs, "">;

/** The parameter without its default value; `undefined` where the brackets do not match. */
type WithoutValue<Text extends string, Done extends string = ""> = Text extends
  `${infer Before}=${infer Value}`
  ? IsWhole<`${Done}${Before}`> extends true
    ? IsWhole<Value> extends true ? `${Done}${Before}` : undefined
  : WithoutValue<Value, `${Done}${Before}=`>
  : IsWhole<`${Done}${Text}`> extends true ? `${Done}${Text}`
  : undefined;

type HasDeclaratorInParentheses<Text extends string> = Text extends `${infer Before}(${string}`
  ? IsWhole<Before>
  : false;

/** Takes template arguments out of the way, in which there may be stars and commas. */
type ReadTemplate<
  Text extends string,
  Position extends number,
  Structs extends NamedStructs,
> = Text extends `${infer Before}<${infer After}`
  ? Before extends `${string}[${string}` ? ReadDeclarator<Text, Position, Structs, "">
  : Group<After, "<", ">"> extends
    readonly [infer Arguments extends string, infer Rest extends string] ? ReadDeclarator<
      `${TrimEnd<Before>}<>${Rest extends `::${string}` ? Rest : ` ${Rest}`}`,
      Position,
      Structs,
      Arguments
    >
  : ParameterError<Position, "its brackets do not match">
  : ReadDeclarator<Text, Position, Structs, "">;

/** Reads an array, a pointer or a value. `Arguments` are those of a template in it. */
type ReadDeclarator<
  Text extends string,
  Position extends number,
  Structs extends NamedStructs,
  Arguments extends string,
> = Text extends `${infer Element}[${infer Extents}`
  ? Element extends `${string}*${string}`
    ? ParameterError<Position, "an array of pointers has no device memory that fits">
  : ExtentsProblem<EmptyGroups<Extents>> extends infer Problem extends string
    ? ParameterError<Position, Problem>
  : Pointer<ReadWords<`${Element} `>, Position, Structs, Arguments, string>
  : Text extends `${infer Pointee}*${infer Declarator}`
    ? DeclaratorProblem<`${Declarator} `> extends infer Problem extends string
      ? ParameterError<Position, Problem>
    : Pointer<ReadWords<`${Pointee} `>, Position, Structs, Arguments, "">
  : Value<ReadWords<`${Text} `>, Position, Structs, Arguments>;

/** What is wrong with the text after an array's `[`; `undefined` if nothing is. */
type ExtentsProblem<Text extends string | undefined> = Text extends string
  ? Group<Text, "[", "]"> extends readonly [string, infer Rest extends string]
    ? TrimStart<Rest> extends `[${infer Next}` ? ExtentsProblem<Next>
    : IsBlank<Rest> extends true ? undefined
    : `"${TrimStart<Rest>}" follows the array`
  : "an array has no end"
  : "an array has no end";

/** What is wrong with the text after a pointer's `*`; `undefined` if nothing is. */
type DeclaratorProblem<Text extends string, Name extends string = ""> = Text extends
  `${string}*${string}` ? "a pointer to a pointer has no device memory that fits"
  : Text extends `${infer Word} ${infer Rest}` ? Word extends "" ? DeclaratorProblem<Rest, Name>
    : Word extends `${string}&${string}` ? Reference
    : Name extends ""
      ? Word extends "const" | IgnoredQualifier | RestrictQualifier ? DeclaratorProblem<Rest>
      : Word extends CTypeWord ? `"${Word}" cannot follow the "*" of a pointer`
      : DeclaratorProblem<Rest, Word>
    : `it has two names, "${Name}" and "${Word}"`
  : undefined;

type Reference = "a reference cannot be passed: a kernel takes a value or a pointer";

// ---- Words -------------------------------------------------------------------------------------

/** What a text of type words, qualifiers and at most one name says. */
export interface Words<Spelling extends string, IsConst extends boolean, Name extends string> {
  /** The words of the type. */
  readonly spelling: Spelling;
  /** Whether `const` is among them. */
  readonly isConst: IsConst;
  /** The name; empty where there is none. */
  readonly name: Name;
}

/** Reads words that each end with a space into {@linkcode Words}, or a problem as text. */
export type ReadWords<
  Text extends string,
  Spelling extends string = "",
  IsConst extends boolean = false,
  Name extends string = "",
> = Text extends `${infer Word} ${infer Rest}`
  ? Word extends "" ? ReadWords<Rest, Spelling, IsConst, Name>
  : Word extends `${string}&${string}` ? Reference
  : Name extends "" ? Word extends "const" ? ReadWords<Rest, Spelling, true>
    : Word extends `const::${infer Global}` ? ReadWords<`::${Global} ${Rest}`, Spelling, true>
    : Word extends IgnoredQualifier ? ReadWords<Rest, Spelling, IsConst>
    : Word extends RestrictQualifier ? `"${Word}" stands only behind the "*" of a pointer`
    : Spelling extends "" ? ReadWords<Rest, Word extends ElaboratedWord ? "" : Word, IsConst>
    : Word extends CTypeWord ? ReadWords<Rest, `${Spelling} ${Word}`, IsConst>
    : ReadWords<Rest, Spelling, IsConst, Word>
  : `it has two names, "${Name}" and "${Word}"`
  : Words<Spelling, IsConst, Name>;

// ---- Types -------------------------------------------------------------------------------------

/** A spelling with the template arguments that were taken out of it, as structs are found by. */
type StructKey<Spelling extends string, Arguments extends string> = TypeKey<
  Spelling extends `${infer Name}<>${infer Rest}` ? `${Name}<${Arguments}>${Rest}` : Spelling
>;

type PlainSpelling<Spelling extends string> = Spelling extends `::${infer Plain}` ? Plain
  : Spelling;

/** The argument of a value; its pointee's element type, of a pointer. */
type Value<
  Read,
  Position extends number,
  Structs extends NamedStructs,
  Arguments extends string,
> = Read extends Words<infer Spelling, boolean, string>
  ? PlainSpelling<Spelling> extends infer Type extends string
    ? Type extends CTypeSpelling ? ScalarArgument<(typeof C_TYPES)[Type]>
    : Type extends VectorSpelling ? VectorArgument<Type>
    : StructKey<Type, Arguments> extends infer Key extends keyof Structs ? StructValue<Structs[Key]>
    : ParameterError<Position, SpellingProblem<Spelling>>
  : never
  : ParameterError<Position, Read & string>;

/** What a struct parameter takes. */
type StructValue<Struct> = Struct extends StructType<string, infer Argument> ? Argument : never;

/** A pointer to what the words say, which may be followed by a name of type `Name`. */
type Pointer<
  Read,
  Position extends number,
  Structs extends NamedStructs,
  Arguments extends string,
  Name extends string,
> = Read extends Words<infer Spelling, infer IsConst, infer Given>
  ? Given extends Name
    ? PlainSpelling<Spelling> extends infer Type extends string
      ? Type extends "void" ? PointerArgument<DType, IsConst> | null
      : Type extends CTypeSpelling
        ? PointerArgument<PointeeDType<(typeof C_TYPES)[Type]>, IsConst> | null
      : Type extends VectorSpelling
        ? PointerArgument<PointeeDType<VectorTable[Type][0]>, IsConst> | null
      : StructKey<Type, Arguments> extends keyof Structs ? PointerArgument<"uint8", IsConst> | null
      : ParameterError<Position, SpellingProblem<Spelling>>
    : never
  : ParameterError<Position, SpellingProblem<`${Spelling} ${Given}`>>
  : ParameterError<Position, Read & string>;

type SpellingProblem<Spelling extends string> = Spelling extends "" ? "it is missing"
  : Spelling extends "void" ? '"void" is no parameter by itself'
  : Spelling extends `${CTypeWord} ${string}` | CTypeWord ? NoType<Spelling>
  : `${NoType<Spelling>}: a struct must be described`;

type NoType<Spelling extends string> = `"${Spelling}" is not a type a kernel can take`;
