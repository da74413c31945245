/**
 * Nanoseconds an index of the access analysis, without and with reuse distances.
 * `bench/report/analysis_goals.ts` has the goals.
 */

import { analyzeAccess } from "../src/lab/analysis/mod.ts";
import { measure, scaled } from "./support/measure.ts";

const COUNT = scaled(2 ** 21, 2 ** 12);

/** The index of an access, and what the pattern is. */
const REGULAR: Readonly<Record<string, (i: number) => number>> = {
  sequential: (i) => i,
  reversed: (i) => COUNT - i,
  broadcast: () => 7,
  "stride 33": (i) => 33 * i,
  "columns of a matrix": (i) => i % 1024 * 1024 + Math.floor(i / 1024),
};

const MIXED: Readonly<Record<string, (i: number) => number>> = {
  "rows of 24": (i) => Math.floor(i / 24) * 1000 + i % 24,
  "tiles of 16 × 16": (i) => (i >> 4 & 15) * 2 ** 14 + (i >> 8) * 16 + (i & 15),
  "rows of 4": (i) => (i >> 2) * 100 + (i & 3),
  "sequential, 1 % at random": (i) => Math.random() < 0.01 ? Math.random() * 2 ** 31 : i,
};

const RANDOM: Readonly<Record<string, (i: number) => number>> = {
  "of 4 Mi": () => Math.random() * 2 ** 22,
  "of 4 Gi": () => Math.random() * 2 ** 32,
  "of 1000": () => Math.random() * 1000,
};

for (
  const [group, patterns] of [
    ["regular patterns", REGULAR],
    ["patterns of runs", MIXED],
    ["random indices", RANDOM],
  ] as const
) {
  for (const [title, index] of Object.entries(patterns)) {
    const indices = Uint32Array.from({ length: COUNT }, (_, i) => index(i));
    measure(title, { group, calls: COUNT }, () => {
      analyzeAccess(indices);
    });
    measure(title, { group: `${group}, with reuse`, calls: COUNT }, () => {
      analyzeAccess(indices, { reuse: true });
    });
  }
}

/** Other arrays of the same indices, which are converted first. */
const kinds = { Int32Array, Uint16Array, Float64Array, BigUint64Array };
for (const [name, Kind] of Object.entries(kinds)) {
  const indices = Kind === BigUint64Array
    ? BigUint64Array.from({ length: COUNT }, (_, i) => BigInt(i))
    : (Kind as typeof Float64Array).from({ length: COUNT }, (_, i) => i % 2 ** 16);
  measure(name, { group: "sequential indices of other types", calls: COUNT }, () => {
    analyzeAccess(indices);
  });
}

const FEW = scaled(64, 2);
const warp = Uint32Array.from({ length: 32 }, (_, i) => i);
measure("analyzeAccess()", { group: "a single warp", calls: FEW }, () => {
  for (let i = 0; i < FEW; i++) analyzeAccess(warp);
});
