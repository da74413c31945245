/**
 * Operations of `fault_injection_test.ts`, and the objects they work on.
 *
 * @module
 */

import type { Device, DeviceBuffer, Stream } from "../../mod.ts";

/** An operation. Its result and the resources on the stack are disposed after the faults. */
export type Operation = (fixture: Fixture, stack: DisposableStack) => unknown;

/** Objects that operations work on. */
export interface Fixture {
  /** The device. */
  readonly device: Device;
  /** Its label. */
  readonly label: string;
  /** A stream of it. */
  readonly stream: Stream;
  /** A thousand ones. */
  readonly x: DeviceBuffer<"float32">;
  /** Another thousand. */
  readonly y: DeviceBuffer<"float32">;
  /** One element. */
  readonly scalar: DeviceBuffer<"float32">;
  /** Two elements. */
  readonly pair: DeviceBuffer<"float64">;
  /** Ten bins. */
  readonly bins: DeviceBuffer<"uint32">;
  /** How long `keepBusy()` takes, in nanoseconds. */
  busyTime: number;
}

/** Usually longer than a wait polls, and than an operation takes to begin the wait. */
export const BUSY_TIME = 2_000_000;

/** Makes the objects. */
export function makeFixture(device: Device): Fixture & Disposable {
  using stack = new DisposableStack();
  const fixture = {
    device,
    label: device.label,
    stream: stack.use(device.createStream()),
    x: stack.use(device.allocate("float32", 1000, { fill: 1 })),
    y: stack.use(device.allocate("float32", 1000, { fill: 2 })),
    scalar: stack.use(device.allocate("float32", 1)),
    pair: stack.use(device.allocate("float64", 2)),
    bins: stack.use(device.allocate("uint32", 10)),
    busyTime: BUSY_TIME,
  };
  const owned = stack.move();
  return { ...fixture, [Symbol.dispose]: () => owned.dispose() };
}

/** Enqueues a kernel that takes long enough for a wait to leave polling behind. */
export function keepBusy({ device, stream, scalar, busyTime }: Fixture): void {
  device.kernels.load("spin_float32(float* out, unsigned long long nanoseconds, float value)")
    .launch({ grid: 1, block: 1, stream }, scalar, busyTime, 1);
}

/** Performs an operation and returns its resources. */
export async function perform(operation: Operation, fixture: Fixture): Promise<DisposableStack> {
  using stack = new DisposableStack();
  const result = await operation(fixture, stack);
  if (typeof result === "object" && result !== null && Symbol.dispose in result) {
    stack.use(result as Disposable);
  }
  return stack.move();
}
