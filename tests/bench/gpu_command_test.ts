// `deno task gpu` on the host device, with small problems.

import { assert, assertEquals, assertMatch, assertStringIncludes } from "@std/assert";
import type { GpuReport } from "../../bench/report/gpu_report.ts";
import { SHARED_WORK } from "../../bench/report/peers.ts";
import { runFile, type SubprocessResult } from "../support/subprocess.ts";

/** Replaces compute-sanitizer: a memory check runs the program and passes; a race check fails. */
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

/** Runs `deno task gpu --dry` with the replaced compute-sanitizer. */
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
  // A dry run builds nothing, and the host device has no peers.
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
  const goals = [...report.kernelGoals, ...report.launchGoals].map(({ name }) => name);
  assertEquals(goals.length, 8, goals.join());
});

/** Every benchmark has a figure, and so has all work that peers share. */
function assertFigures({ figures }: GpuReport): void {
  const areas = [...new Set(figures.map(({ area }) => area))].sort();
  const expected = "attention cache compile copy ffi kernel launch matmul memory occupancy " +
    "overhead plan pool replay stream tensor ternary upload upstream";
  assertEquals(areas.join(" "), expected);
  const unlikely = figures.filter(({ nanoseconds, fastest }) =>
    !(fastest > 0 && nanoseconds >= fastest && nanoseconds < 10e9)
  );
  assertEquals(unlikely, []);
  // Only GPUs take 256 MiB.
  const missing = SHARED_WORK.filter(({ area, group, title }) =>
    area !== "copy" && !group.startsWith("tensors of 2^26") &&
    !figures.some((figure) =>
      figure.area === area && figure.group.startsWith(group) && figure.title === title
    )
  );
  assertEquals(missing, []);
}

Deno.test("deno task gpu fails when there is no GPU", async () => {
  const { code, stdout, stderr } = await runFile(".ci/gpu.ts", {
    environment: { PATH: "/nonexistent" },
  });
  assertEquals([code, stdout], [1, ""]);
  assertMatch(stderr, /^Nothing was proved on a GPU: there is no nvidia-smi[^\n]*\n$/);
});

Deno.test("deno task gpu --dry refuses to write to bench/results", async () => {
  const { code, stderr } = await runFile(".ci/gpu.ts", { args: ["--dry"] });
  assertEquals(code, 1);
  assertStringIncludes(stderr, "without --output");
});
