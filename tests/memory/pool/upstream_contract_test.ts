import { assert, assertEquals, assertNotEquals, assertThrows } from "@std/assert";
import { injectFault } from "../../support/fault_injection.ts";
import { CudaError } from "../../../src/ffi/cuda_error.ts";
import { resourceTally } from "../../../src/ffi/native_device.ts";
import { StrictUpstream } from "./model/strict_upstream.ts";
import type { MemoryStream, MemoryUpstream } from "../../../src/memory/pool/memory_upstream.ts";
import { NativeUpstream } from "../../../src/memory/pool/native_upstream.ts";
import { device } from "../../support/device.ts";
import { runProgram } from "../../support/subprocess.ts";

const { context } = device;
const { library } = context;

interface Subject {
  readonly name: string;
  readonly upstream: MemoryUpstream;
  createStream(): MemoryStream & Disposable;
}

/** New ones for each test, as counts of faults and addresses go on from test to test. */
function subjects(): Subject[] {
  const model = new StrictUpstream({ keepBytes: true });
  const plain = new StrictUpstream({ keepBytes: true, granularity: 0 });
  return [
    { name: "model", upstream: model, createStream: () => model.createStream() },
    { name: "plain model", upstream: plain, createStream: () => plain.createStream() },
    {
      name: device.label,
      upstream: new NativeUpstream(context),
      createStream: () => device.createStream(),
    },
    {
      name: `plain ${device.label}`,
      upstream: new NativeUpstream(context, false),
      createStream: () => device.createStream(),
    },
  ];
}

/** A test of all upstreams; those without virtual memory may be left out. */
function testAll(
  name: string,
  body: (subject: Subject) => void | Promise<void>,
  { virtual = false } = {},
): void {
  for (const [index, { name: subject, upstream }] of subjects().entries()) {
    if (virtual && upstream.granularity === 0) continue;
    Deno.test(`${subject}: ${name}`, () => body(subjects()[index]!));
  }
}

/** The bytes at an address. */
function bytesAt(upstream: MemoryUpstream, address: number, bytes: number, stream: MemoryStream) {
  const target = new Uint8Array(bytes);
  upstream.read(address, target, stream);
  return [...target];
}

Deno.test("`NativeUpstream` describes its device", () => {
  const upstream = new NativeUpstream(context);
  assertEquals([upstream.label, upstream.totalBytes], [device.label, device.info.totalMemory]);
  assertEquals(upstream.granularity > 0, device.info.virtualMemoryManagement);
  assertEquals(new NativeUpstream(context, false).granularity, 0);
  if (device.info.kind === "host") assertEquals(upstream.freeBytes(), device.memoryInfo().free);
});

Deno.test("`NativeUpstream` uses its own device only", () => {
  void device.stream;
  const before = resourceTally(library);
  const upstream = new NativeUpstream(context);
  const address = upstream.allocate(1000);
  const event = upstream.createEvent(device.stream);
  const during = resourceTally(library);
  assertEquals(during.allocations - before.allocations, 1);
  assertEquals(during.events - before.events, 1);
  upstream.destroyEvent(event);
  upstream.free(address);
  assertEquals(resourceTally(library), before);
});

testAll("`allocate()` gives disjoint, aligned memory", ({ upstream }) => {
  const sizes = [1, 511, 512, 513, 4097, 2 ** 21 + 1];
  const ranges = sizes.map((bytes) => ({ bytes, address: upstream.allocate(bytes) }))
    .sort((a, b) => a.address - b.address);
  for (const [index, { address, bytes }] of ranges.entries()) {
    assert(address > 0 && Number.isSafeInteger(address + bytes));
    assertEquals(address % 512, 0);
    const next = ranges[index + 1];
    if (next !== undefined) assert(address + bytes <= next.address);
  }
  for (const { address } of ranges) upstream.free(address);
  assertThrows(() => upstream.free(ranges[0]!.address));
});

/**
 * What an upstream holds. The free memory of a GPU also changes by its driver and by other processes,
 * so there only the library's own count tells whether memory is back.
 */
function heldBy(upstream: MemoryUpstream): unknown {
  const exact = upstream instanceof StrictUpstream || device.info.kind === "host";
  return exact ? upstream.freeBytes() : resourceTally(library);
}

testAll("`allocate()` gives 0 beyond the device's memory", ({ upstream }) => {
  const before = heldBy(upstream);
  assertEquals(upstream.allocate(upstream.totalBytes + 1), 0);
  assertEquals(upstream.allocate(2 ** 52), 0);
  assertEquals(heldBy(upstream), before);
});

testAll("`map()` and `unmap()` work on whole pieces", (subject) => {
  const { upstream } = subject;
  const { granularity } = upstream;
  using stream = subject.createStream();
  const address = upstream.reserve(8 * granularity);
  assert(address > 0 && address % granularity === 0);
  assert(upstream.map(address, 4 * granularity, 2 * granularity));
  assert(upstream.map(address + 4 * granularity, granularity, 2 * granularity));
  upstream.fill(address + 2 * granularity - 2, 4, 7, stream);
  upstream.fill(address + 4 * granularity - 1, 2, 9, stream);
  assertEquals(bytesAt(upstream, address + 2 * granularity - 2, 4, stream), [7, 7, 7, 7]);
  assertEquals(bytesAt(upstream, address + 4 * granularity - 1, 2, stream), [9, 9]);
  assertThrows(() => upstream.unmap(address, granularity));
  assertThrows(() => upstream.unmap(address + granularity, granularity));
  assertThrows(() => upstream.unmap(address, 6 * granularity));
  assertThrows(() => upstream.map(address + 3 * granularity, 2 * granularity, granularity));
  assertThrows(() => upstream.map(address + 7 * granularity, 2 * granularity, granularity));
  assertThrows(() => upstream.release(address));
  assertThrows(() => bytesAt(upstream, address + 5 * granularity - 1, 2, stream));
  upstream.unmap(address + 2 * granularity, 3 * granularity);
  assertThrows(() => bytesAt(upstream, address + 2 * granularity, 1, stream));
  assertEquals(bytesAt(upstream, address + 2 * granularity - 1, 1, stream), [7]);
  assert(upstream.map(address + 2 * granularity, granularity, granularity));
  upstream.unmap(address, 3 * granularity);
  upstream.release(address);
  assertThrows(() => upstream.map(address, granularity, granularity));
}, { virtual: true });

testAll("`map()` beyond the device's memory maps nothing", ({ upstream }) => {
  const { granularity } = upstream;
  const tooMuch = (Math.floor(upstream.totalBytes / granularity) + 1) * granularity;
  const before = heldBy(upstream);
  const address = upstream.reserve(tooMuch);
  assert(address > 0);
  const reserved = heldBy(upstream);
  assertEquals(upstream.map(address, tooMuch, 2 ** 26), false);
  assertEquals(heldBy(upstream), reserved);
  assert(upstream.map(address, granularity, granularity));
  assertNotEquals(heldBy(upstream), reserved);
  upstream.unmap(address, granularity);
  upstream.release(address);
  assertEquals(heldBy(upstream), before);
}, { virtual: true });

testAll(
  "events report the progress of a stream",
  async (subject) => {
    const { upstream } = subject;
    using stream = subject.createStream();
    const address = upstream.allocate(2 ** 22);
    const event = upstream.createEvent(stream);
    assert(upstream.queryEvent(event), "an event never recorded counts as done");
    for (const wait of [() => upstream.waitSync(event), () => upstream.wait(event)]) {
      upstream.fill(address, 2 ** 22, 5, stream);
      upstream.recordEvent(event, stream);
      await wait();
      assert(upstream.queryEvent(event));
    }
    assertEquals(upstream.capturing, false);
    upstream.destroyEvent(event);
    assertThrows(() => upstream.queryEvent(event));
    upstream.free(address);
  },
);

testAll("`declare()` refuses overlaps", ({ upstream }) => {
  const address = upstream.allocate(4096);
  upstream.declare(address, 1024, true);
  upstream.declare(address + 1024, 1024, true);
  assertThrows(() => upstream.declare(address + 512, 1024, true));
  assertThrows(() => upstream.declare(address, 512, false));
  upstream.declare(address, 1024, false);
  assertThrows(() => upstream.declare(address, 1024, false));
  upstream.declare(address, 512, true);
  upstream.free(address);
});

testAll("`press()` changes the signal", ({ upstream }) => {
  const before = upstream.signal;
  upstream.press();
  upstream.free(upstream.allocate(1));
  assert(upstream.signal !== before);
});

Deno.test("`NativeUpstream` maps memory during a capture", () => {
  const upstream = new NativeUpstream(context);
  const bytes = upstream.granularity;
  const seen: boolean[] = [upstream.capturing];
  using stream = device.createStream();
  using _graph = stream.capture(() => {
    seen.push(upstream.capturing);
    const address = upstream.allocate(1000);
    upstream.free(address);
    if (bytes === 0) return;
    const range = upstream.reserve(bytes);
    assert(upstream.map(range, bytes, bytes));
    upstream.unmap(range, bytes);
    upstream.release(range);
  });
  seen.push(upstream.capturing);
  assertEquals(seen, [false, true, false]);
});

Deno.test("`NativeUpstream` throws failures other than a lack of memory", () => {
  const upstream = new NativeUpstream(context);
  void device.stream; // created before the count
  const before = resourceTally(library);
  const failing: [call: string, attempt: () => unknown][] = [
    ["cudaMalloc", () => upstream.allocate(100)],
    ["cudaEventCreateWithFlags", () => upstream.createEvent(device.stream)],
  ];
  for (const [call, attempt] of failing) {
    using _fault = injectFault(library, call, 1, 999);
    const error = assertThrows(attempt, CudaError);
    assertEquals([error.code, error.call], [999, call]);
  }
  {
    using _fault = injectFault(library, "cudaMalloc", 1, 2);
    assertEquals(upstream.allocate(100), 0);
  }
  assertEquals(resourceTally(library), before);
});

Deno.test("`NativeUpstream` reports a loss once", async () => {
  const module = new URL("../../../src/memory/pool/native_upstream.ts", import.meta.url).href;
  const { code, stdout, stderr } = await runProgram(`
    import { CudaError, openDevice } from "@gridstride/cuda";
    import { NativeUpstream } from ${JSON.stringify(module)};
    const device = openDevice(${JSON.stringify(device.label)});
    const upstream = new NativeUpstream(device.context);
    const [address, other] = [upstream.allocate(100), upstream.allocate(100)];
    const event = upstream.createEvent(device.stream);
    const nothing = device.allocate("float32", 0); // its address is 0
    device.kernels.load("fault_null_write(float* out)").launch({ grid: 1, block: 1 }, nothing);
    const attempt = (action) => {
      try {
        action();
        return "quiet";
      } catch (error) {
        return error instanceof CudaError && error.sticky ? "lost" : String(error);
      }
    };
    console.log([
      attempt(() => upstream.free(address)),
      attempt(() => upstream.destroyEvent(event)),
      attempt(() => upstream.free(other)),
      attempt(() => upstream.allocate(100)),
    ].join());
    Deno.exit(0);
  `);
  assertEquals([stderr, code], ["", 0]);
  assertEquals(stdout, "lost,quiet,quiet,lost\n");
});
