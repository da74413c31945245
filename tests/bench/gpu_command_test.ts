/**
 * `deno task gpu` from its beginning to its end, on the host device and on small problems.
 */

import { assert, assertEquals, assertMatch, assertStringIncludes } from "@std/assert";
import type { GpuReport } from "../../bench/report/gpu_report.ts";
import { SHARED_WORK } from "../../bench/report/peers.ts";
import { repositoryPath, runFile, type SubprocessResult } from "../support/subprocess.ts";

/**
 * Stands in for compute-sanitizer: as a memory check it leaves out the options, runs the program
 * and is content; as a race check it complains.
 */
const SANITIZER = `#!/bin/sh
if [ "$1" = --tool=racecheck ]; then
  echo "========= Error: Race reported"
  exit 99
fi
while [ "\${1#--}" != "$1" ]; do shift; done
"$@" || exit
echo "========= ERROR SUMMARY: 0 errors"
`;

interface DryRun extends SubprocessResult {
  readonly report: GpuReport;
  readonly page: string;
}

/** Runs it with a compute-sanitizer of the test's own. */
async function dryRun(...args: string[]): Promise<DryRun> {
  const directory = await Deno.makeTempDir();
  try {
    const program = `${directory}/cuda/bin/compute-sanitizer`;
    await Deno.mkdir(`${directory}/cuda/bin`, { recursive: true });
    await Deno.writeTextFile(program, SANITIZER, { mode: 0o755 });
    const result = await runFile(".ci/gpu.ts", {
      args: ["--dry", "--device", "host", "--output", `${directory}/results`, ...args],
      environment: { CUDA_HOME: `${directory}/cuda` },
      limit: 120_000,
    });
    const files = [...Deno.readDirSync(`${directory}/results`)].map(({ name }) => name).sort();
    assertEquals(files, ["host-device.json", "host-device.md"]);
    const read = (name: string) => Deno.readTextFileSync(`${directory}/results/${name}`);
    return { ...result, report: JSON.parse(read(files[0]!)), page: read(files[1]!) };
  } finally {
    await Deno.remove(directory, { recursive: true });
  }
}

Deno.test("deno task gpu --dry runs every step and writes a report", async () => {
  const { code, report, page, stdout, stderr } = await dryRun("--commit", "0123abc");
  const outcomes = Object.fromEntries(report.steps.map((step) => [step.name, step]));
  const status = (name: string) => outcomes[name]?.status;
  const passed = ["device", "tests", "examples", "memory check of the kernels", "benchmarks"];
  for (const name of passed) assertEquals(status(name), "passed", stderr);
  // The libraries stay as they are, and there are no peers for the host device.
  for (const name of ["build", "peers"]) assertEquals(status(name), "skipped", stderr);

  const memory = outcomes["memory check of the kernels"]!.detail;
  assertMatch(memory, /^\d+ passed, 0 failed on host:0; ERROR SUMMARY: 0 errors$/);
  assertEquals(status("race check of the kernels"), "failed");
  assertStringIncludes(outcomes["race check of the kernels"]!.detail, "exit status 99");
  assertEquals(code, 1);

  assertEquals(stdout.trim(), page.trim());
  assertStringIncludes(page, "| race check of the kernels | **failed** |");
  assert(report.tests!.passed > 0);
  assertEquals(report.tests!.failed, 0);
  assertEquals([report.device?.kind, report.gpu, report.commit], ["host", null, "0123abc"]);
  assertFigures(report);
  // Figures of a dry run prove nothing, but each goal finds its own.
  assertEquals(report.kernelGoals.map(({ name }) => name), [
    "own time of a launch with four arguments",
    "the same, of the first thousand launches",
    "100 lines to a kernel, compiled",
    "100 lines to a kernel, out of the compile cache, in a fresh process",
  ]);
  assertEquals(report.launchGoals.map(({ name }) => name), [
    "occupancy of a block",
    "launch parameters for elements",
    "the same for rows and columns",
    "the same for a product",
  ]);
});

/** Every benchmark gave a figure, and what peers are compared with is among them. */
function assertFigures({ figures }: GpuReport): void {
  const areas = [...new Set(figures.map(({ area }) => area))].sort();
  assertEquals(areas, [
    "cache",
    "compile",
    "copy",
    "ffi",
    "kernel",
    "launch",
    "memory",
    "occupancy",
    "overhead",
    "plan",
    "pool",
    "replay",
    "stream",
    "upload",
    "upstream",
  ]);
  const unlikely = figures.filter(({ nanoseconds, fastest }) =>
    !(fastest > 0 && nanoseconds >= fastest && nanoseconds < 10e9)
  );
  assertEquals(unlikely, []);
  // Copies of 256 MiB are left to GPUs.
  const missing = SHARED_WORK.filter(({ area, group, title }) =>
    area !== "copy" &&
    !figures.some((figure) =>
      figure.area === area && figure.group.startsWith(group) && figure.title === title
    )
  );
  assertEquals(missing, []);
}

Deno.test("deno task gpu refuses to start without a GPU", async () => {
  const { code, stdout, stderr } = await runFile(".ci/gpu.ts", {
    environment: { PATH: "/nonexistent" },
  });
  assertEquals([code, stdout], [1, ""]);
  assertMatch(stderr, /^Nothing was proved on a GPU: there is no nvidia-smi[^\n]*\n$/);
});

Deno.test("deno task gpu --dry refuses to write to bench/results", async () => {
  for (const args of [["--dry"], ["--device", "host"]]) {
    const { code, stderr } = await runFile(".ci/gpu.ts", { args });
    assertEquals(code, 1);
    assertStringIncludes(stderr, "without --output");
  }
  const { stderr } = await runFile(".ci/gpu.ts", { args: ["--device", "tpu"] });
  assertStringIncludes(stderr, "--device as it must be cuda or host: it is tpu");
});

Deno.test("bench/results contains only results of GPU runs", () => {
  const folder = repositoryPath("bench/results");
  const files = [...readFolder(folder)].filter((name) => name.endsWith(".json"));
  for (const file of files) {
    const report: GpuReport = JSON.parse(Deno.readTextFileSync(`${folder}/${file}`));
    assert(report.gpu !== null && report.device?.kind !== "host", file);
  }
});

function readFolder(folder: string): string[] {
  try {
    return [...Deno.readDirSync(folder)].map(({ name }) => name);
  } catch (error) {
    if (error instanceof Deno.errors.NotFound) return [];
    throw error;
  }
}
