/**
 * Checks that bad input is refused: with the right error, and without a change to any buffer.
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
  /** Fails when a buffer has changed. */
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

/** A call that must throw. */
export type BadCall = (fixture: Fixture) => unknown;

// deno-lint-ignore no-explicit-any
type ErrorClass = abstract new (...list: any[]) => Error;

/** Checks that every call throws this class of error with these texts, separated by " … ". */
export async function assertAllRefused(
  fixture: Fixture,
  errorClass: ErrorClass,
  texts: string,
  calls: readonly BadCall[],
): Promise<void> {
  for (const call of calls) {
    const what = `${call}, to throw "${texts}"`;
    const outcome = await Promise.try(call, fixture).then(
      (result) => new Error(`It returned ${Deno.inspect(result)}`),
      (error: unknown) => error,
    );
    assert(outcome instanceof errorClass, `${what}: ${Deno.inspect(outcome)}`);
    const { message } = outcome;
    for (const text of ["Cannot ", ...texts.split(" … ")]) {
      assert(message.includes(text), `${what}: "${message}" does not contain ${text}`);
    }
    fixture.assertIntact(what);
  }
}

/** Checks that each call throws this class of error with the texts of its key. */
export async function assertRefused(
  fixture: Fixture,
  errorClass: ErrorClass,
  calls: Readonly<Record<string, BadCall>>,
): Promise<void> {
  for (const [texts, call] of Object.entries(calls)) {
    await assertAllRefused(fixture, errorClass, texts, [call]);
  }
}
