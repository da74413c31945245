// `gridstride tune`. The tests share a compile cache to compile each source once.

import { assert, assertEquals, assertStringIncludes, assertThrows } from "@std/assert";
import { UsageError } from "../../src/cli/command.ts";
import { describeTuning } from "../../src/cli/tune.ts";
import { type Macros, readConfigurations, readLaunch } from "../../src/cli/tune_configurations.ts";
import type { TuningRow } from "../../src/lab/tuning/mod.ts";
import { readNpy } from "../../src/device/tensor.ts";
import { device } from "../support/device.ts";
import { repositoryPath, runCommandLine } from "../support/subprocess.ts";
import { TemporaryDirectory } from "../support/temporary_file.ts";
import { assertFails, type Output, runInProcess, useTemporaryCache } from "./in_process.ts";

const SOURCE = repositoryPath("tests/cli/fixtures/tuned.cu");
const LENGTH = 2000;

const cache = useTemporaryCache();

interface Row {
  readonly configuration: Readonly<Record<string, number | string>>;
  readonly medianMicroseconds: number | null;
  readonly failed: boolean;
  readonly best: boolean;
  readonly reason?: string;
}

function argumentsFor(folder: TemporaryDirectory): string[] {
  const arrays = ["x", "y"].map((name) => `out:float32[${LENGTH}]@${folder.path}/${name}.npy`);
  return ["spend(const float* x, float* y, int n)", ...arrays, String(LENGTH)];
}

function tune(args: readonly string[], source = SOURCE): Promise<Output> {
  return runInProcess(["tune", source, ...args, "--device", device.label]);
}

async function rows(args: readonly string[]): Promise<Row[]> {
  const { code, stdout, stderr } = await tune([...args, "--json"]);
  assertEquals([code, stderr], [0, ""]);
  return JSON.parse(stdout);
}

Deno.test("`tune` finds the fastest macros, writes the result of one launch, and stores the choice", async () => {
  using folder = new TemporaryDirectory();
  const args = [...argumentsFor(folder), "--tune", "ROUNDS=20000,10"];
  const found = await rows(args);
  assertEquals(found.map(({ configuration, failed, best }) => ({ configuration, failed, best })), [
    { configuration: { ROUNDS: 20000 }, failed: false, best: false },
    { configuration: { ROUNDS: 10 }, failed: false, best: true },
  ]);
  assert(found[0]!.medianMicroseconds! > found[1]!.medianMicroseconds!);
  const { bytes } = readNpy(Deno.readFileSync(`${folder.path}/y.npy`));
  assertEquals(new Set(new Float32Array(bytes.slice().buffer)), new Set([1]));
  // Another process finds the stored result.
  const { code, stdout, stderr } = await runCommandLine(
    ["tune", SOURCE, ...args, "--device", device.label],
    { GRIDSTRIDE_CACHE_DIR: cache },
  );
  assertEquals([code, stderr], [0, ""]);
  const label = device.info.fake ? `${device.label} (fake)` : device.label;
  assertStringIncludes(stdout, `best on ${label}: ROUNDS=10 (stored result; --fresh times again)`);
});

Deno.test("`tune` combines macros, evaluates launch parameters, and reports failures", async () => {
  using folder = new TemporaryDirectory();
  const args = [
    ...argumentsFor(folder),
    ...["--tune", "ROUNDS=10,0", "--tune", "BLOCK=64,2048", "--block", "BLOCK"],
    ...["--grid", "ceil(elements / BLOCK)", "--repeat", "8"],
  ];
  const found = await rows(args);
  assertEquals(found.map(({ configuration }) => configuration), [
    { ROUNDS: 10, BLOCK: 64 },
    { ROUNDS: 10, BLOCK: 2048 },
    { ROUNDS: 0, BLOCK: 64 },
    { ROUNDS: 0, BLOCK: 2048 },
  ]);
  assertEquals(found.map(({ failed, best }) => [failed, best]), [
    [false, true],
    [true, false],
    [true, false],
    [true, false],
  ]);
  assertEquals(found[1]!.medianMicroseconds, null);
  assertStringIncludes(found[1]!.reason!, "block.x must be an integer in 1..1024: it is 2048");
  assertStringIncludes(found[2]!.reason!, "at least one round");
  const { code, stdout } = await tune(args);
  assertEquals(code, 0);
  for (const text of ["ROUNDS", "BLOCK", "× best", "→", "failed", `: ROUNDS=10 BLOCK=64`]) {
    assertStringIncludes(stdout, text);
  }
});

Deno.test("`tune --configurations` reads a file", async () => {
  using folder = new TemporaryDirectory();
  const file = folder.file(
    new TextEncoder().encode('[{"ROUNDS": 10}, {"ROUNDS": 900, "OTHER": "text"}]'),
    "configurations.json",
  );
  const [first, second] = await rows([
    ...argumentsFor(folder),
    ...["--configurations", file, "--fresh", "--repeat", "8"],
  ]);
  assertEquals([first!.best, second!.configuration], [true, { ROUNDS: 900, OTHER: "text" }]);
});

Deno.test("`tune` exits with 1 and all reasons if every configuration fails", async () => {
  using folder = new TemporaryDirectory();
  const { code, stdout, stderr } = await tune([
    ...argumentsFor(folder),
    ...["--tune", "BLOCK=2048,4096", "--block", "BLOCK", "--define", "ROUNDS=10", "--fresh"],
  ]);
  assertEquals([code, stdout], [1, ""]);
  assertStringIncludes(stderr, "as all 2 configurations fail:");
  assertStringIncludes(stderr, '{"BLOCK":4096}: RangeError: ');
});

Deno.test("`tune` refuses invalid options and files", async () => {
  using folder = new TemporaryDirectory();
  const right = argumentsFor(folder);
  const bad = folder.file(new TextEncoder().encode('[{"ROUNDS": [1]}]'), "bad.json");
  const rounds = ["--tune", "ROUNDS=1"];
  await assertFails(2, tune, [
    [right, "Cannot run gridstride tune as there must be either --tune or --configurations"],
    [right, "--tune BLOCK=64,128,256,512 --block BLOCK"],
    [[...right, ...rounds, "--configurations", bad], "either --tune or --configurations"],
    [[...right, "--tune", "ROUNDS"], "Cannot use --tune as it must be NAME=VALUE"],
    [[...right, "--tune", "1=2"], "Cannot use --tune as it must be NAME=VALUE"],
    [[...right, "--tune", "A=1,,2"], "Cannot use --tune as it must be NAME=VALUE"],
    [[...right, ...rounds, ...rounds], "ROUNDS is given twice"],
    [[...right, "--tune", "ROUNDS=1,2,1"], "different values of ROUNDS: it is"],
    [[...right, "--tune", "elements=1"], "Cannot tune the macro elements"],
    [[...right, ...rounds, "--define", "ROUNDS=2"], "for the macro ROUNDS as it is tuned"],
    [
      [...right, ...rounds, "--block", "WARP"],
      '"WARP" is neither a number, an operator nor one of ROUNDS, elements',
    ],
    [[...right, ...rounds, "--repeat", "0"], "--repeat"],
    [
      [...right, "--tune", "block=64,128"],
      "Cannot tune block as neither the source nor --block, --grid and --shared use it",
    ],
  ]);
  await assertFails(1, tune, [
    [[...right, ...rounds, "--block", "1,2"], "Cannot launch without --grid"],
    [[...right, ...rounds, "--grid", "1,2,3,4"], "--grid as it must be 1 to 3 integers"],
    [[...right, ...rounds, "--shared", "1,2"], "--shared as it must be one integer"],
    [[...right, "--configurations", bad], "element 0 is not an object with numbers and texts"],
    [[...right, "--configurations", `${folder.path}/none.json`], "Cannot read"],
  ]);
  assertEquals((await runInProcess(["tune"])).code, 2);
  const help = await runInProcess(["tune", "--help"]);
  assertEquals(help.code, 0);
  assertStringIncludes(help.stdout, "--tune <NAME=V,V");
});

function configurationsOf(...tune: readonly string[]) {
  return readConfigurations({ json: false, options: {}, lists: { tune }, positional: [] });
}

Deno.test("`readConfigurations()` reads numbers that C++ reads alike", async () => {
  const values: readonly (readonly [string, number | string])[] = [
    ["0", 0],
    ["7", 7],
    ["-3", -3],
    ["9007199254740991", 9007199254740991],
    ["9007199254740993", "9007199254740993"],
    // Octal.
    ["010", "010"],
    ["-010", "-010"],
    ["-0", "-0"],
    ["0x20", "0x20"],
    ["1e3", "1e3"],
    ["float", "float"],
  ];
  for (const [text, value] of values) {
    assertEquals(await configurationsOf(`A=${text}`), [{ A: value }], text);
  }
  assertEquals(await configurationsOf("A=10,010"), [{ A: 10 }, { A: "010" }]);
});

Deno.test("`readConfigurations()` combines the values of several macros", async () => {
  assertEquals(await configurationsOf("A=1,2", "B=x, y"), [
    { A: 1, B: "x" },
    { A: 1, B: "y" },
    { A: 2, B: "x" },
    { A: 2, B: "y" },
  ]);
});

const NAMES = { BLOCK: 128, TILE_2: 3 };

function gridOf(text: string) {
  const invocation = { json: false, options: { grid: text }, lists: {}, positional: [] };
  return readLaunch(invocation, [NAMES]).of(NAMES, 1000).grid;
}

Deno.test("`readLaunch()` evaluates expressions", () => {
  for (
    const [text, expected] of [
      ["256", [256]],
      ["2 + 3*4 - 1", [13]],
      ["(2+3)*4", [20]],
      ["10-4-3", [3]],
      ["100/8/2.5", [5]],
      ["17 % 5 * 2", [4]],
      ["ceil(elements / BLOCK)", [8]],
      ["floor(elements / (BLOCK*TILE_2)), max(1, TILE_2 - 5, 2), min(9,8)", [2, 2, 8]],
      [" BLOCK , 1 ", [128, 1]],
    ] as const
  ) {
    assertEquals<unknown>(gridOf(text), expected, text);
  }
});

Deno.test("`readLaunch()` refuses anything but expressions", () => {
  for (const text of ["1 +", "1 2", "(1", "1)", "ceil 1", "*2", "1 // 2"]) {
    const error = assertThrows(() => gridOf(text), UsageError, "it must be an expression such as");
    assertStringIncludes(error.message, `in "${text}"`);
  }
  for (
    const text of ["1 $ 2", "block", "toString", "globalThis", "BLOCK = 1", "'a'", "`a`", "1n"]
  ) {
    assertThrows(() => gridOf(text), UsageError, "is neither a number, an operator nor one of");
  }
  for (const text of ["0", "1.5", "elements / BLOCK", "", "1,,2", "1,2,3,4", "ceil", "1/0"]) {
    assertThrows(() => gridOf(text), RangeError, "Cannot use --grid as it must be 1 to 3 integers");
  }
});

function rowOf(
  tile: number,
  samples: readonly number[],
  more: Partial<TuningRow<Macros>> = {},
): TuningRow<Macros> {
  const sorted = samples.toSorted((one, other) => one - other);
  return {
    configuration: { TILE: tile },
    medianMicroseconds: sorted.length === 0 ? Infinity : sorted[sorted.length >> 1]!,
    failed: samples.length === 0,
    samples,
    stoppedEarly: false,
    refuted: false,
    ...more,
  };
}

Deno.test("`describeTuning()` lists the best first, and compares common rounds", () => {
  const fast = [10, 11, 10];
  // The clock halved after the others had stopped.
  const best = rowOf(16, [...fast, 20, 21, 22, 21, 20, 22]);
  const dropped = rowOf(8, [15, 16, 15], { stoppedEarly: true });
  const refuted = rowOf(32, [9, 9, 9, 19, 19, 19, 19, 19, 19], { refuted: true });
  const failed = rowOf(64, [], { reason: "RangeError: too large\n    and more" });
  const noisy = rowOf(128, [9, 10, 11, 19, 19, 20, 21, 22, 23]);
  const later = rowOf(256, [12, 13, 14]);
  const text = describeTuning({
    device: "host:0 (fake)",
    fake: true,
    best: best.configuration,
    origin: "timed",
    report: [failed, dropped, refuted, noisy, later, best],
  });
  assertEquals(
    text,
    `   TILE      µs  × best
─  ────  ──────  ──────  ──────────────────────────────────────────────
→    16   20.00    1.00
     32   19.00    0.95  not faster than the first one when timed again
    128   19.00    0.95  not certainly faster: within the noise
    256   13.00    1.30  slower in the rounds of both
      8   15.00    1.50  stopped early
     64  failed          RangeError: too large

best on host:0 (fake): TILE=16 (timed now)`,
  );
});
