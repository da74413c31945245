/**
 * Launches with getters in their configurations and arguments: a getter may launch, throw or free
 * memory, and must not change the arguments of later launches.
 */

import { assertEquals, assertThrows } from "@std/assert";
import { DeviceBuffer, Stream } from "../../mod.ts";
import { ARGUMENT } from "../../src/ffi/command_block.ts";
import { type ActivityListener, listen } from "../../src/stream/activity.ts";
import { RecordedLaunches } from "./recorded_launches.ts";

const recorded = new RecordedLaunches();
const { context } = recorded;
const one = { grid: 1, block: 1 };
const hearing: ActivityListener = {
  context,
  work: (_work, _stream, enqueue) => enqueue(),
  compiled: () => {},
};
const nested = "as a getter of its configuration or arguments has launched a kernel";

addEventListener("unload", () => recorded[Symbol.dispose]());

/** The number in a slot at the only launch since the last call. */
function launchedWith(slot: number): number {
  const blocks = recorded.take();
  assertEquals(blocks.length, 1);
  return new Float64Array(blocks[0]!.buffer)[slot]!;
}

/** Runs with and without a listener. */
function heardOrNot(act: () => void): void {
  act();
  const stop = listen(hearing);
  try {
    act();
  } finally {
    stop();
  }
}

/** Device memory of another library, with its own recordStream(). */
function told(stream: Stream, recordStream: () => void): object {
  const dtype = "float32";
  return { context, dtype, address: 512, length: 1, disposed: false, stream, recordStream };
}

Deno.test("launch() does not pass memory whose recordStream() threw", () => {
  const kernel = recorded.kernel("f(float* x)");
  using buffer = DeviceBuffer.allocate(context, "float32", 1);
  using stream = new Stream(context);
  const refusing = told(stream, () => {
    throw new Error("not now");
  });
  heardOrNot(() => {
    for (let time = 0; time < 2; time++) {
      kernel.launch(one, buffer);
      assertEquals(launchedWith(ARGUMENT), buffer.address);
      assertThrows(() => kernel.launch(one, refusing), Error, "not now");
    }
    kernel.launch(one, buffer);
    assertEquals(launchedWith(ARGUMENT), buffer.address);
  });
});

Deno.test("launch() records its own stream after a launch inside a getter", () => {
  const kernel = recorded.kernel("f(float* x, float* y)");
  using x = DeviceBuffer.allocate(context, "float32", 1);
  using stream = new Stream(context);
  const noted: unknown[] = [];
  const noting = (used: unknown) => told(stream, () => void noted.push(used));
  const stop = listen(hearing);
  // A listener has the launch read its length before anything is written.
  const launching = {
    ...told(stream, () => {}),
    get length() {
      stop();
      kernel.launch({ ...one, stream }, x, x);
      return 1;
    },
  };
  assertThrows(() => kernel.launch(one, x, launching), TypeError, nested);
  kernel.launch({ ...one, stream }, x, noting("its own"));
  assertEquals(noted, []);
  kernel.launch(one, x, noting("another"));
  assertEquals(noted, ["another"]);
  recorded.take();
});

Deno.test("launch() fails if a getter of memory frees memory", () => {
  const kernel = recorded.kernel("f(float* x, const float* y)");
  using stream = new Stream(context);
  heardOrNot(() => {
    const traps = (x: DeviceBuffer) => [
      told(stream, () => x.free()),
      Object.defineProperty(told(stream, () => {}), "disposed", { get: () => (x.free(), false) }),
      Object.defineProperty(told(stream, () => {}), "dtype", { get: () => (x.free(), "float32") }),
    ];
    for (let way = 0; way < 3; way++) {
      using x = DeviceBuffer.allocate(context, "float32", 1);
      const trap = traps(x)[way];
      assertThrows(() => kernel.launch(one, x, trap), TypeError, "Cannot launch f as a");
      assertEquals(recorded.take(), []);
      assertThrows(() => kernel.launch(one, x, null), TypeError, "it is disposed");
    }
  });
});

Deno.test("launch() reads an address once", () => {
  const kernel = recorded.kernel("f(float* x)");
  const addresses = [512, "512"];
  using stream = new Stream(context);
  kernel.launch(
    one,
    Object.defineProperty(told(stream, () => {}), "address", { get: () => addresses.shift() }),
  );
  assertEquals(launchedWith(ARGUMENT), 512);
});

Deno.test("launch() fails with the same error with and without listeners", () => {
  using x = DeviceBuffer.allocate(context, "float32", 1);
  const two = recorded.kernel("f(float* x, int n)");
  const nine = recorded.kernel(
    `f(${Array.from({ length: 9 }, (_, i) => `int p${i}`).join(", ")})`,
  );
  const ones = Array.from({ length: 9 }, () => 1);
  const refusals: [typeof two, unknown[], string][] = [
    [two, [], "as it takes 2 arguments: there are 0"],
    [two, [5], "as it takes 2 arguments: there is 1"],
    [two, [x, 1, 1], "as it takes 2 arguments: there are 3"],
    [two, [x, 1, ...ones], "as it takes 2 arguments: there are 11"],
    [two, [undefined, 1], "argument x (1 of 2) must be float32 device memory: it is undefined"],
    [two, [1, 0.5], "argument x (1 of 2) must be float32 device memory: it is 1"],
    [two, [x, 0.5], "argument n (2 of 2) must be an integer in -2147483648..2147483647: it is 0.5"],
    [nine, [5], "as it takes 9 arguments: there is 1"],
    [nine, ones.with(8, undefined as never), "as it takes 9 arguments: there are 8"],
    [nine, [...ones, undefined, 1], "as it takes 9 arguments: there are 11"],
  ];
  heardOrNot(() => {
    for (const [kernel, args, told] of refusals) {
      assertThrows(() => kernel.launch(one, ...args), Error, told);
    }
    two.launch(one, x, 1, undefined);
    nine.launch(one, ...ones, undefined);
  });
  assertEquals(recorded.take().length, 4);
});
