// `deno task gpu` on the host device. `.ci/run` measures all areas in this way.

import { assert, assertEquals, assertMatch, assertStringIncludes } from "@std/assert";
import type { GpuReport } from "../../bench/report/gpu_report.ts";
import { runFile, type SubprocessResult } from "../support/subprocess.ts";
import { TemporaryDirectory } from "../support/temporary_file.ts";

/**
 * Replaces compute-sanitizer: a memory check runs the program and passes, and finds the planted fault; a
 * race check fails.
 */
const SANITIZER = `#!/bin/sh
if [ "$1" = --tool=racecheck ]; then
  echo "========= Error: Race reported"
  exit 99
fi
case "$*" in *planted_faults*)
  echo "=========     at planted_store+0x70"
  echo "========= ERROR SUMMARY: 256 errors"
  exit
esac
while [ "\${1#--}" != "$1" ]; do shift; done
"$@" || exit
echo "========= ERROR SUMMARY: 0 errors"
`;

/** Replaces nvidia-smi: the clock of the multiprocessors is always the same. */
const NVIDIA_SMI = `#!/bin/sh
while :; do
  date '+%Y/%m/%d %H:%M:%S.%N, 1980, 3201, 612.07' | sed 's/\\(\\.[0-9][0-9][0-9]\\)[0-9]*/\\1/'
  sleep 0.05
done
`;

interface HostRun extends SubprocessResult {
  readonly report: GpuReport;
  readonly page: string;
}

/** Runs a command of `deno task gpu` on the host device, with the replaced programs. */
async function hostRun(command: "check" | "measure", ...args: string[]): Promise<HostRun> {
  const programs = { "cuda/bin/compute-sanitizer": SANITIZER, "bin/nvidia-smi": NVIDIA_SMI };
  using folder = TemporaryDirectory.of(programs);
  for (const name of Object.keys(programs)) Deno.chmodSync(`${folder.path}/${name}`, 0o755);
  const results = `${folder.path}/results`;
  const result = await runFile(".ci/gpu.ts", {
    args: [command, "--host", "--output", results, "--commit", "0123abc", ...args],
    environment: {
      CUDA_HOME: `${folder.path}/cuda`,
      PATH: `${folder.path}/bin:${Deno.env.get("PATH")}`,
    },
    limit: 180_000,
  });
  const names = [...Deno.readDirSync(results)].map(({ name }) => name).sort();
  const path = `${results}/host-device-${command}`;
  const expected = ["json", "log", "md"].map((suffix) => `host-device-${command}.${suffix}`);
  assertEquals(names, expected, result.stderr);
  const [json, page] = ["json", "md"].map((suffix) => Deno.readTextFileSync(`${path}.${suffix}`));
  return { ...result, report: JSON.parse(json!), page: page! };
}

const outcomes = ({ steps }: GpuReport) =>
  Object.fromEntries(steps.map(({ name, status }) => [name, status]));

Deno.test("deno task gpu check --host runs every step and writes a report", async () => {
  const { code, report, page, stdout, stderr } = await hostRun("check", "--only", "tests/stream/");
  assertEquals(
    outcomes(report),
    {
      "build": "skipped",
      "device": "passed",
      "tests that may hang": "passed",
      "tests": "passed",
      "validate": "passed",
      "memory check": "passed",
      "race check": "failed",
      "failing tests again": "skipped",
    },
    stderr,
  );
  assertEquals(code, 1);
  const detail = (name: string) => report.steps.find((step) => step.name === name)!.detail;
  assertMatch(detail("memory check"), /^\d+ passed, 0 failed on host:0; ERROR SUMMARY: 0 errors$/);
  assertStringIncludes(detail("race check"), "exit status 99");
  const { files, ran, tests, failing } = report.check!;
  assertEquals([ran, tests.failed, failing], [files, 0, []]);
  assert(files > 1 && tests.passed > files);
  assertEquals([report.device?.kind, report.gpu, report.commit], ["host", null, "0123abc"]);
  assertEquals([report.finished, report.command], [true, "check"]);
  assertEquals(stdout.trim(), page.trim());
});

Deno.test("deno task gpu measure --host measures an area and writes a report", async () => {
  const { code, report, stdout, page } = await hostRun("measure", "--only", "launch,nothing");
  const before = { build: "skipped", device: "passed", validate: "passed", prepare: "passed" };
  const steps = { ...before, launch: "passed", "launch in other libraries": "passed" };
  // Without PyTorch for the processor, there are none.
  const { "launch in other libraries": peers, ...others } = outcomes(report);
  assertEquals([code, { ...others, "launch in other libraries": "passed" }], [0, steps]);
  assert(peers === "passed" || peers === "skipped");
  const { figures, peaks, impossible, goals } = report.measure!;
  assert(figures.length >= 15);
  const unlikely = figures.filter(({ fastest, median, samples }) =>
    !(fastest > 0 && median >= fastest && median < 10e9 && samples >= 1)
  );
  assertEquals([unlikely, peaks, impossible, goals], [[], null, [], {}]);
  assertStringIncludes(page, "### launch: launch with four arguments");
  // What was not asked for has no rows.
  assertStringIncludes(page, "| launch of a module's kernel with a struct: kernel.launch() |");
  assert(!page.includes("not run"));
  const clocks = figures.map((figure) => figure.clocks ?? []).filter((range) => range.length > 0);
  assert(clocks.length > 0);
  assertEquals([...new Set(clocks.flat())], [1980]);
  assertEquals(report.measure!.load?.sm, [1980, 1980]);
  assertEquals(stdout.trim(), page.trim());
});

Deno.test("deno task gpu explains what it cannot run", async () => {
  const run = async (...args: string[]) => {
    const { code, stdout, stderr } = await runFile(".ci/gpu.ts", {
      args,
      environment: { PATH: "/nonexistent" },
    });
    assertEquals([code, stdout], [1, ""]);
    return stderr.trim();
  };
  assertStringIncludes(await run("check"), "Cannot find a GPU: there is no nvidia-smi");
  assertStringIncludes(await run("measure", "--host"), "without --output");
  assertStringIncludes(await run(), "the command must be check or measure");
  assertStringIncludes(await run("check", "--tea"), "Cannot read the option --tea");
  assertStringIncludes(await run("check", "--ours"), "must be measure with --ours: it is check");
});
