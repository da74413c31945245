// The messages of CudaError and OutOfMemoryError.

import { assert, assertEquals, assertFalse, assertStringIncludes } from "@std/assert";
import { CudaError, OutOfMemoryError } from "../../src/ffi/cuda_error.ts";

Deno.test("`CudaError` reports action, code, call, device and advice", () => {
  const error = new CudaError({
    action: "copy 40 bytes to the host",
    code: 700,
    call: "cudaMemcpyAsync",
    device: "cuda:1",
  });
  const start = "Cannot copy 40 bytes to the host: cudaErrorIllegalAddress (700) from " +
    "cudaMemcpyAsync on cuda:1. ";
  assertEquals(error.message, start + error.advice);
  assertEquals(error.name, "CudaError");
  assertEquals(error.codeName, "cudaErrorIllegalAddress");
  assertEquals([error.code, error.call, error.device], [700, "cudaMemcpyAsync", "cuda:1"]);
  assert(error.sticky);
  assert(error instanceof Error);
});

Deno.test("`CudaError` omits unknown details", () => {
  const error = new CudaError({ action: "wait", code: -2 });
  assertEquals(error.message, `Cannot wait: GS_ERROR_HANDLE (-2). ${error.advice}`);
  assertEquals([error.call, error.device, error.detail], [undefined, undefined, undefined]);
  assertFalse(error.sticky);
  assertFalse("cause" in error);
});

Deno.test("`CudaError` puts the detail of a fault before the advice", () => {
  const detail = "kernel axpy_float32, block (3, 0, 0), thread (31, 0, 0), address 0x0";
  const error = new CudaError({ action: "launch", code: 700, device: "host:0", detail });
  assert(
    error.message.startsWith(`Cannot launch: cudaErrorIllegalAddress (700) on host:0: ${detail}. `),
  );
  assertEquals(error.detail, detail);
  const stopped = new CudaError({ action: "launch", code: 700, detail: "It faulted." });
  assertFalse(stopped.message.includes("faulted.."));
});

const MIB = 2 ** 20;

function outOfMemory(figures: Partial<ConstructorParameters<typeof OutOfMemoryError>[0]>) {
  return new OutOfMemoryError({
    action: "allocate 100 bytes",
    call: "cudaMalloc",
    device: "cuda:0",
    requested: 100 * MIB,
    free: 10 * MIB,
    total: 1024 * MIB,
    ...figures,
  });
}

Deno.test("`OutOfMemoryError` is a CudaError with code 2 and the figures", () => {
  const error = outOfMemory({});
  assert(error instanceof CudaError);
  assertEquals([error.name, error.code, error.codeName], [
    "OutOfMemoryError",
    2,
    "cudaErrorMemoryAllocation",
  ]);
  assertEquals([error.requested, error.free, error.total], [100 * MIB, 10 * MIB, 1024 * MIB]);
  assertEquals(error.topSites, []);
  assertEquals(error.largestBlock, undefined);
  assert(error.message.includes("on cuda:0: 10 MiB of 1 GiB are free. "), error.message);
});

Deno.test("`OutOfMemoryError` reports largest block, fragmentation, pending memory and sites", () => {
  const topSites = ["a.ts:1:1", "b.ts:2:2", "c.ts:3:3", "d.ts:4:4"]
    .map((site, index) => ({ site, bytes: (4 - index) * MIB, count: index + 1 }));
  const error = outOfMemory({
    largestBlock: 3 * MIB,
    fragmentation: 0.7,
    pendingBytes: 5 * MIB,
    topSites,
  });
  for (
    const part of [
      "the largest free block is 3 MiB",
      "fragmentation is 70 %",
      "5 MiB wait for their streams",
      "a.ts:1:1 holds 4 MiB in 1",
      "c.ts:3:3 holds 2 MiB in 3",
    ]
  ) assert(error.message.includes(part), `${part}: ${error.message}`);
  assertFalse(error.message.includes("d.ts"));
  assertEquals(error.topSites, topSites);
});

Deno.test("`OutOfMemoryError` adapts its advice to the figures", () => {
  const table = [
    [{ requested: 2048 * MIB }, "more than the device has in all"],
    [{ requested: 12 * MIB, pendingBytes: 2 * MIB }, "Wait for the streams"],
    [{ requested: 10 * MIB, fragmentation: 0.9 }, "in pieces"],
    [{ requested: 12 * MIB, pendingBytes: MIB }, "smaller batches"],
    [{ requested: 10 * MIB, fragmentation: 0.5 }, "smaller batches"],
    [{ requested: 2048 * MIB, free: 0, total: 0 }, "smaller batches"],
  ] as const;
  for (const [figures, advice] of table) {
    const error = outOfMemory(figures);
    assert(error.advice.includes(advice), `${JSON.stringify(figures)}: ${error.advice}`);
    assert(error.message.endsWith(error.advice));
    assertEquals(error.message.includes("free memory is not known"), error.total === 0);
  }
  const { message } = outOfMemory({ requested: 2048 * MIB, fragmentation: 0.7, largestBlock: MIB });
  assert(message.includes("The requested 2 GiB are more than"), message);
  assertFalse(/fragmentation|largest free block/.test(message), message);
});

Deno.test("`CudaError` does not advise the host device for a fault on the host device", () => {
  const advice = (device?: string) =>
    new CudaError({ action: "wait", code: 700, ...(device === undefined ? {} : { device }) })
      .advice;
  assertStringIncludes(advice("cuda:0"), "run the program on the host device");
  assertStringIncludes(advice(), "run the program on the host device");
  assertEquals(/host device/.test(advice("host:0")), false);
  assertStringIncludes(advice("host:0"), "kernel, block and thread are above.");
  assertEquals(advice("host:0").match(/Check/g)?.length, 1);
});
