import { assertEquals, assertThrows } from "@std/assert";
import { DeviceContext } from "../../src/hardware/device_context.ts";
import {
  type ActivityListener,
  type DeviceWork,
  enqueueHeard,
  listen,
  listenersOf,
} from "../../src/stream/activity.ts";
import { device } from "../support/device.ts";

const { context, stream } = device;
const WORK: DeviceWork = { kind: "graph", nodes: 3 };

/** A listener that records its calls. */
function listener(name: string, calls: string[], of: DeviceContext = context): ActivityListener {
  return {
    context: of,
    work: (work, _, enqueue) => {
      calls.push(`${name} before ${work.kind}`);
      enqueue();
      calls.push(`${name} after`);
    },
    compiled: () => {},
  };
}

Deno.test("listenersOf() has the listeners of a device until they are removed", () => {
  assertEquals(listenersOf(context), undefined);
  const one = listener("one", []);
  const stop = listen(one);
  assertEquals(listenersOf(context), [one]);
  const stopOther = listen(listener("other", []));
  assertEquals(listenersOf(context)!.length, 2);
  stop();
  stop();
  assertEquals(listenersOf(context)!.length, 1);
  stopOther();
  assertEquals(listenersOf(context), undefined);
});

Deno.test("listenersOf() treats contexts of one device as the same", () => {
  const { library, ordinal, info } = context;
  const again = new DeviceContext(library, ordinal, info);
  const next = new DeviceContext(library, ordinal + 1, info);
  const stop = listen(listener("one", [], again));
  assertEquals(listenersOf(context)!.length, 1);
  assertEquals(listenersOf(next), undefined);
  stop();
});

Deno.test("enqueueHeard() enqueues work once, with its arguments, within all listeners", () => {
  const calls: string[] = [];
  const both = [listener("one", calls), listener("two", calls)];
  enqueueHeard(both, WORK, stream, (a: number, b: string) => calls.push(`${a} ${b}`), 7, "x");
  assertEquals(calls, ["two before graph", "one before graph", "7 x", "one after", "two after"]);
});

Deno.test("enqueueHeard() throws the errors of enqueue", () => {
  const calls: string[] = [];
  const fail = () => {
    throw new RangeError("refused");
  };
  assertThrows(() => enqueueHeard([listener("one", calls)], WORK, stream, fail), RangeError);
  assertEquals(calls, ["one before graph"]);
});
