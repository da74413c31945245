// `gridstride analyze` with files, strides and lists of indices.

import "../support/cache_directory.ts";
import { assert, assertEquals, assertMatch, assertStringIncludes } from "@std/assert";
import { wrapText } from "../../src/cli/format.ts";
import { analyzeAccess } from "../../src/lab/analysis/mod.ts";
import { TemporaryDirectory } from "../support/temporary_file.ts";
import { NPY_DESCRS, writeNpy } from "../../src/device/tensor.ts";
import type { DType } from "../../mod.ts";
import { assertFails, type Output, runInProcess } from "./in_process.ts";

const KEYS =
  "kind,stride,confidence,outliers,requests,sectors,idealSectors,efficiency,bankConflicts,advice";

/** Runs the command with arguments in one text. */
function run(words: string): Promise<Output> {
  return runInProcess(["analyze", ...words.split(" ")]);
}

/** A file with indices. */
function saved(folder: TemporaryDirectory, dtype: DType, array: ArrayBufferView<ArrayBuffer>) {
  const bytes = new Uint8Array(array.buffer, array.byteOffset, array.byteLength);
  const count = bytes.length / (array as Uint32Array).BYTES_PER_ELEMENT;
  return folder.file(writeNpy(NPY_DESCRS[dtype], [count], bytes), `${dtype}.npy`);
}

Deno.test("`analyze` prints a table of the traffic, and advice", async () => {
  const { code, stdout, stderr } = await run("--stride 2");
  assertEquals([code, stderr], [0, ""]);
  const advice = analyzeAccess(Uint32Array.from({ length: 1024 }, (_, i) => 2 * i)).advice;
  assert(advice !== "");
  assertEquals(
    stdout,
    `stride 2: 1024 accesses of 4 B, strided by 2

                                 all  per request  ideal
───────────────────────────────  ───  ───────────  ─────
requests                          32
sectors of 32 bytes              256            8      4
lines of 128 bytes                64            2
bank conflicts in shared memory   32            1      0

coalescing efficiency 50 %

${wrapText(advice)}
`,
  );
});

Deno.test("`analyze --json` prints the figures of `analyzeAccess()`", async () => {
  using folder = new TemporaryDirectory();
  const indices = Uint32Array.from({ length: 4096 }, (_, i) => (i * 7919) % 4096);
  const file = saved(folder, "uint32", indices);
  const { code, stdout, stderr } = await run(`${file} --element-bytes 8 --offset 32 --json`);
  assertEquals([code, stderr], [0, ""]);
  const figures = JSON.parse(stdout);
  assertEquals(Object.keys(figures).join(), KEYS);
  const { requests, sectors, advice } = figures;
  const expected = analyzeAccess(indices, { elementBytes: 8, offset: 32 });
  assertEquals(
    figures,
    Object.fromEntries(Object.entries(expected).filter(([key]) => key in figures)),
  );
  assertEquals([requests, sectors, advice], [128, expected.sectors, expected.advice]);
});

Deno.test("`analyze` prints the same for a file, a list and a stride", async () => {
  using folder = new TemporaryDirectory();
  const values = Array.from({ length: 100 }, (_, i) => 5 * (99 - i));
  const files = [
    saved(folder, "int16", Int16Array.from(values)),
    saved(folder, "int64", BigInt64Array.from(values, BigInt)),
    saved(folder, "float64", Float64Array.from(values)),
  ];
  const sources = [...files, `--indices ${values.join(",")}`, "--stride -5 --count 100"];
  const printed: (readonly [number, string])[] = [];
  for (const source of sources) {
    const { code, stdout } = await run(`${source} --json`);
    printed.push([code, stdout]);
  }
  assertEquals(printed, printed.map(() => printed[0]!));
  assertEquals(JSON.parse(printed[0]![1]).stride, -5);
});

Deno.test("`analyze --count` limits the indices", async () => {
  using folder = new TemporaryDirectory();
  const file = saved(folder, "uint8", Uint8Array.from({ length: 200 }, (_, i) => i % 50));
  const first = JSON.parse((await run(`${file} --count 50 --json`)).stdout);
  assertEquals([first.kind, first.requests], ["sequential", 2]);
  const none = await run(`${file} --count 0`);
  assertEquals(none.code, 0);
  assertMatch(none.stdout, /0 accesses of 4 B, empty\n[^]*requests +0\n[^]*efficiency 100 %/);
  const constant = JSON.parse((await run("--stride 0 --count 64 --json")).stdout);
  assertEquals([constant.kind, constant.sectors], ["broadcast", 2]);
});

Deno.test("`analyze --reuse` prints a histogram of reuse distances", async () => {
  const twice = [
    ...Array.from({ length: 64 }, (_, i) => i),
    ...Array.from({ length: 64 }, (_, i) => i),
  ];
  const { stdout } = await run(`--indices ${twice.join(",")} --reuse`);
  assertMatch(stdout, /^1 +50 % +█{12}$/m);
  assertMatch(stdout, /^first access +50 % +█{12}$/m);
  const { reuse } = JSON.parse((await run(`--indices ${twice.join(",")} --reuse --json`)).stdout);
  assertEquals([reuse.counts, reuse.firstTouches, reuse.sampled], [[0, 2], 2, 1]);
});

Deno.test("`analyze --shared` prints bank conflicts instead of sectors", async () => {
  const { code, stdout } = await run("--stride 32 --shared --count 32");
  assertEquals(code, 0);
  assertMatch(stdout, /^bank conflicts +31 +31 +0$/m);
  assertMatch(stdout, /would cost 31 wavefronts [^]*pad the\sstride of 32 elements to 33/);
  assert(!stdout.includes("sector"), stdout);
  const padded = await run("--stride 33 --shared --json");
  assertEquals([JSON.parse(padded.stdout).bankConflicts, JSON.parse(padded.stdout).advice], [
    0,
    "",
  ]);
});

Deno.test("`analyze --picture` writes an SVG file or a page", async () => {
  using folder = new TemporaryDirectory();
  for (const [name, begin] of [["a.svg", "<svg "], ["b.html", "<!doctype html>"]] as const) {
    for (const option of ["", " --shared", " --element-bytes 12 --count 7"]) {
      const file = `${folder.path}/${name}`;
      const { code, stdout, stderr } = await run(`--stride 3 --json --picture ${file}${option}`);
      assertEquals([code, stderr, JSON.parse(stdout).stride], [0, "", 3]);
      const text = await Deno.readTextFile(file);
      assert(text.startsWith(begin), text.slice(0, 100));
      assertStringIncludes(text, "stride 3");
    }
  }
});

Deno.test("`analyze` exits with 1 for an unreadable file and for invalid indices", async () => {
  using folder = new TemporaryDirectory();
  const fraction = saved(folder, "float32", Float32Array.of(0, 1, 1.5));
  const negative = saved(folder, "int32", Int32Array.of(0, -1));
  const text = folder.file(new TextEncoder().encode("0 1 2"), "text.npy");
  const cases = [
    [fraction, /float32\.npy: .*index at position 2 must be an integer.*: it is 1\.5/],
    [negative, /int32\.npy: .*index at position 1 must be an integer.*: it is -1/],
    [text, /Cannot analyze .*text\.npy as it is not an \.npy file/],
    ["/nowhere/a.npy --count 0", /^Cannot read \/nowhere\/a\.npy: No such file or directory/],
    [folder.path, /^Cannot read .*: Is a directory/],
    ["/dev/null", /^Cannot read \/dev\/null: it is a device\n$/],
    [
      "--stride 1 --picture /nowhere/a.svg",
      /^Cannot write the result as "\/nowhere\/a\.svg" cannot be written: No such file/,
    ],
  ] as const;
  for (const [words, message] of cases) {
    const { code, stdout, stderr } = await run(words);
    assertEquals([code, stdout], [1, ""], words);
    assertMatch(stderr, message);
  }
});

Deno.test("`analyze` exits with 2 for invalid options", async () => {
  await assertFails(2, run, [
    ["--json", "one of FILE.npy, --stride and --indices: there are 0"],
    ["a.npy --stride 2", "one of FILE.npy, --stride and --indices: there are 2"],
    ["a.npy b.npy", "too many arguments for 'analyze'"],
    [
      "--stride two",
      'Cannot use --stride as it must be an integer in -9007199254740991..9007199254740991: it is "two"',
    ],
    ["--stride 1.5", 'it is "1.5"'],
    ["--stride 9007199254740993 --count 1", 'it is "9007199254740993"'],
    ["--stride 9007199254740991 --count 3", "3 indices must stay below 2^53"],
    ["--indices 1,2,x", 'such as 0,1,2: it is "x"'],
    ["--indices 1,,2", 'it is ""'],
    ["--indices -1", 'it is "-1"'],
    ["--indices 9007199254740992", 'it is "9007199254740992"'],
    ["--stride 1 --count -1", "Cannot use --count as it must be an integer in 0.."],
    [
      "--stride 1 --element-bytes 3",
      'Cannot use --element-bytes as it must be one of 1, 2, 4, 8, 12, 16: it is "3"',
    ],
    ["--stride 1 --element-bytes 32", 'must be one of 1, 2, 4, 8, 12, 16: it is "32"'],
    ["--stride 1 --offset 4 --shared", "Cannot use --offset with --shared"],
    ["--stride 1 --picture a.png", 'a file name that ends in .svg or .html: it is "a.png"'],
    ["--stride 1 --threads 3", "unknown option '--threads'"],
  ]);
});
