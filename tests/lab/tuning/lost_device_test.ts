/**
 * A configuration that takes the device with it: the tuning ends with its name, the process lives,
 * and the next one leaves it out.
 */

import { assert, assertEquals } from "@std/assert";
import { device } from "../../support/device.ts";
import { runFile } from "../../support/subprocess.ts";
import { TemporaryDirectory } from "../../support/temporary_file.ts";

/** Tunes twice, in two processes with one cache; the n-th launch of a configuration faults. */
async function tuneTwice(faulty: number) {
  using folder = new TemporaryDirectory();
  const run = async () => {
    const { code, stdout, stderr } = await runFile("tests/lab/tuning/lost_device_program.ts", {
      permissions: ["-A", "--no-check"],
      args: [device.label, String(faulty)],
      environment: { GRIDSTRIDE_CACHE_DIR: folder.path },
    });
    assertEquals([code, stderr], [0, ""]);
    return JSON.parse(stdout);
  };
  return [await run(), await run()];
}

Deno.test("autotune() names a configuration that faults, and leaves it out in the next process", async () => {
  // The first launch, and the first one of the second look, which the fastest has.
  for (const faulty of [1, 6]) {
    const [{ message, sticky, report }, next] = await tuneTwice(faulty);
    assert(sticky);
    assert(
      message.startsWith(
        `Cannot autotune dangerous any further as ${device.label} is lost to this process after ` +
          'configuration {"traps":true}: CudaError: ',
      ),
      message,
    );
    assertEquals(report, [{ traps: true }]);
    assertEquals(next, {
      traps: false,
      failed: [false, true, false],
      content: new Array(10).fill(1),
    });
  }
});
