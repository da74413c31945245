/**
 * The choice of the next tokens from logits.
 *
 * @module
 */

import type { Tensor } from "../../tensor/mod.ts";
import type { SamplingSettings } from "./settings.ts";

/** What the choice of a row's token depends on. */
export interface SampledRow {
  readonly settings: SamplingSettings;
  /** The prompt and the tokens so far. */
  readonly tokens: readonly number[];
}

/** A chosen token. */
export interface SampledToken {
  readonly token: number;
  /** Of the token in the model's own distribution. */
  readonly logProbability: number;
}

/** 64 random bits of a position, by Philox4x32-10, as `csrc/kernels/tensor/random.cuh` has it. */
export function randomBits(position: bigint, seed: bigint, stream: bigint): bigint {
  const low = (value: bigint) => value & 0xffffffffn;
  let [x, y, z, w] = [low(position), position >> 32n, low(stream), stream >> 32n];
  let [key0, key1] = [low(seed), seed >> 32n];
  for (let round = 0; round < 10; round++) {
    const first = 0xd2511f53n * x!;
    const second = 0xcd9e8d57n * z!;
    [x, y, z, w] = [
      (second >> 32n) ^ y! ^ key0,
      low(second),
      (first >> 32n) ^ w! ^ key1,
      low(first),
    ];
    key0 = low(key0 + 0x9e3779b9n);
    key1 = low(key1 + 0xbb67ae85n);
  }
  return y! << 32n | x!;
}

/** The share of the likeliest token's weight that a weight of 1 stands for. */
const UNIT = 2 ** 40;

/** Chooses a token of a row of logits. */
export function sampleRow(
  logits: Float32Array,
  { settings, tokens }: SampledRow,
): SampledToken {
  const { temperature, topK, topP, minP, repetitionPenalty, seed } = settings;
  const seen = repetitionPenalty === 1 ? undefined : new Set(tokens);
  const own = logits.map((logit, token) => {
    if (seen?.has(token) !== true) return logit;
    return logit > 0 ? logit / repetitionPenalty : logit * repetitionPenalty;
  });
  const top = logits.reduce((a, b) => Math.max(a, b));
  const sum = logits.reduce((total, logit) => total + Math.exp(logit - top), 0);
  const chosen = (token: number) => ({
    token,
    logProbability: logits[token]! - top - Math.log(sum),
  });
  const best = own.reduce((a, b) => Math.max(a, b));
  if (temperature === 0) return chosen(own.indexOf(best));
  const distances = own.map((logit) => (best - logit) / temperature);
  const weights = Array.from(distances, (it) => Math.floor(Math.exp(-it) * UNIT));
  const order = [...distances.keys()].sort((a, b) => distances[a]! - distances[b]!);
  const total = (limit: number) =>
    weights.reduce((all, weight, token) => distances[token]! <= limit ? all + weight : all, 0);
  let limit = topK > 0 && topK < order.length ? distances[order[topK - 1]!]! : Infinity;
  if (topP < 1) {
    const wanted = topP * total(limit);
    let mass = 0;
    for (const token of order) {
      mass += weights[token]!;
      if (mass < wanted) continue;
      limit = Math.min(limit, distances[token]!);
      break;
    }
  }
  if (minP > 0) limit = Math.min(limit, -Math.log(minP));
  let left = randomBits(BigInt(tokens.length), seed, 0n) * BigInt(total(limit)) >> 64n;
  for (const [token, weight] of weights.entries()) {
    if (distances[token]! > limit) continue;
    if (left < BigInt(weight)) return chosen(token);
    left -= BigInt(weight);
  }
  throw new Error("Cannot sample a token as the weights must have a sum");
}

/** Chooses the token of each row of logits. Tokens from `vocabularySize` on are never chosen. */
export async function sampleRows(
  logits: Tensor<"float32">,
  rows: readonly SampledRow[],
  vocabularySize: number,
): Promise<SampledToken[]> {
  const width = logits.shape[1]!;
  const all = await logits.toArray();
  return rows.map((row, at) =>
    sampleRow(all.subarray(at * width, at * width + Math.min(vocabularySize, width)), row)
  );
}
