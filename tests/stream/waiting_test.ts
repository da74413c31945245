// May hang on a GPU: a call that waits for the device, or for a lock that such a call holds, never
// returns while a gate is closed.

import { assertEquals } from "@std/assert";
import { device } from "../support/device.ts";
import { callTally } from "../support/fault_injection.ts";
import { Gate } from "../support/gate.ts";

/** Two gates and two streams. */
class Gates implements Disposable {
  readonly #gates = [new Gate(), new Gate()] as const;
  readonly stream = device.createStream();
  readonly other = device.createStream();

  close(gate: 0 | 1, stream = this.stream): void {
    this.#gates[gate].close(stream);
  }

  open(gate: 0 | 1): void {
    this.#gates[gate].open();
  }

  [Symbol.dispose](): void {
    for (const each of [...this.#gates, this.stream, this.other]) each[Symbol.dispose]();
  }
}

/** Lets pending waits reach the thread that waits for all of them. */
const settle = () => new Promise((resolve) => setTimeout(resolve, 20));

Deno.test("Waiting leaves Deno's threads to file access when more waits than threads are pending", async () => {
  using gates = new Gates();
  using small = device.allocate("float32", 4, { fill: 2 });
  using large = device.allocate("float32", 100_000, { fill: 3 });
  await device.stream.done();
  const synchronizedBefore = callTally(device.context.library, "cudaDeviceSynchronize");
  gates.close(0);
  const { stream } = gates;
  using event = stream.record();
  // An H200 takes 1,000 launches behind a gate before the next one blocks.
  const waits = Array.from({ length: 150 }, () => [stream.done(), event.done()]).flat();
  for (let each = 0; each < 50; each++) {
    waits.push(
      device.done(),
      small.toArray({ stream }).then((array) => assertEquals([...array], [2, 2, 2, 2])),
      large.toArray({ stream }).then((array) => assertEquals(new Set(array), new Set([3]))),
    );
  }
  await settle();
  await Deno.readFile(new URL(import.meta.url));
  assertEquals(event.query(), false, "the file was read after the kernel");
  const { library } = device.context;
  const synchronized = callTally(library, "cudaDeviceSynchronize") - synchronizedBefore;
  assertEquals(synchronized, 0, "it holds a lock of the context while it waits");
  gates.open(0);
  await Promise.all(waits);
});

Deno.test("Device.done() waits for the work that all streams have, and for no later work", async () => {
  using gates = new Gates();
  await device.stream.done();
  gates.close(0);
  // The host device may have threads for only one gate and its opener.
  using passed = gates.stream.record();
  gates.other.wait(passed);
  let isDone = false;
  const done = device.done().then(() => isDone = true);
  await settle();
  assertEquals(isDone, false);
  gates.close(1, gates.other);
  gates.open(0);
  await done;
  assertEquals(gates.other.query(), false);
  gates.open(1);
});

Deno.test("Event.done() resolves in the order of the records when waits begin in another", async () => {
  using gates = new Gates();
  await device.stream.done();
  gates.close(0);
  using first = gates.stream.record();
  gates.close(1);
  using second = gates.stream.record();
  const order: string[] = [];
  const waits = [second.done().then(() => order.push("second"))];
  await settle();
  const firstDone = first.done().then(() => order.push("first"));
  await settle();
  gates.open(0);
  await firstDone;
  assertEquals(second.query(), false);
  gates.open(1);
  await Promise.all(waits);
  assertEquals(order, ["first", "second"]);
});

Deno.test("Event.done() waits for the record before it when the event is recorded again", async () => {
  using gates = new Gates();
  await device.stream.done();
  gates.close(0);
  using event = gates.stream.record();
  // The host device may have threads for only one gate and its opener.
  using passed = gates.stream.record();
  gates.other.wait(passed);
  gates.close(1, gates.other);
  const first = event.done();
  await settle();
  event.record(gates.other);
  const second = event.done();
  gates.open(0);
  await first;
  assertEquals(event.query(), false);
  gates.open(1);
  await second;
});

Deno.test("An Event that is recorded again during waits destroys each native event once", async () => {
  const { library } = device.context;
  const tally = () =>
    ["cudaEventCreateWithFlags", "cudaEventDestroy"].map((call) => callTally(library, call));
  using gates = new Gates();
  await device.stream.done();
  const [created, destroyed] = tally();
  const event = device.createEvent();
  const waits: Promise<void>[] = [];
  gates.close(0);
  for (let round = 0; round < 3; round++) {
    event.record(gates.stream);
    waits.push(event.done(), event.done());
  }
  gates.open(0);
  await Promise.all(waits);
  event[Symbol.dispose]();
  const [allCreated, allDestroyed] = tally();
  assertEquals(allCreated! - created!, 3, "one for each record during a wait");
  assertEquals(allDestroyed! - destroyed!, 3);
});
