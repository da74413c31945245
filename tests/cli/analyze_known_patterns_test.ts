// Patterns whose sectors a request and wavefronts are known, typed as anybody would type them: the
// command prints the same counts.

import "../support/cache_directory.ts";
import { assertAlmostEquals, assertEquals } from "@std/assert";
import { runInProcess } from "./in_process.ts";

async function figures(words: string): Promise<Record<string, number>> {
  const { code, stdout, stderr } = await runInProcess(["analyze", ...words.split(" "), "--json"]);
  assertEquals([code, stderr], [0, ""], words);
  return JSON.parse(stdout);
}

const list = (count: number, index: (i: number) => number) =>
  `--indices ${Array.from({ length: count }, (_, i) => index(i)).join(",")}`;

Deno.test("sectors a request of known patterns", async () => {
  const known: readonly (readonly [string, number])[] = [
    ["--stride 1", 4],
    ["--stride -1", 4],
    ["--stride 1 --offset 4", 5],
    [list(320, (i) => i + 1), 5],
    ["--stride 2", 8],
    ["--stride 8", 32],
    ["--stride 32", 32],
    ["--stride 1 --element-bytes 16", 16],
    ["--stride 1 --element-bytes 8", 8],
    ["--stride 1 --element-bytes 2", 2],
    ["--stride 1 --element-bytes 1", 1],
    ["--stride 0", 1],
    // Rows of a naive transpose: lanes store down a column.
    [list(1024, (i) => i % 32 * 1024 + (i >> 5)), 32],
  ];
  for (const [words, sectors] of known) {
    const report = await figures(words);
    assertEquals(report["sectors"]! / report["requests"]!, sectors, words);
  }
  const three = await figures("--stride 1 --element-bytes 12 --count 320");
  assertEquals([three["requests"], three["sectors"]], [3 * 10, 3 * 10 * 12]);
});

Deno.test("random indices touch almost as many sectors as there are lanes", async () => {
  const scattered = (i: number) => {
    const mixed = Math.imul(i + 1 ^ i + 1 >>> 7, 0x9e3779b1);
    return (Math.imul(mixed ^ mixed >>> 15, 0x85ebca6b) >>> 0) % 2 ** 17;
  };
  const { sectors, requests } = await figures(list(8000, scattered));
  assertAlmostEquals(sectors! / requests!, 31.97, 0.03);
});

Deno.test("wavefronts in shared memory of known patterns", async () => {
  // Those that a request takes without a conflict are 1, of 8 bytes 2 and of 16 bytes 4.
  const known: readonly (readonly [string, number])[] = [
    ["--stride 1", 1 - 1],
    ["--stride 2", 2 - 1],
    ["--stride 4", 4 - 1],
    ["--stride 32", 32 - 1],
    ["--stride 33", 1 - 1],
    ["--stride 0", 1 - 1],
    ["--stride 1 --element-bytes 16", 4 - 4],
    ["--stride 1 --element-bytes 8", 2 - 2],
    ["--stride 2 --element-bytes 8", 4 - 2],
    ["--stride 1 --element-bytes 1", 1 - 1],
    // The columns of a tile of 32 × 32, and of one whose rows are padded.
    [list(1024, (i) => i % 32 * 32 + (i >> 5)), 32 - 1],
    [list(1024, (i) => i % 32 * 33 + (i >> 5)), 1 - 1],
  ];
  for (const [words, conflicts] of known) {
    const report = await figures(`${words} --shared`);
    assertEquals(report["bankConflicts"]! / report["requests"]!, conflicts, words);
  }
});
