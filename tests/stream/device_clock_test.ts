import { assert, assertEquals, assertThrows } from "@std/assert";
import { resourceTally } from "../../src/ffi/native_device.ts";
import { DeviceClock } from "../../src/stream/device_clock.ts";
import type { Event } from "../../src/stream/event.ts";
import { device } from "../support/device.ts";

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

Deno.test("the device's times are the program's, within the clock's own error", () => {
  using clock = new DeviceClock(context);
  assert(clock.error >= 0 && clock.error < 2, `${clock.error} ms`);
  for (let round = 0; round < 20; round++) {
    const { event, before, after } = recorded();
    const time = clock.programTime(clock.timeOf(event));
    event[Symbol.dispose]();
    assert(time >= before - 2 * clock.error && time <= after + 2 * clock.error);
  }
});

Deno.test("far from its beginning it measures from an event nearby, which it keeps", async () => {
  using clock = new DeviceClock(context);
  // A float of milliseconds knows a thousandth of this only as multiples of 61 ns.
  await sleep(1050);
  const one = recorded();
  const end = device.stream.record({ timing: true });
  end.doneSync();
  const timed = { work: "one", start: one.event, end };
  const { start, duration } = clock.measure(timed);
  assert(start > 1000 && duration >= 0);
  assert(timed.start !== one.event, "the clock has kept the event");
  // It is what times are measured from: its own is what it was.
  assertEquals(clock.timeOf(one.event), start);
  clock.compare();
  const time = clock.programTime(start);
  const [from, to] = [one.before - 2 * clock.error, one.after + 2 * clock.error];
  assert(time >= from && time <= to, `${time} in ${from}..${to}`);
  timed.start[Symbol.dispose]();
  end[Symbol.dispose]();
});

Deno.test("nothing is left of a clock, nor of one that could not begin", () => {
  const before = resourceTally(context.library);
  new DeviceClock(context)[Symbol.dispose]();
  device.stream.capture(() => {
    assertThrows(() => new DeviceClock(context), TypeError, "while a stream is being captured");
  })[Symbol.dispose]();
  const { streams, events } = resourceTally(context.library);
  assertEquals([streams, events], [before.streams, before.events]);
});
