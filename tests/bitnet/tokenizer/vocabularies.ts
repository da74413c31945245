/**
 * Tokenizers as GGUF files hold them: a small one, and the real one of LLaMA 3.
 *
 * @module
 */

import llama3 from "llama3-tokenizer-js";

/** GPT-2's names of bytes: printable Latin-1 characters stand for themselves. */
function byteTokens(): string[] {
  let next = 0x100;
  return Array.from({ length: 256 }, (_, byte) => {
    const isPrintable = byte > 0x20 && byte < 0x7f || byte > 0xa0 && byte !== 0xad;
    return String.fromCodePoint(isPrintable ? byte : next++);
  });
}

const MERGES = ["h e", "l l", "he ll", "hell o", "Ġ w", "o r", "Ġw or", "l d", "Ġwor ld"];
const SPECIAL = ["<|begin_of_text|>", "<|end_of_text|>", "<|eot_id|>"];

/** The first special token of the small vocabulary. */
export const BEGIN: number = 256 + MERGES.length;

/** A byte-level vocabulary with a few words and three special tokens. */
export function smallVocabulary(): Record<string, unknown> {
  const tokens = [...byteTokens(), ...MERGES.map((merge) => merge.replace(" ", "")), ...SPECIAL];
  return {
    "tokenizer.ggml.model": "gpt2",
    "tokenizer.ggml.tokens": tokens,
    "tokenizer.ggml.merges": MERGES,
    "tokenizer.ggml.token_type": tokens.map((_, id) => id < BEGIN ? 1 : 3),
    "tokenizer.ggml.bos_token_id": BEGIN,
    "tokenizer.ggml.eos_token_id": BEGIN + 1,
    "tokenizer.ggml.add_bos_token": true,
  };
}

/** Members of the package's tokenizer that its types leave out. */
interface Llama3Tables {
  readonly vocabById: readonly string[];
  /** Ranks of merges such as `Ġ Ġ`. */
  readonly merges: ReadonlyMap<string, number>;
}

/** The tokenizer of LLaMA 3 as the GGUF file of BitNet 2B4T holds it. */
export function llama3Vocabulary(): Record<string, unknown> {
  const { vocabById, merges } = llama3 as unknown as Llama3Tables;
  return {
    "tokenizer.ggml.model": "gpt2",
    "tokenizer.ggml.tokens": vocabById,
    "tokenizer.ggml.merges": [...merges].sort(([, a], [, b]) => a - b).map(([merge]) => merge),
    "tokenizer.ggml.token_type": vocabById.map((_, id) => id < 128000 ? 1 : 3),
    "tokenizer.ggml.bos_token_id": 128000,
    "tokenizer.ggml.eos_token_id": 128001,
    "tokenizer.ggml.padding_token_id": 128001,
    "tokenizer.ggml.add_bos_token": true,
  };
}
