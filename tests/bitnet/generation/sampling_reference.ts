/**
 * The choice of a token by sorting, and the generator of random numbers in JavaScript.
 *
 * @module
 */

import type { SampledToken } from "../../../src/bitnet/generation/sampling.ts";
import type { SamplingSettings } from "../../../src/bitnet/generation/settings.ts";

/** 64 random bits of a position, by Philox4x32-10. */
function randomBits(position: bigint, seed: bigint): bigint {
  const low = (value: bigint) => value & 0xffffffffn;
  let [x, y, z, w] = [low(position), position >> 32n, 0n, 0n];
  let [key0, key1] = [low(seed), seed >> 32n];
  for (let round = 0; round < 10; round++) {
    const first = 0xd2511f53n * x;
    const second = 0xcd9e8d57n * z;
    [x, y, z, w] = [(second >> 32n) ^ y ^ key0, low(second), (first >> 32n) ^ w ^ key1, low(first)];
    key0 = low(key0 + 0x9e3779b9n);
    key1 = low(key1 + 0xbb67ae85n);
  }
  return y << 32n | x;
}

/** The tokens that settings leave, and the distance of each from the likeliest. */
export function keptTokens(
  logits: Float32Array,
  { temperature, topK, topP, minP, repetitionPenalty }: SamplingSettings,
  seen: ReadonlySet<number>,
): { readonly best: number; readonly kept: readonly number[]; readonly weights: number[] } {
  const penalty = Math.fround(repetitionPenalty);
  const own = logits.map((logit, token) => {
    if (!seen.has(token)) return logit;
    return logit > 0 ? logit / penalty : logit * penalty;
  });
  const order = [...own.keys()].sort((a, b) => own[b]! - own[a]! || a - b);
  const best = order[0]!;
  if (temperature === 0) return { best, kept: [best], weights: [] };
  const distances = own.map((logit) =>
    Math.fround(Math.fround(own[best]! - logit) / Math.fround(temperature))
  );
  const weights = Array.from(distances, (it) => Math.floor(Math.exp(-it) * 2 ** 40));
  let limit = Infinity;
  const sum = () =>
    weights.reduce((all, weight, token) => distances[token]! <= limit ? all + weight : all, 0);
  if (topK > 0 && topK < order.length) limit = distances[order[topK - 1]!]!;
  if (topP < 1) {
    let missing = Math.ceil(Math.fround(topP) * sum());
    const last = order.find((token) => (missing -= weights[token]!) <= 0)!;
    limit = Math.min(limit, distances[last]!);
  }
  if (minP > 0) limit = Math.min(limit, -Math.log(Math.fround(minP)));
  const kept = [...own.keys()].filter((token) => distances[token]! <= limit);
  return { best, kept, weights };
}

/** Chooses a token of a row of logits. */
export function sampleReference(
  logits: Float32Array,
  settings: SamplingSettings,
  tokens: readonly number[],
): SampledToken {
  const { best, kept, weights } = keptTokens(logits, settings, new Set(tokens));
  const top = logits.reduce((a, b) => Math.max(a, b));
  const sum = logits.reduce((total, logit) => total + Math.exp(logit - top), 0);
  const chosen = (token: number) => ({
    token,
    logProbability: logits[token]! - top - Math.log(sum),
  });
  if (settings.temperature === 0) return chosen(best);
  const total = kept.reduce((all, token) => all + BigInt(weights[token]!), 0n);
  let left = randomBits(BigInt(tokens.length), settings.seed) * total >> 64n;
  return chosen(kept.find((token) => (left -= BigInt(weights[token]!)) < 0n)!);
}
