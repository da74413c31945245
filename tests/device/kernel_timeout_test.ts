import { assertEquals, assertMatch, assertThrows } from "@std/assert";
import { openDevice } from "../../mod.ts";
import { device } from "../support/device.ts";
import { runFile } from "../support/subprocess.ts";

// Binds the function of the library that sets the limit, which stays bound.
openDevice(device.label, { kernelTimeout: Infinity })[Symbol.dispose]();

interface Ended {
  readonly code: number;
  readonly sticky: boolean;
  readonly detail: string;
}

Deno.test("A kernel that never ends fails with cudaErrorLaunchTimeout and names its thread", async () => {
  const { code, stdout, stderr } = await runFile("tests/device/kernel_timeout_program.ts", {
    environment: {
      GRIDSTRIDE_FAKE: "5x64MiB@8.9",
      GRIDSTRIDE_KERNEL_TIMEOUT: "100",
    },
  });
  assertEquals([code, stderr], [0, ""]);
  const { healthy, ...ended } = JSON.parse(stdout);
  const expected: Readonly<Record<string, RegExp>> = {
    poll_plain:
      /^kernel poll_plain, block \(0,\d,0\), thread \(2,0,0\): the launch has run for longer than its time limit of 0\.15 s.* barrier, an atomic/,
    poll_after_barrier: /^kernel poll_after_barrier, block \(0,0,0\), thread \(2,0,0\): .*0\.15 s/,
    poll_atomic: /^kernel poll_atomic, block \(0,0,0\), thread \(\d+,0,0\): .*0\.1 s/,
    print_forever: /^kernel print_forever, block \(0,0,0\), thread \(0,0,0\): .*0\.15 s/,
  };
  assertEquals(Object.keys(ended), Object.keys(expected));
  for (const [name, { code, sticky, detail }] of Object.entries(ended as Record<string, Ended>)) {
    assertEquals([code, sticky], [702, true], name);
    assertMatch(detail, expected[name]!);
  }
  assertEquals(healthy, 7);
});

Deno.test("openDevice() refuses a kernelTimeout that is no time", () => {
  for (const kernelTimeout of [0, -1, 1.5, NaN, 2 ** 31]) {
    const message = "Cannot open a device as options.kernelTimeout must be an integer in";
    assertThrows(() => openDevice(device.label, { kernelTimeout }), RangeError, message);
  }
  assertThrows(
    () => openDevice(device.label, { kernelTimeout: "1" as unknown as number }),
    TypeError,
  );
});
