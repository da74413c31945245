// Results are written after every step: a run that is killed leaves what it has found.

import { assert, assertEquals, assertStringIncludes } from "@std/assert";
import type { GpuReport } from "../../bench/report/gpu_report.ts";
import { TemporaryDirectory } from "../support/temporary_file.ts";

/** Starts `deno task gpu measure` with a small part of its areas. */
function start(folder: string): Deno.ChildProcess {
  const program = new URL("../../.ci/gpu.ts", import.meta.url).pathname;
  const args = ["run", "-A", "--no-check", program, "measure", "--host", "--only", "cache"];
  return new Deno.Command(Deno.execPath(), {
    args: [...args, "--commit", "0123abc", "--output", folder],
    ...{ env: { NO_COLOR: "1" }, stdin: "null", stdout: "null", stderr: "null", detached: true },
  }).spawn();
}

Deno.test("deno task gpu leaves a readable report when it is killed in the middle", async () => {
  using folder = new TemporaryDirectory();
  const path = `${folder.path}/host-device-measure`;
  const read = (): GpuReport | undefined => {
    try {
      return JSON.parse(Deno.readTextFileSync(`${path}.json`));
    } catch (error) {
      if (error instanceof Deno.errors.NotFound) return undefined;
      throw error;
    }
  };
  const child = start(folder.path);
  const ended = child.status;
  let isRunning = true;
  ended.then(() => isRunning = false);
  // Each state on the way is readable.
  let steps = 0;
  while (isRunning && steps === 0) {
    await new Promise((resolve) => setTimeout(resolve, 20));
    steps = read()?.steps.length ?? 0;
  }
  // With all that it has started.
  Deno.kill(-child.pid, "SIGKILL");
  assertEquals((await ended).signal, "SIGKILL");
  const report = read()!;
  assertEquals([report.finished, report.commit, report.name], [false, "0123abc", "Host device"]);
  // The third step compares kernels for a second: it has not ended.
  assert([1, 2].includes(report.steps.length), JSON.stringify(report.steps));
  const page = Deno.readTextFileSync(`${path}.md`);
  assertStringIncludes(page, "| State | **cut off, or still running** |");
  assertEquals(typeof Deno.readTextFileSync(`${path}.log`), "string");
});
