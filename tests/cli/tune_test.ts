// Tuning from the command line: one process of its own, the others by the same entry point in this
// one. They share one compile cache, so that each source is compiled once.

import { assert, assertEquals, assertStringIncludes } from "@std/assert";
import { readNpy } from "../../src/cli/npy.ts";
import { configureKernelCache } from "../../mod.ts";
import { device } from "../support/device.ts";
import { repositoryPath, runCommandLine } from "../support/subprocess.ts";
import { TemporaryDirectory } from "../support/temporary_file.ts";
import { type Output, runInProcess } from "./in_process.ts";

const SOURCE = repositoryPath("tests/cli/fixtures/tuned.cu");
const LENGTH = 2000;

const cache = Deno.makeTempDirSync();
globalThis.addEventListener("unload", () => Deno.removeSync(cache, { recursive: true }));
configureKernelCache({ directory: `${cache}/kernels` });

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

Deno.test("tune finds the macros that make a kernel fastest, and writes what one launch makes", async () => {
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
  // Known from now on, also to another process.
  const { code, stdout, stderr } = await runCommandLine(
    ["tune", SOURCE, ...args, "--device", device.label],
    { GRIDSTRIDE_CACHE_DIR: cache },
  );
  assertEquals([code, stderr], [0, ""]);
  assertStringIncludes(stdout, "best: ROUNDS=10 (known from before; --fresh times again)");
});

Deno.test("tune takes combinations, launch parameters by name, and reports what fails", async () => {
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
  assertStringIncludes(found[1]!.reason!, "block.x must be in 1..1024: it is 2048");
  assertStringIncludes(found[2]!.reason!, "at least one round");
  const { code, stdout } = await tune(args);
  assertEquals(code, 0);
  for (const text of ["ROUNDS", "BLOCK", "× best", "→", "failed", "best: ROUNDS=10 BLOCK=64"]) {
    assertStringIncludes(stdout, text);
  }
});

Deno.test("tune reads configurations from a file, whose names may differ", async () => {
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

Deno.test("tune without a configuration that runs is exit code 1 and says why of each", async () => {
  using folder = new TemporaryDirectory();
  const { code, stdout, stderr } = await tune([
    ...argumentsFor(folder),
    ...["--tune", "BLOCK=2048,4096", "--block", "BLOCK", "--define", "ROUNDS=10", "--fresh"],
  ]);
  assertEquals([code, stdout], [1, ""]);
  assertStringIncludes(stderr, "as all 2 configurations fail:");
  assertStringIncludes(stderr, '{"BLOCK":4096}: RangeError: ');
});

Deno.test("tune refuses what it does not understand before it compiles anything", async () => {
  using folder = new TemporaryDirectory();
  const right = argumentsFor(folder);
  const bad = folder.file(new TextEncoder().encode('[{"ROUNDS": [1]}]'), "bad.json");
  const rounds = ["--tune", "ROUNDS=1"];
  for (
    const [args, expected, message] of [
      [right, 2, "Cannot tune as the configurations are needed"],
      [
        [...right, ...rounds, "--configurations", bad],
        2,
        "either by --tune or by --configurations",
      ],
      [[...right, "--tune", "ROUNDS"], 2, "Cannot use --tune as it must be NAME=VALUE"],
      [[...right, "--tune", "1=2"], 2, "Cannot use --tune as it must be NAME=VALUE"],
      [[...right, "--tune", "A=1,,2"], 2, "Cannot use --tune as it must be NAME=VALUE"],
      [[...right, ...rounds, ...rounds], 2, "ROUNDS is given twice"],
      [[...right, "--tune", "ROUNDS=1,2,1"], 2, "ROUNDS must have different values: 1 is twice"],
      [[...right, "--tune", "elements=1"], 2, "no macro may be called elements"],
      [[...right, ...rounds, "--define", "ROUNDS=2"], 2, "ROUNDS is tuned"],
      [[...right, ...rounds, "--block", "WARP"], 2, '"WARP" is none of ROUNDS, elements'],
      [[...right, ...rounds, "--block", "1,2"], 2, "--grid must be given"],
      [[...right, ...rounds, "--grid", "1,2,3,4"], 2, "one to three extents"],
      [[...right, ...rounds, "--shared", "1,2"], 2, "--shared as it must be one number"],
      [[...right, ...rounds, "--repeat", "0"], 2, "--repeat"],
      [[...right, "--configurations", bad], 1, "element 0 is no object of names"],
      [[...right, "--configurations", `${folder.path}/none.json`], 1, "Cannot read"],
      [[], 2, "the kernel is missing"],
    ] as const
  ) {
    const { code, stdout, stderr } = await tune(args);
    assertEquals([code, stdout], [expected, ""], stderr);
    assertStringIncludes(stderr, message);
  }
  assertEquals((await runInProcess(["tune"])).code, 2);
  const help = await runInProcess(["tune", "--help"]);
  assertEquals(help.code, 0);
  assertStringIncludes(help.stdout, "--tune NAME=V,V");
});
