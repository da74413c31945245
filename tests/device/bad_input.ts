/**
 * What tests of bad input have in common: a case, what its error must be, and buffers that must
 * stay as they are.
 *
 * @module
 */

import { assert, assertEquals } from "@std/assert";
import type { Device, DeviceBuffer, PinnedBuffer, Stream } from "../../mod.ts";

/** Objects that bad calls are made with. */
export interface Fixture extends Disposable {
  /** The device. */
  readonly device: Device;
  /** A hundred numbers. */
  readonly x: DeviceBuffer<"float32">;
  /** Another hundred. */
  readonly y: DeviceBuffer<"float32">;
  /** A hundred integers. */
  readonly integers: DeviceBuffer<"int32">;
  /** Ten bins. */
  readonly bins: DeviceBuffer<"uint32">;
  /** Pinned memory of a hundred elements. */
  readonly pinned: PinnedBuffer<"float32">;
  /** A stream. */
  readonly stream: Stream;
  /** Fails unless every buffer is as it was made. */
  assertIntact(what: string): void;
}

const ELEMENTS = 100;

/** Makes the objects. */
export function makeFixture(device: Device): Fixture {
  using stack = new DisposableStack();
  const numbers = Float32Array.from({ length: ELEMENTS }, (_, index) => index);
  const x = stack.use(device.upload(numbers));
  const y = stack.use(device.upload(numbers.map((value) => -value)));
  const integers = stack.use(device.upload(Int32Array.from(numbers)));
  const bins = stack.use(device.upload(new Uint32Array(10).fill(7)));
  const pinned = stack.use(device.allocatePinned("float32", ELEMENTS));
  pinned.array.fill(5);
  const stream = stack.use(device.createStream());
  device.doneSync();
  const buffers = { x, y, integers, bins };
  const contents = Object.entries(buffers).map(([name, buffer]) =>
    [name, buffer, [...buffer.toArraySync() as Iterable<number>]] as const
  );
  const owned = stack.move();
  return {
    device,
    ...buffers,
    pinned,
    stream,
    assertIntact(what: string): void {
      device.doneSync();
      for (const [name, buffer, content] of contents) {
        assertEquals([...buffer.toArraySync() as Iterable<number>], content, `${what}: ${name}`);
      }
      assert(pinned.array.every((element) => element === 5), `${what}: the pinned memory`);
    },
    [Symbol.dispose]: () => owned.dispose(),
  };
}

// deno-lint-ignore no-explicit-any
type ErrorClass = abstract new (...list: any[]) => Error;

/** A bad call, the class of its error, and what its message must contain. */
export type BadCall = readonly [
  call: (fixture: Fixture) => unknown,
  errorClass: ErrorClass,
  ...texts: (string | RegExp)[],
];

/** Makes a bad call and checks the error and that nothing has changed. */
export async function assertRefused(
  fixture: Fixture,
  [call, errorClass, ...texts]: BadCall,
): Promise<void> {
  const what = call.toString();
  let thrown: unknown;
  try {
    const result = await call(fixture);
    thrown = new Error(`It returned ${Deno.inspect(result)}`);
  } catch (error) {
    thrown = error;
  }
  assert(thrown instanceof errorClass, `${what}: ${Deno.inspect(thrown)}`);
  const { message } = thrown;
  assert(/^Cannot [^]+/.test(message), `${what}: ${message}`);
  for (const text of texts) {
    const found = typeof text === "string" ? message.includes(text) : text.test(message);
    assert(found, `${what}: "${message}" does not contain ${text}`);
  }
  fixture.assertIntact(what);
}
