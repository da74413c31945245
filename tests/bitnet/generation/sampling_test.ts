// Tokens that the device chooses, beside a reference that sorts.

import { assert, assertAlmostEquals, assertEquals } from "@std/assert";
import { Sampler } from "../../../src/bitnet/generation/sampling.ts";
import type { SamplingSettings } from "../../../src/bitnet/generation/settings.ts";
import { fromTypedArray } from "../../../src/device/tensor.ts";
import { forms } from "../../support/tensor_forms.ts";
import { sampleReference } from "./sampling_reference.ts";

const DEFAULTS: SamplingSettings = {
  temperature: 1,
  topK: 0,
  topP: 1,
  minP: 0,
  repetitionPenalty: 1,
  seed: 1n,
};

/** Settings alone and together, at the edges of their ranges. */
const SETTINGS: readonly Partial<SamplingSettings>[] = [
  { temperature: 0 },
  { temperature: 0, repetitionPenalty: 3 },
  {},
  { temperature: 0.3 },
  { temperature: 1e-6 },
  { temperature: 50 },
  { topK: 1 },
  { topK: 2 },
  { topK: 17, temperature: 3 },
  { topK: 100000 },
  { topP: 0.9 },
  { topP: 0.5, temperature: 2 },
  { topP: 1e-9 },
  { minP: 0.2 },
  { minP: 1 },
  { topK: 30, topP: 0.7, minP: 0.01, temperature: 1.5 },
  { repetitionPenalty: 1.7 },
  { repetitionPenalty: 0.5, topK: 5 },
  { seed: 2n ** 64n - 1n },
];

/** Random logits with many equal ones: multiples of 1/16 of a normal number. */
function logitsOf(rows: number, columns: number, seed: number): Float32Array<ArrayBuffer> {
  let state = seed;
  const unit = () => {
    state = (Math.imul(state, 1664525) + 1013904223) >>> 0;
    return (state + 0.5) / 2 ** 32;
  };
  return Float32Array.from(
    { length: rows * columns },
    () => Math.round(48 * Math.sqrt(-2 * Math.log(unit())) * Math.cos(2 * Math.PI * unit())) / 16,
  );
}

for (const [form, device] of forms) {
  Deno.test(`Sampler chooses the tokens of a reference in ${form}`, async () => {
    for (const [columns, vocabulary] of [[3001, 2999], [5, 8], [1, 1]] as const) {
      const rows = SETTINGS.length;
      const logits = logitsOf(rows, columns, columns);
      // Those of no token of the vocabulary would be taken by far.
      for (let at = 0; at < logits.length; at++) {
        if (at % columns >= vocabulary) logits[at] = 100;
      }
      // Equal best ones, and negative ones only.
      for (let at = 0; at < columns; at++) {
        logits[at] = Math.min(logits[at]!, 1.5);
        logits[columns + at]! -= at % columns < vocabulary ? 20 : 0;
      }
      using sampler = new Sampler(device.context, rows, columns, vocabulary);
      using x = fromTypedArray(logits, [rows, columns], { device });
      const limit = Math.min(columns, vocabulary);
      const texts = SETTINGS.map((_, row) =>
        Array.from({ length: 40 }, (_, at) => (row + 7 * at * at) % limit)
      );
      texts.forEach((tokens, row) => sampler.remember(row, tokens));
      // Each draw is remembered for the next one.
      for (let draw = 0; draw < 3; draw++) {
        const all = SETTINGS.map((own, slot) => ({
          settings: { ...DEFAULTS, ...own },
          slot,
          draw: texts[slot]!.length,
        }));
        const chosen = await sampler.choose(x, all);
        for (const [row, { token, logProbability }] of chosen.entries()) {
          const own = logits.subarray(row * columns, row * columns + limit);
          const wanted = sampleReference(own, all[row]!.settings, texts[row]!);
          const name = `row ${row}, draw ${draw} of ${columns}`;
          assertEquals(token, wanted.token, name);
          assertAlmostEquals(logProbability, wanted.logProbability, 2e-5, name);
          texts[row]!.push(token);
        }
      }
    }
  });
}

Deno.test("Sampler draws tokens as often as they are likely", async () => {
  const [device] = [...forms.values()];
  const columns = 4;
  const draws = 2000;
  const logits = Float32Array.from({ length: draws * columns }, (_, at) => at % columns);
  using sampler = new Sampler(device!.context, draws, columns, columns);
  using x = fromTypedArray(logits, [draws, columns], { device: device! });
  const settings = { ...DEFAULTS, topK: 3 };
  const chosen = await sampler.choose(
    x,
    Array.from({ length: draws }, (_, draw) => ({ settings, slot: draw, draw })),
  );
  const counts = [0, 0, 0, 0];
  for (const { token } of chosen) counts[token]!++;
  const weights = [0, Math.exp(1), Math.exp(2), Math.exp(3)];
  const sum = weights.reduce((a, b) => a + b);
  assertEquals(counts[0], 0);
  const deviation = weights.slice(1).reduce((total, weight, at) => {
    const wanted = draws * weight / sum;
    return total + (counts[at + 1]! - wanted) ** 2 / wanted;
  }, 0);
  // Of two degrees of freedom: larger once in 1000 times, and these draws are always the same.
  assert(deviation < 13.8, `${counts} have a deviation of ${deviation}`);
});

Deno.test("Sampler leaves rows without a sequence as they are", async () => {
  const [device] = [...forms.values()];
  using sampler = new Sampler(device!.context, 2, 4, 4);
  using x = fromTypedArray(logitsOf(2, 4, 3), [2, 4], { device: device! });
  const row = { settings: { ...DEFAULTS, temperature: 0 }, slot: 1, draw: 0 };
  const [, chosen] = await sampler.choose(x, [undefined, row]);
  assertEquals([...await sampler.fed.toArray()], [0, chosen!.token]);
});
