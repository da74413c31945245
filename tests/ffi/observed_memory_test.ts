import { assertEquals, assertThrows } from "@std/assert";
import { CudaError } from "../../mod.ts";
import type { NativeLibrary } from "../../src/ffi/library.ts";
import { observedFreeMemory } from "../../src/ffi/native_device.ts";
import { device } from "../support/device.ts";

/** The library under test, where an observation ends with this status. */
function observing(status: number): NativeLibrary {
  const { library } = device.context;
  return Object.create(library, {
    symbols: {
      value: {
        ...library.symbols,
        gs_device_observe: (_: number, result: Float64Array) => {
          result[0] = 1024;
          return status;
        },
      },
    },
  });
}

Deno.test("observedFreeMemory() is undefined without NVML and reports the failures of CUDA", () => {
  const unsupported = -7;
  const failureOfNvml = -13;
  assertEquals(observedFreeMemory(observing(0), 0), 1024);
  assertEquals(observedFreeMemory(observing(unsupported), 0), undefined);
  assertEquals(observedFreeMemory(observing(failureOfNvml), 0), undefined);
  const error = assertThrows(() => observedFreeMemory(observing(46), 0), CudaError);
  assertEquals(error.codeName, "cudaErrorDevicesUnavailable");
});
