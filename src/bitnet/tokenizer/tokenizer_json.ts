/**
 * Checks of a tokenizer.json, which the library would not make: it takes much of what it does not
 * know for something else, and gives other tokens.
 *
 * @module
 */

import { requireObject } from "../../ffi/arguments.ts";
import { describeValue } from "../../ffi/describe_value.ts";

/** What every error says that it cannot do. */
export const READ = "read the tokenizer";
const MAX_ID = 2 ** 31 - 1;

/** An object of a JSON file. */
export type Json = Readonly<Record<string, unknown>>;

/** Refuses a value of a file, whose place the error names. */
export function refuse(place: string, allowed: string, value: unknown): never {
  throw new TypeError(
    `Cannot ${READ} as ${place} must be ${allowed}: it is ${describeValue(value)}`,
  );
}

/** An object at a place of a file. */
export function objectAt(value: unknown, place: string): Json {
  requireObject(value, place, READ);
  if (Array.isArray(value)) refuse(place, "an object", value);
  return value as Json;
}

function requireId(id: unknown, place: string): void {
  if (Number.isInteger(id) && (id as number) >= 0 && (id as number) <= MAX_ID) return;
  refuse(place, "a token's number", id);
}

/** GPT-2's pattern of words, which byte-level splitting implies. */
const GPT2_PATTERN =
  "'s|'t|'re|'ve|'m|'ll|'d| ?\\p{L}+| ?\\p{N}+| ?[^\\s\\p{L}\\p{N}]+|\\s+(?!\\S)|\\s+";

/** Refuses splits for which the library would give other words, or none at all. */
function checkSplit(split: Json, place: string): Json {
  const { pattern, behavior } = split;
  const { Regex, String } = (pattern ?? {}) as Json;
  if (typeof (Regex ?? String) !== "string") {
    refuse(`${place}.pattern`, "{ Regex } or { String }", pattern);
  }
  if (behavior === "Removed") return split;
  if (behavior !== "Isolated") refuse(`${place}.behavior`, "Isolated or Removed", behavior);
  // Matches and the texts between them are words, so the inverse is the same.
  return { ...split, invert: false };
}

/**
 * The pre-tokenizer with GPT-2's pattern written out where it is implied. The library translates
 * written patterns to Unicode's white space, but not its own one: JavaScript's `\s` has U+FEFF and
 * lacks U+0085.
 */
function checkPreTokenizer(preTokenizer: unknown, place: string): unknown {
  if (preTokenizer === undefined || preTokenizer === null) return null;
  const checked = objectAt(preTokenizer, place);
  const { type, pretokenizers, use_regex, add_prefix_space } = checked;
  if (type === "Split") return checkSplit(checked, place);
  if (type === "Sequence") {
    if (!Array.isArray(pretokenizers)) refuse(`${place}.pretokenizers`, "an array", pretokenizers);
    const each = pretokenizers.map((it, index) =>
      checkPreTokenizer(it, `${place}.pretokenizers[${index}]`)
    );
    return { ...checked, pretokenizers: each };
  }
  // A prefix comes before words are split.
  if (type !== "ByteLevel" || use_regex === false || add_prefix_space === true) return checked;
  const split = { behavior: "Isolated", invert: false, pattern: { Regex: GPT2_PATTERN } };
  return {
    type: "Sequence",
    pretokenizers: [{ type: "Split", ...split }, { ...checked, use_regex: false }],
  };
}

/**
 * Refuses a merge whose tokens do not exist: the library would drop the text that they stand for.
 *
 * @param merge Two tokens, or a string with a space between them.
 * @param prefixLength The length of the prefix that the second token loses.
 */
export function requireMerge(
  merge: unknown,
  prefixLength: number,
  exists: (token: string) => boolean,
  place: string,
): void {
  const [left, right, ...rest] = typeof merge === "string" ? merge.split(" ") : [merge].flat();
  const isPair = typeof left === "string" && typeof right === "string" && rest.length === 0;
  if (!isPair || left === "" || right === "") refuse(place, "two tokens", merge);
  for (const token of [left, right, left + right.slice(prefixLength)]) {
    if (exists(token)) continue;
    refuse(place, `of tokens, and there is no ${describeValue(token)}`, merge);
  }
}

/** Refuses what the library would take for something else, and adds the keys that it needs. */
export function checkTokenizer(tokenizer: Json): Json & { readonly added_tokens: readonly Json[] } {
  const { added_tokens = [] } = tokenizer;
  const model = objectAt(tokenizer.model, "model");
  if (model.type !== "BPE") refuse("model.type", "BPE", model.type);
  const vocab = new Set<string>();
  for (const [token, id] of Object.entries(objectAt(model.vocab, "model.vocab"))) {
    requireId(id, `model.vocab[${describeValue(token)}]`);
    vocab.add(token);
  }
  if (!Array.isArray(added_tokens)) refuse("added_tokens", "an array", added_tokens);
  added_tokens.forEach((token, index) => {
    const { id, content, single_word } = objectAt(token, `added_tokens[${index}]`);
    requireId(id, `added_tokens[${index}].id`);
    if (typeof content !== "string" || content === "") {
      refuse(`added_tokens[${index}].content`, "a nonempty string", content);
    }
    // The library would find it inside words, too.
    if (single_word === true) refuse(`added_tokens[${index}].single_word`, "false", single_word);
    vocab.add(content);
  });
  const { merges, continuing_subword_prefix: prefix } = model;
  if (!Array.isArray(merges)) refuse("model.merges", "an array", merges);
  const prefixLength = typeof prefix === "string" ? prefix.length : 0;
  merges.forEach((merge, index) => {
    requireMerge(merge, prefixLength, (token) => vocab.has(token), `model.merges[${index}]`);
  });
  return {
    normalizer: null,
    post_processor: null,
    decoder: null,
    ...tokenizer,
    pre_tokenizer: checkPreTokenizer(tokenizer.pre_tokenizer, "pre_tokenizer"),
    added_tokens,
  };
}
