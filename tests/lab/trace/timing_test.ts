import { assert, assertAlmostEquals, assertEquals, assertThrows } from "@std/assert";
import { CudaError } from "../../../mod.ts";
import { injectFault } from "../../support/fault_injection.ts";
import { resourceTally } from "../../../src/ffi/native_device.ts";
import { DeviceClock, WorkTimer } from "../../../src/lab/trace/work_timer.ts";
import type { Event } from "../../../src/stream/event.ts";
import { device } from "../../support/device.ts";

const { context, stream } = device;
const SPIN = "spin_float32(float* out, unsigned long long nanoseconds, float value)";

/** `cudaErrorMemoryAllocation`. */
const OUT_OF_MEMORY = 2;

function events(): number {
  return resourceTally(context.library).events;
}

Deno.test("WorkTimer times work on each stream, and reuses its events", async () => {
  using side = device.createStream();
  using out = device.allocate("float32", 1);
  const spin = device.kernels.load(SPIN);
  const before = events();
  const times = new Map<string, number>();
  {
    using timer = new WorkTimer<string>(
      context,
      ({ work, start, end }) => void times.set(work, end.elapsedSince(start)),
    );
    const launch = (milliseconds: number, on: typeof stream) => () =>
      spin.launch({ grid: 1, block: 1, stream: on }, out, milliseconds * 1e6, 1);
    timer.time("long", stream, launch(20, stream));
    timer.time("short", side, launch(2, side));
    assertEquals(timer.waitingCount, 2);
    await timer.settle();
    assertEquals([timer.waitingCount, events()], [0, before + 4]);
    timer.time("third", stream, () => {});
    assertEquals(events(), before + 4);
    await timer.settle();
  }
  assertEquals([...times.keys()].sort(), ["long", "short", "third"]);
  assert(times.get("long")! >= 20 && times.get("short")! >= 2, Deno.inspect(times));
  assertEquals(events(), before);
});

Deno.test("time() leaves no event when the work is refused", async () => {
  const before = events();
  let evaluated = 0;
  {
    using timer = new WorkTimer<string>(context, () => evaluated++);
    const fail = () => {
      throw new RangeError("refused");
    };
    assertThrows(() => timer.time("refused", stream, fail), RangeError, "refused");
    await timer.settle();
    assertEquals([evaluated, timer.waitingCount], [0, 0]);
  }
  assertEquals(events(), before);
});

Deno.test("time() enqueues nothing when an event cannot be made", () => {
  const before = events();
  let enqueued = 0;
  for (const nth of [1, 2]) {
    using timer = new WorkTimer<string>(context, () => {});
    const time = () => timer.time("no event", stream, () => enqueued++);
    using _fault = injectFault(context.library, "cudaEventCreateWithFlags", nth, OUT_OF_MEMORY);
    assertThrows(time, CudaError, "create an event");
  }
  assertEquals([enqueued, events()], [0, before]);
});

Deno.test("settle() evaluates its work when the timer is disposed meanwhile", async () => {
  const before = events();
  let evaluated = 0;
  const timer = new WorkTimer<string>(context, () => evaluated++);
  timer.time("one", stream, () => {});
  const settled = timer.settle();
  timer[Symbol.dispose]();
  await settled;
  assertEquals([evaluated, events()], [1, before]);
});

function recorded(): { event: Event; before: number; after: number } {
  const before = performance.now();
  const event = device.stream.record({ timing: true });
  event.doneSync();
  return { event, before, after: performance.now() };
}

Deno.test("programTime() is right within the clock's error", () => {
  using clock = new DeviceClock(context);
  assert(clock.error >= 0, `${clock.error} ms`);
  for (let round = 0; round < 20; round++) {
    const { event, before, after } = recorded();
    const time = clock.programTime(clock.timeOf(event));
    event[Symbol.dispose]();
    assert(time >= before - 2 * clock.error && time <= after + 2 * clock.error);
  }
});

/** The rate and the error of a clock after some milliseconds in which the program's runs faster. */
async function followed(
  faster: number,
  milliseconds: number,
): Promise<{ rate: number; error: number }> {
  const real = performance.now.bind(performance);
  performance.now = () => real() * faster;
  try {
    using clock = new DeviceClock(context);
    await new Promise((resolve) => setTimeout(resolve, milliseconds));
    clock.compare();
    const rate = (clock.programTime(2e6) - clock.programTime(1e6)) / 1e6;
    return { rate, error: clock.error };
  } finally {
    Reflect.deleteProperty(performance, "now");
  }
}

Deno.test("programTime() follows a clock of the program that runs faster than the device's", async () => {
  const { rate, error } = await followed(1.002, 300);
  // The system corrects its own time by up to 5e-4, and the comparisons are exact to some
  // microseconds.
  assert(rate > 1.001 && rate < 1.003, `${rate}, ${error} ms`);
});

Deno.test("DeviceClock.error contains a drift that no clocks have and programTime() ignores", async () => {
  const { rate, error } = await followed(1.05, 150);
  assertAlmostEquals(rate, 1, 1e-9);
  assert(error > 0.04 * 150, `${error} ms`);
});

Deno.test("measure() keeps a recent event as its reference", async () => {
  using clock = new DeviceClock(context);
  // A float of milliseconds resolves 61 ns here.
  await new Promise((resolve) => setTimeout(resolve, 1050));
  const one = recorded();
  const end = device.stream.record({ timing: true });
  end.doneSync();
  const timed = { work: "one", start: one.event, end };
  const { start, duration } = clock.measure(timed);
  assert(start > 1000 && duration >= 0);
  assert(timed.start !== one.event, "the clock has kept the event");
  // It is the reference now: its time is unchanged.
  assertEquals(clock.timeOf(one.event), start);
  clock.compare();
  const time = clock.programTime(start);
  const [from, to] = [one.before - 2 * clock.error, one.after + 2 * clock.error];
  assert(time >= from && time <= to, `${time} in ${from}..${to}`);
  timed.start[Symbol.dispose]();
  end[Symbol.dispose]();
});

Deno.test("DeviceClock leaves nothing behind, also when it cannot begin", () => {
  const before = resourceTally(context.library);
  new DeviceClock(context)[Symbol.dispose]();
  device.stream.capture(() => {
    assertThrows(() => new DeviceClock(context), TypeError, "while a stream is being captured");
  })[Symbol.dispose]();
  const { streams, events } = resourceTally(context.library);
  assertEquals([streams, events], [before.streams, before.events]);
});
