/**
 * The default stream of a device: where work goes that names no stream.
 *
 * @module
 */

import type { DeviceContext } from "../hardware/device_context.ts";
import { Stream } from "./stream.ts";

const streams = new WeakMap<DeviceContext, Stream>();

// Asked at every allocation, where looking it up would take a fifth of the time: what was asked for
// last.
let latestContext: DeviceContext | undefined;
let latestStream: Stream | undefined;

/**
 * The default stream of an opened device, made when it is first needed. It is a non-blocking
 * stream like any other, but it does not hold the device open, and only the device gives it back:
 * were a caller to end it, work enqueued later would go to another one and not wait for this one's.
 */
export function defaultStream(context: DeviceContext): Stream {
  if (context === latestContext && !latestStream!.disposed) return latestStream!;
  const known = streams.get(context);
  if (known !== undefined && !known.disposed) return remembered(context, known);
  if (context.closed) throw new TypeError(`Cannot use ${context.label} as it is disposed`);
  // A hold of its own would keep the device open for ever, so the context closes it instead.
  const stream = Stream.ofDevice(context);
  streams.set(context, stream);
  context.onClose(() => {
    // What is closed must not be kept from the garbage collector.
    if (latestContext === context) latestContext = latestStream = undefined;
    stream.close();
  });
  return remembered(context, stream);
}

function remembered(context: DeviceContext, stream: Stream): Stream {
  latestContext = context;
  latestStream = stream;
  return stream;
}
