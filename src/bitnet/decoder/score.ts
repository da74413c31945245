/**
 * The probabilities of given tokens.
 *
 * @module
 */

import type { Decoder } from "./decoder.ts";
import { fromTypedArray, logSoftmax, take } from "../../tensor/mod.ts";
import { TensorScope } from "../../tensor/scope.ts";

/** Tokens at once: each has a row of logits. */
const CHUNK = 64;

/**
 * The logarithms of the probabilities of all tokens but the first, in a sequence of their own that is
 * removed afterwards.
 */
export async function scoreTokens(
  decoder: Decoder,
  tokens: readonly number[],
): Promise<Float32Array<ArrayBuffer>> {
  const { vocabularySize } = decoder.config;
  const scores = new Float32Array(tokens.length - 1);
  const sequence = decoder.add();
  try {
    for (let start = 0; start < scores.length; start += CHUNK) {
      const part = tokens.slice(start, Math.min(start + CHUNK, scores.length));
      using _scope = new TensorScope();
      const logits = decoder.forward([{ sequence, tokens: part }], { logits: "all" });
      const places = Float64Array.from(
        part,
        (_, row) => row * vocabularySize + tokens[start + row + 1]!,
      );
      const indices = fromTypedArray(BigInt64Array.from(places, BigInt), [part.length], {
        device: decoder.weights,
      });
      const all = logSoftmax(logits).reshape([-1]);
      scores.set(await take(all, indices, { axis: 0 }).toArray() as Float32Array, start);
    }
  } finally {
    if (decoder.has(sequence)) decoder.remove(sequence);
  }
  return scores;
}
