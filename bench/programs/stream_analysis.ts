/**
 * Analyses 10^9 indices piece by piece: prints nanoseconds an index and how many bytes the process
 * grew after the first tenth of them, as JSON.
 */

import { AccessAnalyzer } from "../../src/lab/analysis/mod.ts";

const COUNT = 1e9;
const PIECE = 2 ** 20;

const analyzer = new AccessAnalyzer();
const piece = new Uint32Array(PIECE);
let made = 0;
let milliseconds = 0;

/** Adds the next indices. */
function addPiece(): void {
  const count = Math.min(PIECE, COUNT - made);
  for (let i = 0; i < count; i++) piece[i] = made + i;
  const start = performance.now();
  analyzer.add(piece.subarray(0, count));
  milliseconds += performance.now() - start;
  made += count;
}

while (made < COUNT / 10) addPiece();
const before = Deno.memoryUsage();
while (made < COUNT) addPiece();
const after = Deno.memoryUsage();
const { kind, count, sectors } = analyzer.report();
if (kind !== "sequential" || count !== COUNT || sectors !== COUNT / 8) {
  throw new Error(`The analysis is wrong: ${kind}, ${count}, ${sectors}`);
}
console.log(JSON.stringify({
  nanoseconds: milliseconds * 1e6 / COUNT,
  grown: Math.max(0, after.rss - before.rss),
}));
