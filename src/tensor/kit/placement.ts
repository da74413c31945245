/**
 * The devices of tensors: by name, and copies from one to another.
 *
 * @module
 */

import { contextOf, type DeviceContext } from "../../hardware/device_context.ts";
import { streamFor } from "../../memory/buffer_copy.ts";
import type { DeviceBuffer } from "../../memory/device_buffer.ts";
import type { DType, TypedArrayOf } from "../../memory/dtype.ts";
import type { Stream } from "../../stream/stream.ts";
import type { OperationPreparation } from "./operation/operation.ts";
import { NO_REPORTS } from "./operation/reports.ts";
import { TensorStorage } from "./storage.ts";

/**
 * A device for tensors: a name such as `"cuda:1"`, `"cuda"` or `"host"`, as `openDevice()` takes it,
 * or an open `Device`, or a tensor or buffer of the device. A name opens the device, which then
 * stays open.
 * @category Tensors
 */
export type TensorDevice = string | { readonly context: DeviceContext };

type OpenDevice = (selector?: string) => Disposable & { readonly context: DeviceContext };

let open: OpenDevice;
/** The devices that were opened, by selector; undefined selects the default device. */
const opened = new Map<string | undefined, DeviceContext>();

/** Sets the function that opens devices. */
export function provideDevices(provided: OpenDevice): void {
  open = provided;
}

/** The device of a selector, opened on first use. */
export function namedContext(selector?: string): DeviceContext {
  let context = opened.get(selector);
  if (context === undefined) {
    const device = open(selector);
    // Different selectors of one device share its kernels.
    const same = opened.values().find((other) => other.isSameDevice(device.context));
    if (same !== undefined) device[Symbol.dispose]();
    opened.set(selector, context = same ?? device.context);
  }
  return context;
}

/** The context of a device that an argument names. */
export function contextOfDevice(
  device: TensorDevice,
  name: string,
  action: string,
): DeviceContext {
  return typeof device === "string" ? namedContext(device) : contextOf(device, name, action);
}

/** The device that options name, or the default device. */
export function placeOf(
  { device, stream }: { readonly device?: TensorDevice; readonly stream?: Stream },
  action: string,
): DeviceContext {
  if (device !== undefined) return contextOfDevice(device, "options.device", action);
  if (stream !== undefined) return contextOf(stream, "options.stream", action);
  return namedContext();
}

/** Whether memory can be copied to a device at once: nothing must be awaited or checked before. */
export function isNear(context: DeviceContext, source: TensorStorage): boolean {
  return context.library === source.context.library && !source.work.order.isWaiting &&
    source.reports === NO_REPORTS;
}

/** A part of memory, in elements. */
type Range = readonly [start: number, length: number];

/** Elements that pass through an array from one device to another. */
class Transfer implements OperationPreparation {
  readonly settled: Promise<void>;
  isSettled = false;
  failure: Error | undefined;
  readonly #source: TensorStorage;
  readonly #range: Range;
  readonly #receive: (elements: TypedArrayOf<DType>) => void;

  /** Starts to read memory that nothing overwrites. */
  constructor(
    source: TensorStorage,
    range: Range,
    receive: (elements: TypedArrayOf<DType>) => void,
  ) {
    this.#source = source;
    this.#range = range;
    this.#receive = receive;
    source.hold();
    const reading = source.read(...range);
    this.settled = reading.then(
      (elements) => this.#settle(() => elements),
      (error) =>
        this.#settle(() => {
          throw error;
        }),
    );
  }

  #settle(read: () => TypedArrayOf<DType>): void {
    if (this.isSettled) return;
    this.isSettled = true;
    try {
      this.#receive(read());
    } catch (error) {
      this.failure = error as Error;
    } finally {
      this.#source.release();
    }
  }

  settleNow(action: string): void {
    const source = this.#source;
    if (source.isPending) source.work.order.settleNow(action);
    this.#settle(() => {
      if (source.failure !== undefined) throw source.failure;
      return source.readSync(...this.#range);
    });
  }
}

/**
 * A copy of a range of memory on another device. The copy is enqueued if the memory is near; streams
 * wait for each other by events. Otherwise it passes through an array while the program continues, and
 * operations of the other device wait for it: nothing may overwrite the memory meanwhile.
 *
 * @param requested A stream of the other device; its default stream by default.
 */
export function copiedTo(
  context: DeviceContext,
  source: TensorStorage,
  range: Range,
  requested: Stream | undefined,
): TensorStorage {
  const stream = streamFor(context, requested);
  const { dtype } = source.buffer;
  const [start, length] = range;
  const target = TensorStorage.allocate(context, dtype, length, stream);
  // The memory is new: no operation that waits uses it.
  const receive = (content: TypedArrayOf<DType> | DeviceBuffer) => {
    if (!target.freed) target.work.order.aside(() => target.buffer.copyFrom(content, { stream }));
  };
  try {
    if (!isNear(context, source)) {
      const transfer = new Transfer(source, range, receive);
      target.work.enqueue(transfer, [], [{ storage: target, isWhole: true }], () => {});
    } else if (source.failure !== undefined) target.conclude(source.failure, NO_REPORTS, true);
    else if (length > 0) {
      source.orderRead(stream);
      receive(source.buffer.view(start, start + length));
    }
  } catch (error) {
    target.buffer.free();
    throw error;
  }
  return target;
}
