/**
 * The tokenizer of a GGUF file as the tokenizer.json and tokenizer_config.json of Hugging Face.
 *
 * @module
 */

import type { TokenizerSource } from "./tokenizer.ts";
import { refuse, requireMerge } from "./tokenizer_json.ts";

/** The pattern by which LLaMA 3 splits a text into words before it merges bytes. */
const LLAMA3_PATTERN = "(?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\\r\\n\\p{L}\\p{N}]?\\p{L}+|\\p{N}{1,3}|" +
  " ?[^\\s\\p{L}\\p{N}]+[\\r\\n]*|\\s*[\\r\\n]+|\\s+(?!\\S)|\\s+";

/** Values of `tokenizer.ggml.pre` that stand for LLaMA 3; BitNet 2B4T has none and means it. */
const LLAMA3_NAMES: readonly unknown[] = [undefined, "llama-bpe", "llama3", "llama-v3"];

/** Values of `tokenizer.ggml.token_type`. */
const [NORMAL, CONTROL, USER_DEFINED, LAST_TYPE] = [1, 3, 4, 6];

/** The special tokens of `tokenizer.ggml.<name>_token_id`, by their names in tokenizer_config.json. */
const SPECIAL_TOKENS: Readonly<Record<string, string>> = {
  bos: "bos_token",
  eos: "eos_token",
  unknown: "unk_token",
  padding: "pad_token",
};

/** A token is found as it stands, with the spaces around it left alone. */
const PLAIN = { normalized: false, single_word: false, lstrip: false, rstrip: false };

/** Bytes as characters, split into words by GPT-2's pattern unless `use_regex` is false. */
const BYTE_LEVEL = {
  type: "ByteLevel",
  add_prefix_space: false,
  trim_offsets: true,
  use_regex: true,
};

type Metadata = Readonly<Record<string, unknown>>;

function stringsOf(metadata: Metadata, key: string): readonly string[] {
  const values = metadata[key];
  if (!Array.isArray(values)) refuse(key, "an array of strings", values);
  const wrong = values.findIndex((value) => typeof value !== "string");
  if (wrong >= 0) refuse(`${key}[${wrong}]`, "a string", values[wrong]);
  return values;
}

function tokenTypesOf(metadata: Metadata, count: number): readonly number[] {
  const key = "tokenizer.ggml.token_type";
  const values = metadata[key];
  if (values === undefined) return new Array(count).fill(NORMAL);
  const types: unknown[] = Array.isArray(values) || ArrayBuffer.isView(values)
    ? Array.from(values as unknown[])
    : refuse(key, "an array", values);
  if (types.length !== count) refuse(`${key}.length`, `${count}, one for each token`, types.length);
  const wrong = types.findIndex((type) =>
    !(Number.isInteger(type) && (type as number) >= 1 && (type as number) <= LAST_TYPE)
  );
  if (wrong >= 0) refuse(`${key}[${wrong}]`, `in 1..${LAST_TYPE}`, types[wrong]);
  return types as number[];
}

function indexTokens(tokens: readonly string[]): ReadonlyMap<string, number> {
  const ids = new Map<string, number>();
  tokens.forEach((token, id) => {
    const other = ids.get(token);
    if (other !== undefined) {
      refuse(`tokenizer.ggml.tokens[${id}]`, `unlike tokens[${other}]`, token);
    }
    ids.set(token, id);
  });
  return ids;
}

function mergesOf(metadata: Metadata, ids: ReadonlyMap<string, number>): readonly string[] {
  const key = "tokenizer.ggml.merges";
  const merges = stringsOf(metadata, key);
  merges.forEach((merge, index) =>
    requireMerge(merge, 0, (token) => ids.has(token), `${key}[${index}]`)
  );
  return merges;
}

function specialIdsOf(metadata: Metadata, count: number): Map<string, number> {
  const specials = new Map<string, number>();
  for (const name of [...Object.keys(SPECIAL_TOKENS), "eot", "eom"]) {
    const key = `tokenizer.ggml.${name}_token_id`;
    const id = metadata[key];
    if (id === undefined) continue;
    if (!(Number.isInteger(id) && (id as number) >= 0 && (id as number) < count)) {
      refuse(key, `in 0..${count - 1}`, id);
    }
    specials.set(name, id as number);
  }
  return specials;
}

function flagOf(metadata: Metadata, key: string, otherwise: boolean): boolean {
  const value = metadata[key] ?? otherwise;
  if (typeof value !== "boolean") refuse(key, "a boolean", value);
  return value;
}

/** What splits texts into words, and whether a word that is a token needs no merges. */
function wordsOf(metadata: Metadata): { preTokenizer: unknown; ignoresMerges: boolean } {
  const key = "tokenizer.ggml.pre";
  if (metadata[key] === "gpt-2") {
    return { preTokenizer: BYTE_LEVEL, ignoresMerges: false };
  }
  if (!LLAMA3_NAMES.includes(metadata[key])) {
    refuse(key, "absent, gpt-2, llama-bpe, llama3 or llama-v3", metadata[key]);
  }
  const split = {
    type: "Split",
    pattern: { Regex: LLAMA3_PATTERN },
    behavior: "Isolated",
    invert: false,
  };
  return {
    preTokenizer: {
      type: "Sequence",
      pretokenizers: [split, { ...BYTE_LEVEL, use_regex: false }],
    },
    ignoresMerges: true,
  };
}

/**
 * Converts the tokenizer of a GGUF file, a byte-level BPE by the name `gpt2`.
 *
 * A file without `tokenizer.ggml.pre`, such as that of BitNet 2B4T, splits words as LLaMA 3 does.
 *
 * @param metadata The keys and values of the file's header.
 * @returns A source for `ModelTokenizer`.
 * @throws {TypeError} If a key is missing, contradicts another one, or names another tokenizer.
 * @category Tokens
 *
 * @example
 * ```ts
 * import { ggufTokenizer, ModelTokenizer } from "@gridstride/cuda/bitnet";
 *
 * const tokenizer = new ModelTokenizer(ggufTokenizer({
 *   "tokenizer.ggml.model": "gpt2",
 *   "tokenizer.ggml.tokens": ["a", "b", "ab"],
 *   "tokenizer.ggml.merges": ["a b"],
 *   "tokenizer.ggml.token_type": [1, 1, 1],
 * }));
 * console.log(tokenizer.encode("abba")); // [ 2, 1, 0 ]
 * ```
 */
export function ggufTokenizer(metadata: Readonly<Record<string, unknown>>): TokenizerSource {
  const model = metadata["tokenizer.ggml.model"];
  if (model !== "gpt2") refuse("tokenizer.ggml.model", "gpt2", model);
  const tokens = stringsOf(metadata, "tokenizer.ggml.tokens");
  const ids = indexTokens(tokens);
  const types = tokenTypesOf(metadata, tokens.length);
  const merges = mergesOf(metadata, ids);
  const specials = specialIdsOf(metadata, tokens.length);
  const { preTokenizer, ignoresMerges } = wordsOf(metadata);

  const specialIds = new Set(specials.values());
  const isSpecial = (id: number) => types[id] === CONTROL || specialIds.has(id);
  const isAdded = (id: number) => isSpecial(id) || types[id] === USER_DEFINED;
  const config: Record<string, unknown> = {
    add_bos_token: flagOf(metadata, "tokenizer.ggml.add_bos_token", specials.has("bos")),
    add_eos_token: flagOf(metadata, "tokenizer.ggml.add_eos_token", false),
    chat_template: metadata["tokenizer.chat_template"],
  };
  for (const [name, id] of specials) {
    const key = SPECIAL_TOKENS[name];
    if (key !== undefined) config[key] = tokens[id];
  }
  return {
    config,
    tokenizer: {
      added_tokens: tokens.flatMap((content, id) =>
        isAdded(id) ? [{ id, content, special: isSpecial(id), ...PLAIN }] : []
      ),
      normalizer: null,
      pre_tokenizer: preTokenizer,
      post_processor: null,
      decoder: BYTE_LEVEL,
      model: {
        type: "BPE",
        unk_token: null,
        ignore_merges: ignoresMerges,
        // Defines properties, also one by the name `__proto__`.
        vocab: Object.fromEntries([...ids].filter(([, id]) => !isAdded(id))),
        merges,
      },
    },
  };
}
