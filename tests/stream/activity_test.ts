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

/** A listener that writes down what it hears. */
function listener(name: string, heard: string[], of: DeviceContext = context): ActivityListener {
  return {
    context: of,
    work: (work, _, enqueue) => {
      heard.push(`${name} before ${work.kind}`);
      enqueue();
      heard.push(`${name} after`);
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
  const heard: string[] = [];
  const both = [listener("one", heard), listener("two", heard)];
  enqueueHeard(both, WORK, stream, (a: number, b: string) => heard.push(`${a} ${b}`), 7, "x");
  assertEquals(heard, ["two before graph", "one before graph", "7 x", "one after", "two after"]);
});

Deno.test("enqueueHeard() throws the errors of enqueue", () => {
  const heard: string[] = [];
  const fail = () => {
    throw new RangeError("refused");
  };
  assertThrows(() => enqueueHeard([listener("one", heard)], WORK, stream, fail), RangeError);
  assertEquals(heard, ["one before graph"]);
});
