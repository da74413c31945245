/**
 * The devices of tensors: by name, and copies from one to another.
 *
 * @module
 */

import { contextOf, type DeviceContext } from "../../hardware/device_context.ts";
import { streamFor } from "../../memory/buffer_copy.ts";
import type { Stream } from "../../stream/stream.ts";
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

/**
 * A copy of a range of memory on another device.
 *
 * Between GPUs, and between host devices, the copy is enqueued: streams wait for each other by events,
 * and operations of the source that wait for a compiler are compiled first. A copy between a GPU and
 * the CPU passes through an array.
 *
 * @param requested A stream of the other device; its default stream by default.
 */
export function copiedTo(
  context: DeviceContext,
  source: TensorStorage,
  start: number,
  length: number,
  requested: Stream | undefined,
): TensorStorage {
  const action = `copy a tensor to ${context.label}`;
  source.work.order.settleNow(action);
  const stream = streamFor(context, requested);
  const { failure, buffer: { dtype } } = source;
  const target = TensorStorage.allocate(context, dtype, length, stream);
  const isNear = context.library === source.context.library && source.reports.length === 0;
  try {
    if (failure !== undefined) throw failure;
    if (length === 0) return target;
    if (isNear) source.orderRead(stream);
    const content = isNear
      ? source.buffer.view(start, start + length)
      : source.readSync(start, length);
    // The memory is new: no operation that waits uses it.
    target.work.order.aside(() => target.buffer.copyFrom(content, { stream }));
  } catch (error) {
    if (source.failure === undefined) {
      target.buffer.free();
      throw error;
    }
    target.conclude(source.failure, NO_REPORTS, true);
  }
  return target;
}
