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

import type { CTypeWord } from "./c_types.ts";
import type { ReadonlyDeviceMemory } from "./device_memory.ts";
import type { NamedStructs, ReadParameter, SignatureError } from "./signature_type_parameter.ts";
import type {
  Group,
  IsBlank,
  IsWhole,
  Prepared,
  TrimStart,
  TypeKey,
  WithoutTemplateArguments,
} from "./signature_type_text.ts";
import type { SignatureIn } from "./signature_type_source.ts";
import type { NoStructs, StructType, StructTypes } from "./struct_type.ts";

export type { SignatureIn } from "./signature_type_source.ts";
export type { SignatureError } from "./signature_type_parameter.ts";

/**
 * Any value that can be passed to some kernel: numbers, device memory or `null` for pointers, arrays
 * of numbers for vectors, objects for structs.
 */
export type KernelArgument = number | bigint | boolean | ReadonlyDeviceMemory | object | null;

/**
 * The arguments that a kernel of this C signature takes, as a tuple.
 *
 * - Scalars take a `number`; 64-bit integers also a `bigint`; `bool` a `boolean`.
 * - Vectors such as `float4` take an array of as many numbers as they have elements.
 * - Structs take an object of the fields they were described with.
 * - Pointers take `null` or {@linkcode DeviceMemory} of their element type, that of vectors' elements, or
 *   `uint8` for structs; pointers to `const` also {@linkcode ReadonlyDeviceMemory}; `void*` any
 *   element type.
 * - A signature that is no literal takes any arguments: they are checked when it is launched.
 * - A signature that cannot be read takes a {@linkcode SignatureError}, which says why.
 *
 * @typeParam Signature The signature's text: parameter names, line breaks, comments,
 * `__restrict__` and a leading `__global__ void` are optional.
 * @typeParam Structs The structs that it names, by the names it gives them or by their own.
 *
 * @example
 * ```ts
 * import type { KernelArguments } from "./signature_types.ts";
 *
 * const scalars: KernelArguments<"wait(unsigned long long nanoseconds, bool spin)"> = [10n, true];
 * const vector: KernelArguments<"shade<3>(float4 colour)"> = [[1, 0.5, 0, 1]];
 * console.log(scalars, vector);
 * ```
 */
export type KernelArguments<
  Signature extends string,
  Structs extends StructTypes = NoStructs,
> = string extends Signature ? readonly KernelArgument[]
  : Signature extends string ? ReadDeclaration<Prepared<Signature>, StructsByName<Structs>>
  : never;

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
export type ReadableSignature<
  Signature extends string,
  Structs extends StructTypes = NoStructs,
> = [ProblemOf<Signature, Structs>] extends [never] ? Signature : ProblemOf<Signature, Structs>;

/**
 * A kernel's signature or its name where it, or what the source declares of that name, can be read;
 * else the reason why not: {@linkcode ReadableSignature} for what {@linkcode SignatureIn} takes.
 */
export type ReadableKernel<
  Source extends string,
  Text extends string,
  Structs extends StructTypes = NoStructs,
> = [ProblemOf<SignatureIn<Source, Text>, Structs>] extends [never] ? Text
  : ProblemOf<SignatureIn<Source, Text>, Structs>;

/**
 * The reasons why a signature cannot be read; `never` if it can.
 *
 * @internal
 */
type ProblemOf<Signature extends string, Structs extends StructTypes> = Extract<
  KernelArguments<Signature, Structs>[number],
  SignatureError<string>
>["cannotReadSignature"];

/**
 * Structs by the names that signatures give them.
 *
 * @internal
 */
type StructsByName<Structs extends StructTypes> = Structs extends readonly StructType[]
  ? { readonly [Struct in Structs[number] as TypeKey<Struct["name"]>]: Struct }
  : { readonly [Name in keyof Structs as TypeKey<Name & string>]: Structs[Name] & StructType };

// ---- Declaration -------------------------------------------------------------------------------

/**
 * Cuts the text at the parentheses; the parameters are read only if what surrounds them is right.
 *
 * @internal
 */
type ReadDeclaration<Text extends string, Structs extends NamedStructs> = Divide<Text> extends
  readonly [infer Head extends string, infer Parameters extends string, infer Tail extends string]
  ? HeadProblem<`${WithoutTemplateArguments<WithoutLinkage<Head>>} `> extends
    infer Problem extends string ? [SignatureError<Problem>]
  : TailProblem<Tail> extends infer Problem extends string ? [SignatureError<Problem>]
  : ReadParameters<Parameters, Structs>
  : [SignatureError<`A signature reads "name(parameters)": "${Text}" has no such parentheses`>];

/**
 * What stands before, in and behind the parentheses of the parameters, which are the first that
 * stand in no template arguments; `undefined` where there are none.
 *
 * @internal
 */
export type Divide<Text extends string, Head extends string = ""> = Text extends
  `${infer Before}(${infer After}`
  ? Group<After> extends readonly [infer Inside extends string, infer Behind extends string]
    ? IsWhole<`${Head}${Before}`> extends true ? readonly [`${Head}${Before}`, Inside, Behind]
    : Divide<Behind, `${Head}${Before}(${Inside})`>
  : undefined
  : undefined;

/** The text without `"C"`, which may stand between words without white space. */
type WithoutLinkage<Text extends string> = Text extends `${infer Before}"C"${infer After}`
  ? `${Before} ${After}`
  : Text;

/** Words that may stand before a kernel's name. */
type HeadWord = "extern" | "static" | "inline" | "__global__" | "void";

/**
 * What is wrong with the text before the parentheses; `undefined` if nothing is.
 *
 * @internal
 */
export type HeadProblem<Text extends string, Name extends string = ""> = Text extends
  `${infer Word} ${infer Rest}` ? Word extends "" ? HeadProblem<Rest, Name>
  : Name extends "" ? Word extends HeadWord ? HeadProblem<Rest>
    : Word extends "template" | "template<>"
      ? 'A template has no parameters by itself: an instance reads "name<arguments>(…)"'
    : HeadProblem<Rest, Word>
  : `A kernel has one name, and returns void: "${Name} ${Word}" stands before the parameters`
  : Name extends "" ? "A kernel's name stands before its parameters: it is missing"
  : Name extends CTypeWord | "const" ? `"${Name}" cannot be the name of a kernel`
  : undefined;

/** What is wrong with the text after the parentheses; `undefined` if nothing is. */
type TailProblem<Text extends string> = Text extends "" | " " | ";" ? undefined
  : Text extends ` ${infer Rest}` ? TailProblem<Rest>
  : Text extends `;${infer Rest}` ? TailProblem<Rest>
  : `Nothing but ";" can follow the parameters: it is "${Text}"`;

// ---- Parameters --------------------------------------------------------------------------------

type ReadParameters<Text extends string, Structs extends NamedStructs> = IsBlank<Text> extends true
  ? []
  : TrimStart<Text> extends `void${infer Rest}`
    ? IsBlank<Rest> extends true ? [] : ReadEach<Text, Structs>
  : ReadEach<Text, Structs>;

/** Reads the parameters between the commas that stand in no brackets. */
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

/** The number, from 1, of the parameter that follows those already read. */
type Next<Read extends readonly unknown[]> = [...Read, unknown]["length"] & number;
