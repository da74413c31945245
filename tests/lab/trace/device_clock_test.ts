import { assert, assertEquals, assertThrows } from "@std/assert";
import { resourceTally } from "../../../src/ffi/native_device.ts";
import { DeviceClock } from "../../../src/lab/trace/device_clock.ts";
import type { Event } from "../../../src/stream/event.ts";
import { device } from "../../support/device.ts";

const { context } = device;

function sleep(milliseconds: number): Promise<void> {
  return new Promise((resolve) => setTimeout(resolve, milliseconds));
}

function recorded(): { event: Event; before: number; after: number } {
  const before = performance.now();
  const event = device.stream.record({ timing: true });
  event.doneSync();
  return { event, before, after: performance.now() };
}

Deno.test("programTime() is right within the clock's error", () => {
  using clock = new DeviceClock(context);
  assert(clock.error >= 0 && clock.error < 2, `${clock.error} ms`);
  for (let round = 0; round < 20; round++) {
    const { event, before, after } = recorded();
    const time = clock.programTime(clock.timeOf(event));
    event[Symbol.dispose]();
    assert(time >= before - 2 * clock.error && time <= after + 2 * clock.error);
  }
});

Deno.test("measure() keeps a recent event as its reference", async () => {
  using clock = new DeviceClock(context);
  // A float of milliseconds resolves 61 ns here.
  await sleep(1050);
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
