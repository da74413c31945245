// Virtual memory, declared blocks and pressure through the FFI layer. What each function of the ABI
// refuses is checked by tests/native/shim.

import { assert, assertEquals, assertThrows } from "@std/assert";
import { CudaError } from "../../mod.ts";
import { injectFault, wrappedCalls } from "../support/fault_injection.ts";
import { copyToDeviceSync, copyToHostSync } from "../../src/ffi/native_memory.ts";
import { deviceMemory, resourceTally } from "../../src/ffi/native_device.ts";
import { freeMemory, tryAllocateMemory } from "../../src/ffi/native_memory.ts";
import {
  declareBlock,
  devicePressure,
  mapMemory,
  pressMemory,
  readPressure,
  releaseAddresses,
  reserveAddresses,
  shareMemory,
  unmapMemory,
  virtualGranularity,
} from "../../src/ffi/native_memory.ts";
import { device } from "../support/device.ts";
import { runFile, runProgram } from "../support/subprocess.ts";

const { library, ordinal } = device.context;
const isSupported = device.info.virtualMemoryManagement;
const without = isSupported ? "" : " (skipped: the device has no virtual memory management)";
const PAGE = isSupported ? virtualGranularity(library, ordinal) : 0;

/** Reserved addresses, given back at the end of the scope. */
function reserve(pages: number): Disposable & { readonly address: number } {
  const address = reserveAddresses(library, ordinal, pages * PAGE);
  return { address, [Symbol.dispose]: () => releaseAddresses(library, ordinal, address) };
}

function testVirtual(name: string, fn: () => void): void {
  Deno.test({ name: `${name}${without}`, ignore: !isSupported, fn });
}

function write(address: number, bytes: Uint8Array<ArrayBuffer>, stream: number): void {
  copyToDeviceSync(library, ordinal, stream, address, bytes, bytes.length);
}

function read(address: number, length: number, stream: number): Uint8Array<ArrayBuffer> {
  const bytes = new Uint8Array(length);
  copyToHostSync(library, ordinal, stream, bytes, address, length);
  return bytes;
}

Deno.test("`virtualGranularity()` works on every host device", async () => {
  const program = 'import { openDevice } from "@gridstride/cuda";\n' +
    'using device = openDevice("host:0");\n' +
    "console.log(device.info.virtualMemoryManagement);";
  for (const fake of ["1GiB@7.5", "cuda", undefined]) {
    const environment = { GRIDSTRIDE_FAKE: fake, CUDA_VISIBLE_DEVICES: undefined };
    const { stdout, stderr } = await runProgram(program, { environment });
    assertEquals([stdout, stderr], ["true\n", ""], fake);
  }
});

testVirtual(
  "`unmapMemory()` keeps the contents of the other pieces",
  () => {
    using stream = device.createStream();
    const before = resourceTally(library);
    {
      using range = reserve(8);
      const { address } = range;
      assert(mapMemory(library, ordinal, address, 3 * PAGE, 2 * PAGE));
      assert(mapMemory(library, ordinal, address + 3 * PAGE, PAGE, PAGE));
      assertEquals(resourceTally(library).mappedBytes - before.mappedBytes, 4 * PAGE);
      const bytes = Uint8Array.from({ length: 2 * PAGE + 5 }, (_, index) => index % 251);
      write(address + PAGE - 3, bytes, stream.id);
      assertEquals(read(address + PAGE - 3, bytes.length, stream.id), bytes);
      unmapMemory(library, ordinal, address + 2 * PAGE, 2 * PAGE);
      assertEquals(read(address + PAGE - 3, 1003, stream.id), bytes.subarray(0, 1003));
      assertThrows(() => read(address + 2 * PAGE - 1, 2, stream.id), CudaError);
      unmapMemory(library, ordinal, address, 2 * PAGE);
    }
    assertEquals(resourceTally(library), before);
  },
);

testVirtual(
  "`mapMemory()` and others refuse wrong ranges without an effect",
  () => {
    using range = reserve(4);
    const { address } = range;
    assert(mapMemory(library, ordinal, address, 2 * PAGE, 2 * PAGE));
    const before = resourceTally(library);
    const refused: readonly [() => void, string][] = [
      [() => reserveAddresses(library, ordinal, PAGE + 1), `reserve ${PAGE + 1} bytes`],
      [() => reserveAddresses(library, ordinal, 0), "reserve 0 bytes"],
      [() => mapMemory(library, ordinal, address, PAGE, PAGE), `map ${PAGE} bytes at ${address}`],
      [() => mapMemory(library, ordinal, address + 2 * PAGE, PAGE, 1), `map ${PAGE} bytes at`],
      [() => mapMemory(library, ordinal, address + 2 * PAGE, PAGE, NaN), `map ${PAGE} bytes at`],
      [() => unmapMemory(library, ordinal, address, PAGE), `unmap ${PAGE} bytes at ${address}`],
      [() => releaseAddresses(library, ordinal, address), `addresses reserved at ${address}`],
      [() => shareMemory(library, ordinal, ordinal, address, 2 * PAGE), `with device ${ordinal}`],
      [() => declareBlock(library, ordinal, address, 4 * PAGE, true), "bytes at"],
      [() => declareBlock(library, ordinal, address, 16, false), "have ended"],
    ];
    for (const [call, message] of refused) assertThrows(call, CudaError, message);
    assertThrows(() => reserveAddresses(library, ordinal, 0.5), RangeError, "bytes must be");
    assertThrows(() => reserveAddresses(library, 2 ** 31, PAGE), RangeError, "device must be");
    assertThrows(() => releaseAddresses(library, ordinal, -1), RangeError, "address must be");
    assertThrows(() => shareMemory(library, 0, 1.5, address, PAGE), RangeError, "peer must be");
    assertThrows(() => virtualGranularity(library, 2 ** 20), CudaError, "granularity");
    assertEquals(resourceTally(library), before);
    unmapMemory(library, ordinal, address, 2 * PAGE);
  },
);

testVirtual("`mapMemory()` and others return 0 or false without room, and change nothing", () => {
  const before = resourceTally(library);
  const { total } = deviceMemory(library, ordinal);
  assertEquals(tryAllocateMemory(library, ordinal, 2 * total), 0);
  {
    const pages = Math.ceil(total / PAGE) + 1;
    using range = reserve(pages);
    assertEquals(mapMemory(library, ordinal, range.address, pages * PAGE, 16 * PAGE), false);
  }
  {
    using _fault = injectFault(library, "cuMemAddressReserve", 1, 2);
    assertEquals(reserveAddresses(library, ordinal, PAGE), 0);
  }
  assertEquals(resourceTally(library), before);
  const address = tryAllocateMemory(library, ordinal, 1);
  assert(address > 0);
  freeMemory(library, ordinal, address);
});

testVirtual(
  "`mapMemory()` maps nothing if a CUDA call fails, and names the call",
  () => {
    const calls = wrappedCalls(library).filter((call) => call.startsWith("cuMem"));
    assert(calls.includes("cuMemCreate") && calls.includes("cuMemSetAccess"), `${calls}`);
    using range = reserve(3);
    const before = resourceTally(library);
    for (const call of ["cuMemCreate", "cuMemMap", "cuMemRelease", "cuMemSetAccess"]) {
      for (let nth = 1; nth <= (call === "cuMemSetAccess" ? 1 : 3); nth++) {
        using _fault = injectFault(library, call, nth, 46);
        const error = assertThrows(
          () => mapMemory(library, ordinal, range.address, 3 * PAGE, PAGE),
          CudaError,
        );
        assertEquals([error.call, error.code], [call, 46]);
        assertEquals(resourceTally(library), before);
      }
    }
    assert(mapMemory(library, ordinal, range.address, 3 * PAGE, PAGE));
    unmapMemory(library, ordinal, range.address, 3 * PAGE);
  },
);

testVirtual(
  "`mapMemory()` and `unmapMemory()` work during a capture",
  () => {
    using stream = device.createStream();
    const { symbols, result } = library;
    const before = resourceTally(library);
    const GLOBAL = 0;
    assertEquals(symbols.gs_stream_capture(stream.id, GLOBAL), 0);
    {
      using range = reserve(4);
      assert(mapMemory(library, ordinal, range.address, 4 * PAGE, 2 * PAGE));
      unmapMemory(library, ordinal, range.address, 4 * PAGE);
      const address = tryAllocateMemory(library, ordinal, 1000);
      freeMemory(library, ordinal, address);
    }
    assertEquals(symbols.gs_stream_capture_query(stream.id, result), 0);
    assertEquals(result[0], 1);
    assertEquals(symbols.gs_stream_capture_end(stream.id, result), 0);
    assertEquals(symbols.gs_graph_destroy(result[0]!), 0);
    assertEquals(resourceTally(library), before);
  },
);

Deno.test("`declareBlock()` limits accesses to live blocks", () => {
  using stream = device.createStream();
  const address = tryAllocateMemory(library, ordinal, 1024);
  write(address, new Uint8Array(1024), stream.id);
  declareBlock(library, ordinal, address + 16, 100, true);
  write(address + 16, new Uint8Array(100), stream.id);
  for (const [offset, bytes] of [[0, 1], [15, 2], [116, 1], [100, 17]] as const) {
    const touch = () => write(address + offset, new Uint8Array(bytes), stream.id);
    assertThrows(touch, CudaError, "cudaErrorInvalidValue");
  }
  assertThrows(
    () => declareBlock(library, ordinal, address + 100, 50, true),
    CudaError,
    `declare that 50 bytes at ${address + 100} live`,
  );
  declareBlock(library, ordinal, address + 16, 100, false);
  assertThrows(() => read(address + 16, 1, stream.id), CudaError);
  freeMemory(library, ordinal, address);
});

Deno.test("`readPressure()` sees another isolate's request after the next call", async () => {
  using stream = device.createStream();
  stream.query();
  const before = readPressure(library);
  const ofDevice = devicePressure(library, ordinal);
  const url = new URL("./pressure_worker.ts", import.meta.url);
  const worker = new Worker(url, { type: "module" });
  const counted = await new Promise((resolve) => {
    worker.onmessage = ({ data }) => resolve(data);
    worker.postMessage({ path: library.path, ordinal });
  });
  worker.terminate();
  assertEquals(counted, ofDevice + 1);
  assertEquals(readPressure(library), before);
  stream.query();
  assertEquals(readPressure(library), before + 1);
  assertEquals(pressMemory(library, ordinal), ofDevice + 2);
  assertEquals(devicePressure(library, ordinal), ofDevice + 2);
  assertThrows(
    () => pressMemory(library, 2 ** 20),
    CudaError,
    "request the release of cached memory",
  );
});

Deno.test("`shareMemory()` gives a peer access to mapped memory", async () => {
  const { code, stdout, stderr } = await runFile("tests/ffi/virtual_peers_program.ts", {
    environment: { GRIDSTRIDE_FAKE: "2x64MiB@8.9" },
  });
  assertEquals([code, stderr, stdout], [0, "", "done\n"]);
});
