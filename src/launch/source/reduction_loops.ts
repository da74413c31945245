/**
 * Recognizes two loops of reductions for the host device, where each meeting of threads costs a
 * change of stacks: shuffles by 16, 8, 4, 2, 1, and trees in shared memory. The loops stay as they
 * are, with a call added that may do the rest of them at once
 * (`csrc/host/include/gridstride/groups/reduction_loops.h`).
 *
 * @module
 */

import { isSignificant, type Token, tokenize } from "../signature/tokens.ts";

const TYPES = String.raw`(?:(?:unsigned|int|long|short|auto|size_t|u?int\d+_t) )+`;
const HALVES = String.raw`(?:\k<o> > >= 1|\k<o> / = 2|\k<o> = \k<o> (?:/ 2|> > 1))`;
const SHUFFLE =
  /(?:\B:: )?\b__shfl_(down|xor)_sync \( ((?:[~-] )?\w+(?: :: \w+)*) , (\w+) , (\w+)(?: , (\w+))? \)/;

/** Tokens are one space apart, and `>=`, `<=` and `::` are the only operators of two signs. */
const LADDER = new RegExp(
  String.raw`(?<head>for \( ${TYPES}(?<o>\w+) = [^;,]+ ; \k<o>(?: > 0[uU]?| >= 1[uU]?| ! = 0)?) ` +
    String.raw`; ${HALVES} \) (?:\{ )?(?<v>[A-Za-z_]\w*) (?<body>(?:[-+*&|^] )?= [^;{}=]*) ;`,
  "g",
);
const TREE = new RegExp(
  String.raw`for \( ${TYPES}(?<o>\w+) = [^;,]+ ; ` +
    String
      .raw`\k<o>(?: > (?<limit>\d+[uU]?|warpSize|[A-Z]\w*)| >= 1[uU]?| ! = 0)? ; ${HALVES} \) ` +
    String
      .raw`\{ (?<early>__syncthreads \( \) ; )?if \( (?<thread>threadIdx \. x|\w+) < \k<o> \) ` +
    String.raw`(?!(?:if|for|while|do|switch|else)\b)`,
  "g",
);
/** Functions of values alone: it does not matter in which thread they run. */
const PURE = /^(?:max|min|fmaxf?|fminf?|gs_other|::)$/;

interface Insertion {
  readonly at: number;
  readonly text: string;
}

/** Adds the calls to a text. Every line stays in its place. */
export function shortenReductions(source: string): string {
  if (!/__shfl_(?:down|xor)_sync|__syncthreads/.test(source)) return source;
  const tokens = tokenize(source).filter((token) =>
    isSignificant(token) || token.kind === "directive"
  );
  const starts = new Map<number, number>();
  let text = "";
  for (const [index, token] of tokens.entries()) {
    starts.set(text.length, index);
    // No pattern goes across directives.
    text += `${token.kind === "directive" ? "#" : token.text} `;
  }
  const insertions = [
    ...[...text.matchAll(LADDER)].map((match) => ladder(match, tokens, starts)),
    ...[...text.matchAll(TREE)].map((match) => tree(match, text, tokens, starts)),
  ].filter((insertion) => insertion !== undefined).toSorted((a, b) => b.at - a.at);
  let result = source;
  for (const { at, text } of insertions) result = result.slice(0, at) + text + result.slice(at);
  return result;
}

/** `for (int o = 16; o > 0; o /= 2) v += __shfl_down_sync(mask, v, o);` */
function ladder(
  match: RegExpExecArray,
  tokens: readonly Token[],
  starts: ReadonlyMap<number, number>,
): Insertion | undefined {
  const { head, o, v, body } = match.groups!;
  const [call, kind, mask, value, offset, width = "32"] = SHUFFLE.exec(body!) ?? [];
  if (call === undefined || value !== v || offset !== o || o === v) return undefined;
  // With operators of two signs in one piece again.
  const step = `${v} ${body!.replace(call, "gs_other").replace(/^(\S) =/, "$1=")}`;
  const isPure = (step.match(/\w+|::/g) ?? []).every((word) => word === v || PURE.test(word));
  if (!isPure || /\+ \+|- -/.test(step)) return undefined;
  const isXor = kind === "xor";
  return {
    at: tokens[starts.get(match.index + head!.length + 1)!]!.start,
    text: ` && !::gridstride::host::shuffle_ladder<${isXor}>(${mask}, ${v}, ${o}, ${width}, ` +
      `[](auto& ${v}, auto gs_other) { ${step}; })`,
  };
}

/** `for (int s = n; s > 0; s /= 2) { if (threadIdx.x < s) …; __syncthreads(); }` */
function tree(
  match: RegExpExecArray,
  text: string,
  tokens: readonly Token[],
  starts: ReadonlyMap<number, number>,
): Insertion | undefined {
  const { o, limit = "0", early, thread } = match.groups!;
  const isOwn = thread === "threadIdx . x" ||
    new RegExp(`\\b${TYPES}${thread} [=,)]`).test(text) &&
      !new RegExp(`${TYPES}& ${thread} `).test(text);
  if (!isOwn) return undefined;
  let at = starts.get(match.index + match[0].length)!;
  for (let depth = 0; at < tokens.length; at++) {
    const { text, kind } = tokens[at]!;
    if (kind === "directive") return undefined;
    depth += /^[{([]$/.test(text) ? 1 : /^[})\]]$/.test(text) ? -1 : 0;
    if (depth === 0 && (text === ";" || text === "}")) break;
  }
  const rest = tokens.slice(at + 1, at + 6).map(({ text }) => text).join(" ");
  if (!rest.startsWith(early === undefined ? "__syncthreads ( ) ; }" : "}")) return undefined;
  const left = early === undefined ? o : `${o} / 2`;
  return {
    at: tokens[at]!.end,
    text: ` else if (::gridstride::host::idle_rounds(${left}, ${limit})) break;`,
  };
}
