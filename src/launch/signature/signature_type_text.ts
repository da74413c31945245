/**
 * Text in TypeScript's type system: the cutting tools of the types that read signatures.
 *
 * All of them look for delimiters and recur at their tails. The compiler's limit of 1000 steps is one
 * of delimiters, not of characters.
 *
 * @module
 */

import type { AttributeWords, CTypeWord } from "./c_types.ts";

// ---- White space, comments and attributes --------------------------------------------------------

/** A long run that becomes one space in one step. */
type LongRun = "                                ";

type Replace<
  Text extends string,
  Old extends string,
  New extends string,
  Done extends string = "",
> = Text extends `${infer One}${Old}${infer Rest}` ? Replace<Rest, Old, New, `${Done}${One}${New}`>
  : `${Done}${Text}`;

type ReplaceEach<Text extends string, Old extends readonly string[]> = Old extends
  readonly [infer First extends string, ...infer Rest extends readonly string[]]
  ? ReplaceEach<Replace<Text, First, " ">, Rest>
  : Text;

/** The text with all white space as spaces, and no very long runs of them. */
type Spaced<Text extends string> = ReplaceEach<
  Text,
  ["\n\n\n\n", "\n", "\r", "\t", "\v", "\f", LongRun]
>;

/** The text with a space for each comment; one that does not end stays. */
type WithoutComments<Text extends string, Done extends string = ""> = Text extends
  `${infer Before}/${infer After}`
  ? After extends `/${infer Line}`
    ? Line extends `${string}\n${infer Rest}` ? WithoutComments<Rest, `${Done}${Before} `>
    : `${Done}${Before} `
  : After extends `*${infer Comment}`
    ? Comment extends `${string}*/${infer Rest}` ? WithoutComments<Rest, `${Done}${Before} `>
    : `${Done}${Text}`
  : WithoutComments<After, `${Done}${Before}/`>
  : `${Done}${Text}`;

/** The text with a space for each attribute, of C++ and of CUDA. */
type WithoutAttributes<Text extends string> = Text extends `${infer Before}[[${infer After}`
  ? After extends `${string}]]${infer Rest}` ? WithoutAttributes<`${Before} ${Rest}`>
  : Text
  : Text extends `${string}(${string}(${string}` ? WithoutCalls<Text, AttributeWords>
  : Text;

type WithoutCalls<Text extends string, Words extends readonly string[]> = Words extends
  readonly [infer Word extends string, ...infer Rest extends readonly string[]]
  ? WithoutCalls<Text extends `${string}${Word}${string}` ? WithoutCallsOf<Text, Word> : Text, Rest>
  : Text;

type BeforeWord = " " | "(" | "," | "*" | "&" | ">" | "]" | ")";

/** The text with a space for each call of a word. */
type WithoutCallsOf<Text extends string, Word extends string, Done extends string = ""> =
  Text extends `${infer Before}${Word}${infer After}`
    ? ` ${Done}${Before}` extends `${string}${BeforeWord}`
      ? TrimStart<After> extends `(${infer Inside}`
        ? Group<Inside> extends readonly [string, infer Rest extends string]
          ? WithoutCallsOf<Rest, Word, `${Done}${Before} `>
        : `${Done}${Text}`
      : WithoutCallsOf<After, Word, `${Done}${Before}${Word}`>
    : WithoutCallsOf<After, Word, `${Done}${Before}${Word}`>
    : `${Done}${Text}`;

/**
 * The text on one line, without comments and attributes.
 *
 * @ignore
 */
export type Prepared<Text extends string> = WithoutAttributes<Spaced<WithoutComments<Text>>>;

/** The text with one space for each run of them, and none at its ends. */
type Squeezed<Text extends string> = Text extends `${infer One}  ${infer Rest}`
  ? Squeezed<`${One} ${Rest}`>
  : TrimStart<TrimEnd<Text>>;

/**
 * Whether a text is no literal, or one with parts that are not.
 *
 * @ignore
 */
export type IsOpen<Text extends string> = NonNullable<unknown> extends Record<Text, 1> ? true
  : false;

export type IsBlank<Text extends string> = Text extends "" | " " ? true
  : Text extends ` ${infer Rest}` ? IsBlank<Rest>
  : false;

export type TrimStart<Text extends string> = Text extends ` ${infer Rest}` ? TrimStart<Rest> : Text;

export type TrimEnd<Text extends string> = Text extends `${infer Rest} ` ? TrimEnd<Rest> : Text;

/** A name of a type without white space and without a leading `::`. */
export type TypeKey<Name extends string> = Replace<Spaced<Name>, " ", ""> extends
  infer Key extends string ? Key extends `::${infer Plain}` ? Plain : Key
  : never;

// ---- Brackets ----------------------------------------------------------------------------------

type Count<Text extends string, Sign extends string, Seen extends readonly unknown[] = []> =
  Text extends `${string}${Sign}${infer Rest}` ? Count<Rest, Sign, [...Seen, unknown]> : Seen;

/** The text before and behind the bracket that closes an opened group; `undefined` without one. */
export type Group<
  Text extends string,
  Open extends string = "(",
  Close extends string = ")",
  Inside extends string = "",
  Depth extends readonly unknown[] = [],
> = Text extends `${infer Before}${Close}${infer After}`
  ? Count<Before, Open, Depth> extends readonly [unknown, ...infer Less]
    ? Group<After, Open, Close, `${Inside}${Before}${Close}`, Less>
  : readonly [`${Inside}${Before}`, After]
  : undefined;

/** The text with empty brackets for each group; `undefined` if one is not closed. */
export type EmptyGroups<
  Text extends string,
  Open extends string = "(",
  Close extends string = ")",
  Done extends string = "",
> = Text extends `${infer Before}${Open}${infer After}`
  ? Group<After, Open, Close> extends readonly [string, infer Rest extends string]
    ? EmptyGroups<Rest, Open, Close, `${Done}${Before}${Open}${Close}`>
  : undefined
  : `${Done}${Text}`;

type WithoutOperators<Text extends string> = ReplaceEach<Text, ["<<", "<=", ">=", "->"]>;

/** The text with empty brackets, but `<` and `>`; `undefined` if one is not closed. */
type Outline<Text extends string> = EmptyGroups<Text> extends infer One extends string
  ? EmptyGroups<One, "[", "]"> extends infer Two extends string
    ? EmptyGroups<Two, "{", "}"> extends infer Three extends string ? WithoutOperators<Three>
    : undefined
  : undefined
  : undefined;

export type IsWhole<Text extends string> = Text extends
  `${string}${"(" | "[" | "{" | "<" | ">" | "]" | "}"}${string}`
  ? Outline<Text> extends infer Outer extends string
    ? Outer extends `${string}${"<" | ">"}${string}`
      ? Count<Outer, "<"> extends Count<Outer, ">"> ? true : false
    : true
  : false
  : true;

/** The text with `<>` for each list of template arguments, if their brackets match. */
export type WithoutTemplateArguments<Text extends string> = Text extends `${string}<${string}`
  ? Outline<Text> extends infer Outer extends string
    ? EmptyGroups<AttachBrackets<Outer>, "<", ">"> extends infer Names extends string ? Names
    : Text
  : Text
  : Text;

/** The text without spaces before `<`: template arguments belong to the name before. */
type AttachBrackets<Text extends string> = Text extends `${infer Before} <${infer After}`
  ? AttachBrackets<`${Before}<${After}`>
  : Text;

// ---- Declarations --------------------------------------------------------------------------------

/**
 * The text before, in and behind the parentheses of the parameters, the first ones outside of template
 * arguments; `undefined` without any.
 */
export type Divide<Text extends string, Head extends string = ""> = Text extends
  `${infer Before}(${infer After}`
  ? Group<After> extends readonly [infer Inside extends string, infer Behind extends string]
    ? IsWhole<`${Head}${Before}`> extends true ? readonly [`${Head}${Before}`, Inside, Behind]
    : Divide<Behind, `${Head}${Before}(${Inside})`>
  : undefined
  : undefined;

type HeadWord = "extern" | "static" | "inline" | "__global__" | "void";

export type HeadProblem<Text extends string, Name extends string = ""> = Text extends
  `${infer Word} ${infer Rest}` ? Word extends "" ? HeadProblem<Rest, Name>
  : Name extends "" ? Word extends HeadWord ? HeadProblem<Rest>
    : HeadProblem<Rest, Word>
  : `A kernel has one name, and returns void: "${Name} ${Word}" stands before the parameters`
  : Name extends "" ? "A kernel's name stands before its parameters: it is missing"
  : Name extends CTypeWord | "const" ? `"${Name}" cannot be the name of a kernel`
  : undefined;

// ---- Kernels of a source -------------------------------------------------------------------------

/**
 * The signature of a requested kernel: the text itself if it is a signature; for a name, the source's
 * declaration. `string`, for any arguments, if that is unknown: the source is no literal, has no such
 * kernel in plain sight, or has a template of that name.
 *
 * A name that is declared several times, in branches of the preprocessor or in namespaces, has the
 * signatures of all of them: arguments of each compile, and the launch checks them.
 *
 * @typeParam Source The CUDA C++ source, where it is a literal.
 * @typeParam Text A kernel's signature or its name, such as `saxpy` or `image::blur`.
 *
 * @ignore
 */
export type SignatureIn<Source extends string, Text extends string> = string extends Text ? string
  : Text extends `${string}<${string}` ? Divide<Prepared<Text>> extends undefined ? string : Text
  : Text extends `${string}(${string}` ? Text
  : string extends Source ? string
  : FoundIn<Source, Text>;

type FoundIn<Source extends string, Text extends string> = DeclaredIn<Source, Text> extends
  infer Signature extends string
  ? [Signature] extends [never] ? string : IsOpen<Signature> extends true ? string : Signature
  : never;

/**
 * The declarations of a name in a source, as signatures of the requested kernel; `never` without any.
 *
 * @ignore
 */
export type DeclaredIn<Source extends string, Name extends string> = Named<
  Search<Source>,
  Unqualified<Name>,
  Name
>;

type Unqualified<Name extends string> = Name extends `${string}::${infer Rest}` ? Unqualified<Rest>
  : TrimStart<TrimEnd<Name>>;

/** The declarations of a name, as signatures of the requested kernel. */
type Named<Declaration extends string, Name extends string, Asked extends string> =
  Declaration extends `${string}${Name}${string}`
    ? Divide<Prepared<Declaration>> extends
      readonly [infer Head extends string, infer Parameters extends string, string]
      ? ` ${TrimEnd<Head>}` extends `${string} ${Name}`
        // Not the definition of a macro.
        ? HeadProblem<`${Head} `> extends string ? never : `${Asked}(${Squeezed<Parameters>})`
      : never
    : never
    : never;

/**
 * The names of the kernels in plain sight in a source, without namespaces.
 *
 * @ignore
 */
export type KernelNames<Source extends string> = NameIn<Search<Source>>;

/** The name of a declaration or a signature; none of the definition of a macro. */
export type NameIn<Declaration extends string> = Declaration extends string
  ? Divide<Prepared<Declaration>> extends readonly [infer Head extends string, string, string]
    ? HeadProblem<`${Head} `> extends string ? never : LastWord<TrimEnd<Head>>
  : never
  : never;

type LastWord<Text extends string> = Text extends `${string} ${infer Rest}` ? LastWord<Rest> : Text;

/**
 * Whether a name is a word of a source: of a template or a macro, perhaps.
 *
 * @ignore
 */
export type IsWordOf<Source extends string, Name extends string> = Unqualified<Name> extends
  infer Word extends string ? Word extends "" ? false
  : Source extends `${string}${WordStart}${Word}${WordEnd}${string}` ? true
  : false
  : never;

type WordStart = " " | "\n" | "\t" | "(" | ",";
type WordEnd = " " | "\n" | "(" | ")" | "<" | ",";

/** A search at the compiler's limit of steps, to be continued. */
interface Suspended<Text extends string, InTemplate extends boolean, Found extends string> {
  readonly text: Text;
  readonly inTemplate: InTemplate;
  readonly found: Found;
}

/** All declarations of kernels in a text, without templates. */
type Search<Text extends string, InTemplate extends boolean = false, Found extends string = never> =
  SearchSome<Text, InTemplate, Found, []> extends infer State
    ? State extends Suspended<infer Rest, infer Within, infer Before> ? Search<Rest, Within, Before>
    : State & string
    : never;

/** The steps of one search: some are several of the compiler's 1000. */
type Steps = 200;

/** Goes from comment to comment and kernel to kernel. */
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
 * The text before the first comment, and the one behind it in the whole; `undefined` without any. A
 * division counts as an empty comment.
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

/** Whether a text ends between the word `template` and its declaration. */
type EndsInTemplate<Text extends string, Before extends boolean> = Text extends
  `${string}template${infer After}` ? EndsInTemplate<After, true>
  : Text extends `${string}${";" | "{" | "}"}${string}` ? false
  : Before;

/** A declaration up to its body or semicolon, without comments, and the text behind. */
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

type UpToSign<Text extends string> = Text extends `${infer Before}{${string}`
  ? Before extends `${infer Shorter};${string}` ? Shorter : Before
  : Text extends `${infer Before};${string}` ? Before
  : undefined;
