import { assert, assertEquals, assertMatch, assertThrows } from "@std/assert";
import type { DeviceBuffer, Stream } from "../../mod.ts";
import { device } from "../support/device.ts";
import { meet } from "../support/meeting_kernel.ts";
import { runProgram } from "../support/subprocess.ts";

const SPIN = 0.1;

const spin = device.kernels.load(
  "spin_float32(float* out, unsigned long long nanoseconds, float value)",
);

function floats(length: number, fill = 0): DeviceBuffer<"float32"> {
  return device.allocate("float32", length, { fill });
}

async function contents(buffer: DeviceBuffer<"float32">, stream?: Stream): Promise<number[]> {
  return [...await buffer.toArray(stream === undefined ? {} : { stream })];
}

/** Lets `to` wait for what `from` has been given so far. */
function join(from: Stream, to: Stream): void {
  using event = from.record();
  to.wait(event);
}

Deno.test("Graph.launch() works on the current content of the buffers", async () => {
  using x = floats(1000, 1);
  using y = floats(1000, 0);
  using graph = device.stream.capture(() => {
    device.kernels.scale(x, 2, x);
    device.kernels.add(x, y, y);
  });
  assertEquals(graph.nodeCount, 2);
  assertEquals((await contents(x))[999], 1);
  graph.launch();
  assertEquals([(await contents(x))[999], (await contents(y))[0]], [2, 2]);
  x.copyFrom(new Float32Array(1000).fill(10));
  graph.launch();
  graph.launch();
  assertEquals([(await contents(x))[0], (await contents(y))[999]], [40, 62]);
});

Deno.test("Graph.launch() reads and writes pinned buffers at each launch", async () => {
  using device_side = floats(3);
  using input = device.allocatePinned("float32", 3);
  using output = device.allocatePinned("float32", 3);
  using graph = device.stream.capture(() => {
    input.copyTo(device_side);
    device.kernels.scale(device_side, 3, device_side);
    output.copyFrom(device_side);
  });
  for (const values of [[1, 2, 3], [40, 50, 60]]) {
    input.array.set(values);
    graph.launch();
    await device.stream.done();
    assertEquals([...output.array], values.map((value) => 3 * value));
  }
});

Deno.test("Graph.launch() overlaps branches and joins them", async () => {
  using side = device.createStream();
  using flags = device.allocate("int32", 2, { fill: 0 });
  using met = device.allocate("int32", 2, { fill: 0 });
  using both = device.allocate("int32", 1);
  using graph = device.stream.capture(() => {
    join(device.stream, side);
    meet.launch({ grid: 1, block: 1 }, flags, 0, met);
    meet.launch({ grid: 1, block: 1, stream: side }, flags, 1, met);
    join(side, device.stream);
    device.kernels.add(met.view(0, 1), met.view(1, 2), both);
  });
  assertEquals(graph.nodeCount, 3);
  graph.launch();
  assertEquals([...await both.toArray()], [2]);
});

Deno.test("Graph.launch() runs launches one after the other on any streams", async () => {
  using other = device.createStream();
  using value = floats(1);
  using one = floats(1, 1);
  using graph = device.stream.capture(() => {
    spin.launch({ grid: 1, block: 1 }, one, 1e6, 1);
    device.kernels.add(value, one, value);
  });
  for (let count = 0; count < 10; count++) graph.launch(count % 2 === 0 ? other : device.stream);
  await other.done();
  await device.stream.done();
  assertEquals(await contents(value), [10]);
});

Deno.test("Graph works with 0 and 1000 nodes", async () => {
  using value = floats(1);
  using one = floats(1, 1);
  await device.stream.done();
  using empty = device.stream.capture(() => {});
  using long = device.stream.capture(() => {
    for (let count = 0; count < 1000; count++) device.kernels.add(value, one, value);
  });
  assertEquals([empty.nodeCount, long.nodeCount], [0, 1000]);
  empty.launch();
  long.launch();
  empty.launch();
  long.launch();
  assertEquals(await contents(value), [2000]);
});

Deno.test("Graph.launch() nests the graph when the stream is captured", async () => {
  using value = floats(1, 1);
  const inner = device.stream.capture(() => device.kernels.scale(value, 2, value));
  let closed = 0;
  inner.onDispose(() => closed++);
  const outer = device.stream.capture(() => {
    inner.launch();
    device.kernels.add(value, value, value);
    inner.launch();
  });
  assertEquals(outer.nodeCount, 3);
  inner[Symbol.dispose]();
  assertThrows(() => inner.launch(), TypeError, "Cannot use a graph as it is disposed");
  assertEquals(closed, 0);
  outer.launch();
  assertEquals(await contents(value), [8]);
  outer[Symbol.dispose]();
  assertEquals(closed, 1);
});

Deno.test("Graph[Symbol.dispose]() lets running launches complete", async () => {
  using value = floats(1);
  const graph = device.stream.capture(() =>
    spin.launch({ grid: 1, block: 1 }, value, SPIN * 1e9, 7)
  );
  const streams: Stream[] = [];
  graph.onDispose((used) => streams.push(...used));
  graph.launch();
  graph[Symbol.dispose]();
  graph[Symbol.dispose]();
  assertEquals(graph.disposed, true);
  assertEquals(streams.length, 1);
  assert(streams[0] === device.stream);
  assertThrows(() => graph.id, TypeError, "Cannot use a graph as it is disposed");
  assertEquals(await contents(value), [7]);
});

Deno.test("Graph keeps the workspace of its operations", async () => {
  using x = floats(300_000, 1);
  using small = floats(1);
  using large = floats(1);
  using graph = device.stream.capture(() => {
    device.kernels.sum(x, small);
  });
  // Were the workspace the stream's, this would take it from the graph.
  using big = floats(4_000_000, 1);
  device.kernels.sum(big, large);
  device.kernels.fill(x, 2);
  graph.launch();
  assertEquals([await contents(small), await contents(large)], [[600_000], [4_000_000]]);
});

Deno.test("Graph.launch() refuses disposed and foreign streams", () => {
  using graph = device.stream.capture(() => {});
  assertThrows(() => graph.launch({} as Stream), TypeError, "stream must be a Stream");
  const gone = device.createStream();
  gone[Symbol.dispose]();
  assertThrows(() => graph.launch(gone), TypeError, "Cannot use a stream as it is disposed");
});

Deno.test("Graph spans two devices and reports a fault", async () => {
  const { code, stdout, stderr } = await runProgram(
    `
    import { DeviceBuffer, openDevice } from "@gridstride/cuda";
    const first = openDevice("host:0");
    const second = openDevice("host:1");
    const here = first.allocate("float32", 4, { fill: 1 });
    const there = second.allocate("float32", 4, { fill: 0 });
    first.doneSync();
    second.doneSync();
    const graph = first.stream.capture(() => {
      first.kernels.scale(here, 3, here);
      const begun = first.stream.record();
      second.stream.wait(begun);
      there.copyFrom(here, { stream: second.stream });
      second.kernels.scale(there, 10, there);
      const done = second.stream.record();
      first.stream.wait(done);
      here.copyFrom(there, { stream: first.stream });
    });
    graph.launch();
    graph.launch(second.stream);
    await second.stream.done();
    console.log(graph.nodeCount, (await here.toArray())[3], (await there.toArray())[0]);

    const kernel = first.kernels.load("fill_uint32(unsigned int*, unsigned int, unsigned long long)");
    const nowhere = DeviceBuffer.fromAddress(4096, 16, { device: first, dtype: "uint32" });
    const faulty = first.stream.capture(() => kernel.launch({ grid: 1, block: 1 }, nowhere, 5, 4));
    first.doneSync();
    faulty.launch();
    try {
      await first.done();
    } catch (error) {
      console.log(error.name, error.codeName, error.sticky, error.message.includes("fill_uint32"));
    }
    console.log((await there.toArray())[0]);
    Deno.exit(0);
  `,
    { environment: { GRIDSTRIDE_FAKE: "2x1GiB@8.9" } },
  );
  assertEquals(
    [code, stdout, stderr],
    [0, "4 900 900\nCudaError cudaErrorIllegalAddress true true\n900\n", ""],
  );
});

Deno.test("Graph.launch() refuses a capture whose nested graphs have too many operations", async () => {
  using x = device.allocate("float32", 1, { fill: 0 });
  using graphs = new DisposableStack();
  let graph = graphs.use(device.stream.capture(() => device.kernels.axpy(1, x, x)));
  const double = () =>
    device.stream.capture(() => {
      graph.launch();
      graph.launch();
    });
  const error = assertThrows(() => {
    for (let level = 0; level < 24; level++) graph = graphs.use(double());
  }, RangeError);
  assertMatch(error.message, /at most 131072 operations: they would have \d{6}$/);
  graph.launch();
  await device.stream.done();
});
