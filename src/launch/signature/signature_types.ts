/**
 * Reads a kernel's C signature in TypeScript's type system: turns
 * `"saxpy(float a, const float* x, float* y, int n)"` into the arguments of a launch.
 *
 * `signature_reader.ts` reads the same language at run time, and more strictly: it also rejects
 * characters that no name can have.
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
  RestrictQualifier,
  VectorSpelling,
  VectorTable,
} from "./c_types.ts";
import type { DeviceMemory, ReadonlyDeviceMemory } from "./device_memory.ts";
import type {
  DeclaredIn,
  Divide,
  EmptyGroups,
  Group,
  HeadProblem,
  IsBlank,
  IsOpen,
  IsWhole,
  IsWordOf,
  KernelNames,
  NameIn,
  Prepared,
  SignatureIn,
  TrimEnd,
  TrimStart,
  TypeKey,
  WithoutTemplateArguments,
} from "./signature_type_text.ts";
import type {
  NoStructs,
  ScalarArgument,
  StructType,
  StructTypes,
  VectorArgument,
} from "./struct_type.ts";

export type { SignatureIn } from "./signature_type_text.ts";

/**
 * Any value that can be passed to some kernel: numbers, device memory or `null` for pointers, arrays
 * of numbers for vectors, objects for structs.
 * @category Launching kernels
 */
export type KernelArgument = number | bigint | boolean | ReadonlyDeviceMemory | object | null;

/**
 * The type of an unreadable signature: no value is assignable to it, and the compiler's error shows
 * the message.
 *
 * @ignore
 */
export interface SignatureError<Message extends string> {
  /** The problem. */
  readonly cannotReadSignature: Message;
}

/**
 * The arguments that a kernel of this C signature takes, as a tuple.
 *
 * - Scalars take a `number`; 64-bit integers also a `bigint`; `bool` a `boolean`.
 * - Vectors such as `float4` take an array of as many numbers as they have elements.
 * - Structs take an object with the fields of their description.
 * - Pointers take `null` or {@linkcode DeviceMemory} of their element type, that of vectors' elements,
 *   or `uint8` for structs; pointers to `const` also {@linkcode ReadonlyDeviceMemory}; `void*` any
 *   element type.
 * - A signature that is no literal takes any arguments: the launch checks them.
 * - An unreadable signature takes no arguments; the compiler's error shows the reason.
 *
 * @typeParam Signature The signature's text: parameter names, line breaks, comments,
 * `__restrict__` and a leading `__global__ void` are optional.
 * @typeParam Structs The structs that it names, by the names it gives them or by their own.
 *
 * @example
 * ```ts
 * import type { KernelArguments } from "@gridstride/cuda";
 *
 * const scalars: KernelArguments<"wait(unsigned long long nanoseconds, bool spin)"> = [10n, true];
 * const vector: KernelArguments<"shade<3>(float4 colour)"> = [[1, 0.5, 0, 1]];
 * console.log(scalars, vector);
 * ```
 * @category Launching kernels
 */
export type KernelArguments<
  Signature extends string,
  Structs extends StructTypes = NoStructs,
> = string extends Signature ? readonly KernelArgument[]
  : Signature extends string ? ReadDeclaration<Prepared<Signature>, StructsByName<Structs>>
  : never;

/**
 * The signature itself if it can be read, else the reason: as the type of a parameter it makes the
 * compiler report a misspelt signature at its place.
 *
 * @example
 * ```ts
 * import type { ReadableSignature } from "@gridstride/cuda";
 *
 * function name<const S extends string>(signature: ReadableSignature<S>): string {
 *   return signature.slice(0, signature.indexOf("("));
 * }
 * name("axpy(float a, const float* x, float* y)");
 * ```
 * @category Launching kernels
 */
export type ReadableSignature<
  Signature extends string,
  Structs extends StructTypes = NoStructs,
> = [ProblemOf<Signature, Structs>] extends [never] ? Signature : ProblemOf<Signature, Structs>;

/**
 * A kernel's signature or name if it can be read and agrees with the source. Else the reason: the
 * kernels of the source, or its declaration of this one.
 *
 * @ignore
 */
export type ReadableKernel<
  Source extends string,
  Text extends string,
  Structs extends StructTypes = NoStructs,
> = [ProblemOf<SignatureIn<Source, Text>, Structs>] extends [never]
  ? InSource<Source, Text, StructsByName<Structs> & Exact>
  : ProblemOf<SignatureIn<Source, Text>, Structs>;

/** The text if nothing in a literal source contradicts it. */
type InSource<Source extends string, Text extends string, Structs extends NamedStructs> =
  IsOpen<Source> extends true ? Text
    // The names complete the argument in editors.
    : IsOpen<Text> extends true ? KernelNames<Source> | (Text & NonNullable<unknown>)
    : Text extends `${string}(${string}`
      ? Unless<Contradicted<DeclaredIn<Source, NameIn<Text>>, Prepared<Text>, Structs>, Text>
    : Text extends `${string}<${string}` ? Text
    : Unless<UnknownName<Source, Text>, Text>;

type Unless<Problem, Text> = [Problem] extends [never] ? Text : Problem;

/** The kernels of a source, if a name is not one of them, nor a template or of a macro. */
type UnknownName<Source extends string, Name extends string> = IsWordOf<Source, Name> extends true
  ? never
  : Unless<KernelNames<Source>, `The source has no kernel "${Name}"`>;

/** The declarations of a source that a signature contradicts, unless one agrees or is unreadable. */
type Contradicted<Declared extends string, Text extends string, Structs extends NamedStructs> =
  true extends Agrees<Declared, ReadDeclaration<Text, Structs>, Structs> ? never : Declared;

type Agrees<Declared extends string, Written, Structs extends NamedStructs> = Declared extends
  string
  ? ReadDeclaration<Prepared<Declared>, Structs> extends infer Read extends readonly unknown[]
    ? [Extract<Read[number], SignatureError<string>>] extends [never]
      ? [Read, Written] extends [Written, Read] ? true : false
    : true
  : true
  : never;

/** Beside structs, makes readers give the C types of scalars and vectors, not their values. */
interface Exact {
  /** No type has this name. */
  readonly "": never;
}

/**
 * The problems of a signature; `never` without any.
 *
 * @ignore
 */
type ProblemOf<Signature extends string, Structs extends StructTypes> = Extract<
  KernelArguments<Signature, Structs>[number],
  SignatureError<string>
>["cannotReadSignature"];

type NamedStructs = Readonly<Record<string, StructType>>;

/** @ignore */
type StructsByName<Structs extends StructTypes> = Structs extends readonly StructType[]
  ? { readonly [Struct in Structs[number] as TypeKey<Struct["name"]>]: Struct }
  : { readonly [Name in keyof Structs as TypeKey<Name & string>]: Structs[Name] & StructType };

// ---- Declaration ---------------------------------------------------------------------------------

/**
 * Reads the parameters if the text around their parentheses is right.
 *
 * @ignore
 */
type ReadDeclaration<Text extends string, Structs extends NamedStructs> = Divide<Text> extends
  readonly [infer Head extends string, infer Parameters extends string, infer Tail extends string]
  ? HeadProblem<`${WithoutTemplateArguments<WithoutLinkage<Head>>} `> extends
    infer Problem extends string ? [SignatureError<Problem>]
  : TailProblem<Tail> extends infer Problem extends string ? [SignatureError<Problem>]
  : ReadParameters<Parameters, Structs>
  : [SignatureError<`A signature reads "name(parameters)": "${Text}" has no such parentheses`>];

/** The text without `"C"`, which may stand between words without white space. */
type WithoutLinkage<Text extends string> = Text extends `${infer Before}"C"${infer After}`
  ? `${Before} ${After}`
  : Text;

type TailProblem<Text extends string> = Text extends "" | " " | ";" ? undefined
  : Text extends ` ${infer Rest}` ? TailProblem<Rest>
  : Text extends `;${infer Rest}` ? TailProblem<Rest>
  : `Nothing but ";" can follow the parameters: it is "${Text}"`;

type ReadParameters<Text extends string, Structs extends NamedStructs> = IsBlank<Text> extends true
  ? []
  : TrimStart<Text> extends `void${infer Rest}`
    ? IsBlank<Rest> extends true ? [] : ReadEach<Text, Structs>
  : ReadEach<Text, Structs>;

/** Reads the parameters between the commas outside of brackets. */
type ReadEach<
  Text extends string,
  Structs extends NamedStructs,
  Read extends readonly unknown[] = [],
  Begun extends string = "",
> = Text extends `${infer First},${infer Rest}`
  ? IsWhole<`${Begun}${First}`> extends true ? ReadEach<
      Rest,
      Structs,
      [...Read, ReadParameter<`${Begun}${First}`, Next<Read>, Structs>]
    >
  : ReadEach<Rest, Structs, Read, `${Begun}${First},`>
  : [...Read, ReadParameter<`${Begun}${Text}`, Next<Read>, Structs>];

type Next<Read extends readonly unknown[]> = [...Read, unknown]["length"] & number;

// ---- Declarators ---------------------------------------------------------------------------------

/** The argument that a parameter takes, from its text; the types below give a problem as text. */
type ReadParameter<Text extends string, Position extends number, Structs extends NamedStructs> =
  Passed<Text, Structs> extends infer Result
    ? [Result] extends [string] ? SignatureError<`Parameter ${Position}: ${Result}`> : Result
    : never;

type Passed<Text extends string, Structs extends NamedStructs> = Text extends
  `${string}${"=" | "(" | "<"}${string}`
  ? WithoutDefault<Text> extends infer Declared extends string
    ? HasDeclaratorInParentheses<Declared> extends true
      ? "a pointer to a function or an array cannot be passed"
    : ReadTemplate<Declared, Structs>
  : "its brackets do not match"
  : ReadDeclarator<Text, Structs, "">;

/** The parameter without its default value; `undefined` if the brackets do not match. */
type WithoutDefault<Text extends string, Done extends string = ""> = Text extends
  `${infer Before}=${infer Value}`
  ? IsWhole<`${Done}${Before}`> extends true
    ? IsWhole<Value> extends true ? `${Done}${Before}` : undefined
  : WithoutDefault<Value, `${Done}${Before}=`>
  : IsWhole<`${Done}${Text}`> extends true ? `${Done}${Text}`
  : undefined;

type HasDeclaratorInParentheses<Text extends string> = Text extends `${infer Before}(${string}`
  ? IsWhole<Before>
  : false;

/** Takes out template arguments, which may contain stars and commas. */
type ReadTemplate<Text extends string, Structs extends NamedStructs> = Text extends
  `${infer Before}<${infer After}`
  ? Before extends `${string}[${string}` ? ReadDeclarator<Text, Structs, "">
  : Group<After, "<", ">"> extends
    readonly [infer Arguments extends string, infer Rest extends string] ? ReadDeclarator<
      `${TrimEnd<Before>}<>${Rest extends `::${string}` ? Rest : ` ${Rest}`}`,
      Structs,
      Arguments
    >
  : "its brackets do not match"
  : ReadDeclarator<Text, Structs, "">;

/** Reads an array, a pointer or a value. `Arguments` are those of a template in it. */
type ReadDeclarator<
  Text extends string,
  Structs extends NamedStructs,
  Arguments extends string,
> = Text extends `${infer Element}[${infer Extents}`
  ? Element extends `${string}*${string}` ? "an array of pointers has no device memory that fits"
  : ExtentsProblem<EmptyGroups<Extents>> extends infer Problem extends string ? Problem
  : Pointer<ReadWords<`${Element} `>, Structs, Arguments, string>
  : Text extends `${infer Pointee}*${infer Declarator}`
    ? DeclaratorProblem<`${Declarator} `> extends infer Problem extends string ? Problem
    : Pointer<ReadWords<`${Pointee} `>, Structs, Arguments, "">
  : Value<ReadWords<`${Text} `>, Structs, Arguments>;

/** The problem with the text after an array's `[`, if any. */
type ExtentsProblem<Text extends string | undefined> = Text extends string
  ? Group<Text, "[", "]"> extends readonly [string, infer Rest extends string]
    ? TrimStart<Rest> extends `[${infer Next}` ? ExtentsProblem<Next>
    : IsBlank<Rest> extends true ? undefined
    : `"${TrimStart<Rest>}" follows the array`
  : "an array has no end"
  : "an array has no end";

/** The problem with the text after a pointer's `*`, if any. */
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

// ---- Words ---------------------------------------------------------------------------------------

/** A text of type words, qualifiers and at most one name. */
interface Words<Spelling extends string, IsConst extends boolean, Name extends string> {
  readonly spelling: Spelling;
  readonly isConst: IsConst;
  /** Empty without a name. */
  readonly name: Name;
}

/** Reads words that each end with a space into {@linkcode Words}, or a problem as text. */
type ReadWords<
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

// ---- Types ---------------------------------------------------------------------------------------

/** The argument of a type by value, and the element type of a pointer to it. */
interface Passing<Argument, Pointee extends DType> {
  readonly argument: Argument;
  readonly pointee: Pointee;
}

/** How values of a spelling are passed; `undefined` for an unknown one. */
type PassingOf<Spelling extends string, Structs extends NamedStructs, Arguments extends string> =
  Spelling extends `::${infer Plain}` ? PassingOf<Plain, Structs, Arguments>
    : Spelling extends CTypeSpelling ? Passing<
        Structs extends Exact ? readonly [(typeof C_TYPES)[Spelling]]
          : ScalarArgument<(typeof C_TYPES)[Spelling]>,
        (typeof C_TYPES)[Spelling]
      >
    : Spelling extends VectorSpelling ? Passing<
        Structs extends Exact ? VectorTable[Spelling] : VectorArgument<Spelling>,
        VectorTable[Spelling][0]
      >
    : StructKey<Spelling, Arguments> extends infer Key extends keyof Structs
      ? Structs[Key] extends StructType<string, infer Argument> ? Passing<Argument, "uint8"> : never
    : undefined;

type StructKey<Spelling extends string, Arguments extends string> = TypeKey<
  Spelling extends `${infer Name}<>${infer Rest}` ? `${Name}<${Arguments}>${Rest}` : Spelling
>;

type Value<Read, Structs extends NamedStructs, Arguments extends string> = Read extends
  Words<infer Spelling, boolean, string>
  ? PassingOf<Spelling, Structs, Arguments> extends Passing<infer Argument, DType> ? Argument
  : SpellingProblem<Spelling>
  : Read;

/** A pointer to the type of these words, which may end with a name of type `Name`. */
type Pointer<
  Read,
  Structs extends NamedStructs,
  Arguments extends string,
  Name extends string,
> = Read extends Words<infer Spelling, infer IsConst, infer Given>
  ? Given extends Name ? Spelling extends "void" | "::void" ? PointerArgument<DType, IsConst> | null
    : PassingOf<Spelling, Structs, Arguments> extends Passing<unknown, infer Pointee>
      ? PointerArgument<Pointee, IsConst> | null
    : SpellingProblem<Spelling>
  : SpellingProblem<`${Spelling} ${Given}`>
  : Read;

/** The memory of a pointer, without `null`: editors would show the name of a union, not its types. */
type PointerArgument<D extends DType, IsConst extends boolean> = IsConst extends true
  ? ReadonlyDeviceMemory<D>
  : DeviceMemory<D>;

type SpellingProblem<Spelling extends string> = Spelling extends "" ? "it is missing"
  : Spelling extends "void" ? '"void" is no parameter by itself'
  : Spelling extends `${CTypeWord} ${string}` | CTypeWord ? NoType<Spelling>
  : `${NoType<Spelling>}: a struct must be described`;

type NoType<Spelling extends string> = `"${Spelling}" is not a type a kernel can take`;
