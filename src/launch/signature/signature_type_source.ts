/**
 * TypeScript finds a kernel in a whole source and reads its signature there.
 *
 * @module
 */

import type { Prepared, TrimEnd, TrimStart } from "./signature_type_text.ts";
import type { Divide, HeadProblem } from "./signature_types.ts";

/**
 * The signature that a text asks for: the text itself where it is one, and where it is a name, what
 * the source declares. `string`, for any arguments, where that cannot be known: the source is no
 * literal, has no such kernel that could be seen in it, or has a template of that name.
 *
 * A name that is declared several times, in branches of the preprocessor or in namespaces, has the
 * signatures of all of them: arguments of each are taken here, and checked when they are passed.
 *
 * @typeParam Source The CUDA C++ source, where it is a literal.
 * @typeParam Text A kernel's signature or its name, such as `saxpy` or `image::blur`.
 *
 * @example
 * ```ts
 * import type { KernelArguments, SignatureIn } from "./signature_types.ts";
 *
 * const source = `
 *   // y += a x
 *   extern "C" __global__ void axpy(float a, const float* x, float* y) {
 *     y[threadIdx.x] += a * x[threadIdx.x];
 *   }
 *   __global__ void wait(unsigned nanoseconds) { __nanosleep(nanoseconds); }`;
 * const values: KernelArguments<SignatureIn<typeof source, "wait">> = [100];
 * console.log(values);
 * ```
 */
export type SignatureIn<Source extends string, Text extends string> = string extends Text ? string
  : Text extends `${string}<${string}` ? Divide<Prepared<Text>> extends undefined ? string : Text
  : Text extends `${string}(${string}` ? Text
  : string extends Source ? string
  : OrUntyped<Named<Search<Source>, Unqualified<Text>, Text>>;

/** @internal */
type OrUntyped<Signature extends string> = [Signature] extends [never] ? string : Signature;

/**
 * A name without its namespaces.
 *
 * @internal
 */
type Unqualified<Name extends string> = Name extends `${string}::${infer Rest}` ? Unqualified<Rest>
  : TrimStart<TrimEnd<Name>>;

/**
 * Of declarations, those of this name, as signatures of the kernel that was asked for.
 *
 * @internal
 */
type Named<Declaration extends string, Name extends string, Asked extends string> =
  Declaration extends `${string}${Name}${string}`
    ? Divide<Prepared<Declaration>> extends
      readonly [infer Head extends string, infer Parameters extends string, string]
      ? ` ${TrimEnd<Head>}` extends `${string} ${Name}`
        // Else it is the definition of a macro, and what follows that.
        ? HeadProblem<`${Head} `> extends string ? never : `${Asked}(${Parameters})`
      : never
    : never
    : never;

// ---- Finding declarations ----------------------------------------------------------------------

/**
 * A search that has gone as many steps as one type may, to be continued.
 *
 * @internal
 */
interface Suspended<Text extends string, InTemplate extends boolean, Found extends string> {
  readonly text: Text;
  readonly inTemplate: InTemplate;
  readonly found: Found;
}

/**
 * All declarations of kernels in a text, as far as it is no template's.
 *
 * @internal
 */
type Search<Text extends string, InTemplate extends boolean = false, Found extends string = never> =
  SearchSome<Text, InTemplate, Found, []> extends infer State
    ? State extends Suspended<infer Rest, infer Within, infer Before> ? Search<Rest, Within, Before>
    : State & string
    : never;

/** Steps of one search: some are several of the compiler's 1000. */
type Steps = 200;

/**
 * Goes from comment to comment and kernel to kernel.
 *
 * @internal
 */
type SearchSome<
  Text extends string,
  InTemplate extends boolean,
  Found extends string,
  Gone extends readonly unknown[],
> = Gone["length"] extends Steps ? Suspended<Text, InTemplate, Found>
  : Text extends `${infer Before}__global__${infer After}`
    ? BehindComment<Before, Text> extends
      readonly [infer Skipped extends string, infer Rest extends string]
      ? SearchSome<Rest, EndsInTemplate<Skipped, InTemplate>, Found, [...Gone, unknown]>
    : UpToBody<After> extends readonly [infer Declaration extends string, infer Rest extends string]
      ? SearchSome<
        Rest,
        false,
        Found | (EndsInTemplate<Before, InTemplate> extends true ? never : Declaration),
        [...Gone, unknown]
      >
    : Found
  : Found;

/**
 * What stands before the first comment in a text, and behind it in the whole; `undefined` where
 * there is none. A slash that divides counts as an empty comment.
 */
type BehindComment<Before extends string, Whole extends string> = Before extends
  `${string}/${string}`
  ? Whole extends `${infer Code}/${infer After}`
    ? After extends `/${infer Line}`
      ? readonly [Code, Line extends `${string}\n${infer Rest}` ? Rest : ""]
    : After extends `*${infer Comment}`
      ? readonly [Code, Comment extends `${string}*/${infer Rest}` ? Rest : ""]
    : readonly [Code, After]
  : undefined
  : undefined;

/** Whether a text ends between the word `template` and what it declares. */
type EndsInTemplate<Text extends string, Before extends boolean> = Text extends
  `${string}template${infer After}` ? EndsInTemplate<After, true>
  : Text extends `${string}${";" | "{" | "}"}${string}` ? false
  : Before;

/** A declaration up to its body or semicolon, without comments, and what follows. */
type UpToBody<Text extends string, Done extends string = ""> = Text extends
  `${infer Before}/${infer After}`
  ? UpToSign<Before> extends infer Ended extends string
    ? readonly [`${Done}${Ended}`, Text extends `${Ended}${infer Rest}` ? Rest : ""]
  : After extends `/${infer Line}`
    ? Line extends `${string}\n${infer Rest}` ? UpToBody<Rest, `${Done}${Before} `> : undefined
  : After extends `*${infer Comment}`
    ? Comment extends `${string}*/${infer Rest}` ? UpToBody<Rest, `${Done}${Before} `> : undefined
  : UpToBody<After, `${Done}${Before}/`>
  : UpToSign<Text> extends infer Ended extends string
    ? readonly [`${Done}${Ended}`, Text extends `${Ended}${infer Rest}` ? Rest : ""]
  : undefined;

/** A text up to its first brace or semicolon; `undefined` where it has none. */
type UpToSign<Text extends string> = Text extends `${infer Before}{${string}`
  ? Before extends `${infer Shorter};${string}` ? Shorter : Before
  : Text extends `${infer Before};${string}` ? Before
  : undefined;
