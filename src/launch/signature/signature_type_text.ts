/**
 * Text in the compiler: what the types that read signatures cut with.
 *
 * All of them find delimiters and recur at their tails, so that the compiler's limit of 1000 steps
 * is one of delimiters, not of characters.
 *
 * @module
 */

import type { AttributeWord } from "./c_types.ts";

// ---- White space, comments and attributes ------------------------------------------------------

/** Runs of this length become one space first, so that a long run takes few steps. */
type LongRun = "                                ";
type LongBreak = "\n\n\n\n";

/** A text with every occurrence of another replaced, four in a step. */
export type Replace<
  Text extends string,
  Old extends string,
  New extends string,
  Done extends string = "",
> = Text extends
  `${infer One}${Old}${infer Two}${Old}${infer Three}${Old}${infer Four}${Old}${infer Rest}`
  ? Replace<Rest, Old, New, `${Done}${One}${New}${Two}${New}${Three}${New}${Four}${New}`>
  : Text extends `${infer One}${Old}${infer Rest}` ? Replace<Rest, Old, New, `${Done}${One}${New}`>
  : `${Done}${Text}`;

/** The text with every kind of white space as spaces, and no very long runs of them. */
export type Spaced<Text extends string> = Replace<
  Replace<
    Replace<Replace<Replace<Breaks<Text>, "\n", " ">, "\r", " ">, "\t", " ">,
    "\v" | "\f",
    " "
  >,
  LongRun,
  " "
>;

type Breaks<Text extends string> = Replace<Text, LongBreak, " ">;

/** The text with a space for each comment; one that does not end stays. */
export type WithoutComments<Text extends string, Done extends string = ""> = Text extends
  `${infer Before}/${infer After}`
  ? After extends `/${infer Line}`
    ? Line extends `${string}\n${infer Rest}` ? WithoutComments<Rest, `${Done}${Before} `>
    : `${Done}${Before} `
  : After extends `*${infer Comment}`
    ? Comment extends `${string}*/${infer Rest}` ? WithoutComments<Rest, `${Done}${Before} `>
    : `${Done}${Text}`
  : WithoutComments<After, `${Done}${Before}/`>
  : `${Done}${Text}`;

/** The text with a space for each attribute, of C++ and of CUDA, with what stands in it. */
type WithoutAttributes<Text extends string> = Text extends `${infer Before}[[${infer After}`
  ? After extends `${string}]]${infer Rest}` ? WithoutAttributes<`${Before} ${Rest}`>
  : Text
  : Text extends `${string}(${string}(${string}` ? WithoutCalls<Text>
  : Text;

/** The text without the calls of every {@linkcode AttributeWord}. */
type WithoutCalls<Text extends string> = Text extends `${string}${AttributeWord}${string}`
  ? WithoutCallsOf<
    WithoutCallsOf<
      WithoutCallsOf<
        WithoutCallsOf<
          WithoutCallsOf<
            WithoutCallsOf<WithoutCallsOf<Text, "__launch_bounds__">, "__cluster_dims__">,
            "__block_size__"
          >,
          "__maxnreg__"
        >,
        "__align__"
      >,
      "alignas"
    >,
    "__attribute__"
  >
  : Text;

/** What a word may follow without being the end of a longer one. */
type BeforeWord = " " | "(" | "," | "*" | "&" | ">" | "]" | ")";

/** The text with a space for each of these words that parentheses follow, and for those. */
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
 * The text as the readers take it: one line, without comments and attributes.
 *
 * @internal
 */
export type Prepared<Text extends string> = WithoutAttributes<Spaced<WithoutComments<Text>>>;

/** Whether a text is empty or of spaces. */
export type IsBlank<Text extends string> = Text extends "" | " " ? true
  : Text extends ` ${infer Rest}` ? IsBlank<Rest>
  : false;

/** The text without spaces before it. */
export type TrimStart<Text extends string> = Text extends ` ${infer Rest}` ? TrimStart<Rest> : Text;

/** The text without spaces behind it. */
export type TrimEnd<Text extends string> = Text extends `${infer Rest} ` ? TrimEnd<Rest> : Text;

/** A name by which types are found: without white space, and without a leading `::`. */
export type TypeKey<Name extends string> = Replace<Spaced<Name>, " ", ""> extends
  infer Key extends string ? Key extends `::${infer Plain}` ? Plain : Key
  : never;

// ---- Brackets ----------------------------------------------------------------------------------

/** Adds an element for each occurrence of a text. */
type Count<Text extends string, Sign extends string, Seen extends readonly unknown[] = []> =
  Text extends `${string}${Sign}${infer Rest}` ? Count<Rest, Sign, [...Seen, unknown]> : Seen;

/**
 * What stands before the bracket that closes a group, whose opening one is already cut off, and
 * what stands behind; `undefined` where none closes it.
 */
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

/** The text with empty brackets for each group; `undefined` where one is not closed. */
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

/** The text without signs that look like brackets. */
type WithoutOperators<Text extends string> = Replace<
  Replace<Replace<Replace<Text, "<<", " ">, "<=", " ">, ">=", " ">,
  "->",
  " "
>;

/** The text with nothing in its brackets but `<` and `>`, or `undefined`. */
type Outline<Text extends string> = EmptyGroups<Text> extends infer One extends string
  ? EmptyGroups<One, "[", "]"> extends infer Two extends string
    ? EmptyGroups<Two, "{", "}"> extends infer Three extends string ? WithoutOperators<Three>
    : undefined
  : undefined
  : undefined;

/** Whether as many brackets are closed in a text as are open, of each kind. */
export type IsWhole<Text extends string> = Text extends
  `${string}${"(" | "[" | "{" | "<" | ">" | "]" | "}"}${string}`
  ? Outline<Text> extends infer Outer extends string
    ? Outer extends `${string}${"<" | ">"}${string}`
      ? Count<Outer, "<"> extends Count<Outer, ">"> ? true : false
    : true
  : false
  : true;

/** The text with `<>` for each list of template arguments, if as many are closed as are open. */
export type WithoutTemplateArguments<Text extends string> = Text extends `${string}<${string}`
  ? Outline<Text> extends infer Outer extends string
    ? EmptyGroups<AttachBrackets<Outer>, "<", ">"> extends infer Names extends string ? Names
    : Text
  : Text
  : Text;

/** The text without spaces before `<`, each of which belongs to the name before. */
type AttachBrackets<Text extends string> = Text extends `${infer Before} <${infer After}`
  ? AttachBrackets<`${Before}<${After}`>
  : Text;
