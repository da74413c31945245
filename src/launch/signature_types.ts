/**
 * TypeScript reads a kernel's C signature: types that turn
 * `"saxpy(float a, const float* x, float* y, int n)"` into the arguments a launch takes.
 *
 * They cut the text at its delimiters, never character by character, and by tail recursion only,
 * so the limits of the compiler (1000 steps) are those of delimiters in a row, not of length.
 * `signature.ts` reads the same language at run time, and more strictly: characters that no name
 * can have are found there.
 *
 * @module
 */

import type { DType } from "../memory/dtype.ts";
import type {
  C_TYPES,
  CTypeSpelling,
  CTypeWord,
  IgnoredQualifier,
  PointeeDType,
  RestrictQualifier,
  ScalarType,
} from "./c_types.ts";
import type { DeviceMemory, ReadonlyDeviceMemory } from "./device_memory.ts";

/** Any value that can be passed to some kernel. */
export type KernelArgument = number | bigint | boolean | ReadonlyDeviceMemory;

/**
 * What stands where a signature cannot be read: no value is assignable to it, and the compiler's
 * complaint shows the message.
 */
export interface SignatureError<Message extends string> {
  /** What is wrong with the signature. */
  readonly cannotReadSignature: Message;
}

/** The JavaScript value that a scalar parameter takes. */
export type ScalarArgument<Type extends ScalarType> = Type extends "int64" | "uint64"
  ? number | bigint
  : Type extends "bool" ? boolean
  : number;

/** The device memory that a pointer parameter takes. */
export type PointerArgument<D extends DType, IsConst extends boolean> = IsConst extends true
  ? ReadonlyDeviceMemory<D>
  : DeviceMemory<D>;

/**
 * The arguments that a kernel of this C signature takes, as a tuple.
 *
 * - Scalars take a `number`; 64-bit integers also a `bigint`; `bool` a `boolean`.
 * - Pointers take {@linkcode DeviceMemory} of their element type; pointers to `const` also
 *   {@linkcode ReadonlyDeviceMemory}; `void*` any element type.
 * - A signature that is no literal takes any arguments: they are checked when it is launched.
 * - A signature that cannot be read takes a {@linkcode SignatureError}, which says why.
 *
 * @typeParam Signature The signature's text: parameter names, line breaks, `__restrict__` and a
 * leading `__global__ void` are optional.
 *
 * @example
 * ```ts
 * import type { KernelArguments } from "./signature_types.ts";
 *
 * const scalars: KernelArguments<"wait(unsigned long long nanoseconds, bool spin)"> = [10n, true];
 * console.log(scalars);
 * ```
 */
export type KernelArguments<Signature extends string> = string extends Signature
  ? readonly KernelArgument[]
  : Signature extends `${infer Before}__launch_bounds__(${string})${infer After}`
    ? ReadDeclaration<`${Before} ${After}`>
  : ReadDeclaration<Signature>;

/**
 * The signature itself where it can be read, else the reason why not: as the type of a parameter
 * it makes the compiler report a misspelt signature where it is written.
 *
 * @example
 * ```ts
 * import type { ReadableSignature } from "./signature_types.ts";
 *
 * function name<const S extends string>(signature: ReadableSignature<S>): string {
 *   return signature.slice(0, signature.indexOf("("));
 * }
 * name("axpy(float a, const float* x, float* y)");
 * ```
 */
export type ReadableSignature<Signature extends string> = [ProblemOf<Signature>] extends [never]
  ? Signature
  : ProblemOf<Signature>;

/**
 * The reasons why a signature cannot be read; `never` if it can.
 *
 * @internal
 */
type ProblemOf<Signature extends string> = Extract<
  KernelArguments<Signature>[number],
  SignatureError<string>
>["cannotReadSignature"];

// ---- Declaration -------------------------------------------------------------------------------

/**
 * Cuts the text at the parentheses; the parameters are read only if what surrounds them is right.
 *
 * @internal
 */
type ReadDeclaration<Text extends string> = Text extends
  `${infer Head}(${infer Parameters})${infer Tail}`
  ? HeadProblem<`${Spaced<Head>} `> extends infer Problem extends string ? [SignatureError<Problem>]
  : TailProblem<Spaced<Tail>> extends infer Problem extends string ? [SignatureError<Problem>]
  : ReadParameters<Spaced<Parameters>>
  : [SignatureError<`A signature reads "name(parameters)": "${Text}" has no such parentheses`>];

/** Words that may stand before a kernel's name. */
type HeadWord = "extern" | '"C"' | "static" | "__global__" | "void";

/** What is wrong with the text before the parentheses; `undefined` if nothing is. */
type HeadProblem<Text extends string, Name extends string = ""> = Text extends
  `${infer Word} ${infer Rest}` ? Word extends "" ? HeadProblem<Rest, Name>
  : Name extends "" ? Word extends HeadWord ? HeadProblem<Rest> : HeadProblem<Rest, Word>
  : `A kernel has one name, and returns void: "${Name} ${Word}" stands before the parameters`
  : Name extends "" ? "A kernel's name stands before its parameters: it is missing"
  : Name extends CTypeWord | "const" ? `"${Name}" cannot be the name of a kernel`
  : undefined;

/** What is wrong with the text after the parentheses; `undefined` if nothing is. */
type TailProblem<Text extends string> = Text extends "" | " " | ";" ? undefined
  : Text extends ` ${infer Rest}` ? TailProblem<Rest>
  : Text extends `;${infer Rest}` ? TailProblem<Rest>
  : `Nothing but ";" can follow the parameters: it is "${Text}"`;

type ReadParameters<Text extends string> = IsBlank<Text> extends true ? []
  : ReadWords<`${Text} `> extends Words<"void", boolean, ""> ? []
  : ReadEach<Text>;

type ReadEach<Text extends string, Read extends readonly unknown[] = []> = Text extends
  `${infer First},${infer Rest}` ? ReadEach<Rest, [...Read, ReadParameter<First, Next<Read>>]>
  : [...Read, ReadParameter<Text, Next<Read>>];

/** The number, from 1, of the parameter that follows those already read. */
type Next<Read extends readonly unknown[]> = [...Read, unknown]["length"] & number;

// ---- Parameter ---------------------------------------------------------------------------------

type ReadParameter<Text extends string, Position extends number> = Text extends
  `${infer Pointee}*${infer Declarator}`
  ? DeclaratorProblem<`${Declarator} `> extends infer Problem extends string
    ? ParameterError<Position, Problem>
  : Pointer<ReadWords<`${Pointee} `>, Position, "">
  : Text extends `${infer Element}[${string}]${infer Rest}`
    ? IsBlank<Rest> extends true ? Pointer<ReadWords<`${Element} `>, Position, string>
    : ParameterError<Position, `an array has one dimension here, and "${Rest}" follows it`>
  : Scalar<ReadWords<`${Text} `>, Position>;

type ParameterError<Position extends number, Problem extends string> = SignatureError<
  `Parameter ${Position}: ${Problem}`
>;

/** What a text of type words, qualifiers and at most one name says. */
interface Words<Spelling extends string, IsConst extends boolean, Name extends string> {
  readonly spelling: Spelling;
  readonly isConst: IsConst;
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
  : Name extends "" ? Word extends "const" ? ReadWords<Rest, Spelling, true>
    : Word extends IgnoredQualifier ? ReadWords<Rest, Spelling, IsConst>
    : Word extends RestrictQualifier ? `"${Word}" stands only behind the "*" of a pointer`
    : Word extends CTypeWord
      ? ReadWords<Rest, Spelling extends "" ? Word : `${Spelling} ${Word}`, IsConst>
    : ReadWords<Rest, Spelling, IsConst, Word>
  : Spelling extends "" ? `"${Name}" is not a type a kernel can take`
  : `it has two names, "${Name}" and "${Word}"`
  : Words<Spelling, IsConst, Name>;

type Scalar<Read, Position extends number> = Read extends Words<infer Spelling, boolean, infer Name>
  ? Spelling extends CTypeSpelling ? ScalarArgument<(typeof C_TYPES)[Spelling]>
  : ParameterError<Position, SpellingProblem<Spelling, Name>>
  : ParameterError<Position, Read & string>;

/** A pointer to what the words say, which may be followed by a name of type `Name`. */
type Pointer<Read, Position extends number, Name extends string> = Read extends
  Words<infer Spelling, infer IsConst, infer Given>
  ? Given extends Name ? Spelling extends "void" ? PointerArgument<DType, IsConst>
    : Spelling extends CTypeSpelling
      ? PointerArgument<PointeeDType<(typeof C_TYPES)[Spelling]>, IsConst>
    : ParameterError<Position, SpellingProblem<Spelling, Given>>
  : ParameterError<Position, SpellingProblem<"", `${Spelling} ${Given}`>>
  : ParameterError<Position, Read & string>;

type SpellingProblem<Spelling extends string, Name extends string> = Spelling extends ""
  ? Name extends "" ? "it is missing" : `"${Trimmed<Name>}" is not a type a kernel can take`
  : Spelling extends "void" ? '"void" is no parameter by itself'
  : `"${Spelling}" is not a type a kernel can take`;

/** What is wrong with the text after a pointer's `*`; `undefined` if nothing is. */
type DeclaratorProblem<Text extends string, Name extends string = ""> = Text extends
  `${string}*${string}` ? "a pointer to a pointer has no device memory that fits"
  : Text extends `${string}[${string}` ? "an array of pointers has no device memory that fits"
  : Text extends `${infer Word} ${infer Rest}` ? Word extends "" ? DeclaratorProblem<Rest, Name>
    : Name extends ""
      ? Word extends "const" | IgnoredQualifier | RestrictQualifier ? DeclaratorProblem<Rest>
      : Word extends CTypeWord ? `"${Word}" cannot follow the "*" of a pointer`
      : DeclaratorProblem<Rest, Word>
    : `it has two names, "${Name}" and "${Word}"`
  : undefined;

// ---- White space -------------------------------------------------------------------------------

/** Runs of this length become one space first, so that a long run takes few steps. */
type LongRun = "                                ";

/** The text with every kind of white space as spaces, and no very long runs of them. */
type Spaced<Text extends string> = Replace<
  Replace<Replace<Replace<Replace<Text, "\n">, "\r">, "\t">, "\v" | "\f">,
  LongRun
>;

/** The text with a space for every occurrence of another. */
type Replace<Text extends string, Old extends string, Done extends string = ""> = Text extends
  `${infer Before}${Old}${infer After}` ? Replace<After, Old, `${Done}${Before} `>
  : `${Done}${Text}`;

type IsBlank<Text extends string> = Text extends "" | " " ? true
  : Text extends ` ${infer Rest}` ? IsBlank<Rest>
  : false;

type Trimmed<Text extends string> = Text extends ` ${infer Rest}` ? Trimmed<Rest> : Text;
