// The best device, and what detection does with variables it cannot read.

import { assertEquals, assertRejects, assertThrows } from "@std/assert";
import { bestDevice, detectBackends, type DeviceInfo, preflight } from "../../mod.ts";
import { device } from "../support/device.ts";

Deno.test("bestDevice() chooses within a kind and refuses unknown kinds", () => {
  const chosen = bestDevice(device.info.kind).info;
  assertEquals(chosen.kind, device.info.kind);
  for (const kind of ["gpu", "", null, 1]) {
    assertThrows(
      () => bestDevice(kind as DeviceInfo["kind"]),
      RangeError,
      'kind must be "cuda" or "host": it is',
    );
  }
});

Deno.test("detectBackends() and preflight() reject when a variable is malformed", async () => {
  const before = Deno.env.get("GRIDSTRIDE_FAKE");
  Deno.env.set("GRIDSTRIDE_FAKE", "4x24GB@");
  try {
    for (const detect of [detectBackends, preflight]) {
      const result: Promise<unknown> = detect();
      await assertRejects(() => result, Error, "GRIDSTRIDE_FAKE");
    }
  } finally {
    if (before === undefined) Deno.env.delete("GRIDSTRIDE_FAKE");
    else Deno.env.set("GRIDSTRIDE_FAKE", before);
  }
});
