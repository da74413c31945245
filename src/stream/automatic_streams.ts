/**
 * Streams that a program does not name: independent operations take different ones, so they may overlap.
 *
 * @module
 */

import { describeValue } from "../ffi/describe_value.ts";
import type { NativeLibrary } from "../ffi/library.ts";
import type { DeviceContext } from "../hardware/device_context.ts";
import { closeStream, makeDeviceStream, type Stream } from "./stream.ts";

/** How work without a stream option is spread over streams. */
export type StreamMode = "single" | "automatic";
const MODES: readonly StreamMode[] = ["single", "automatic"];

/** As many as overlap small kernels of a model's branches, such as queries, keys and values. */
const COUNT = 4;

/** What operations write, by the stream that they wrote it on last. */
interface Written {
  readonly stream: Stream;
}

const chosen = new WeakMap<NativeLibrary, (AutomaticStreams | undefined)[]>();

/** The automatic streams of a device. */
export class AutomaticStreams {
  readonly #streams: readonly Stream[];
  /** The last results of the streams. */
  readonly #last: (WeakRef<Written> | undefined)[] = [];
  #next = 0;

  constructor(context: DeviceContext) {
    this.#streams = Array.from({ length: COUNT }, () => makeDeviceStream(context));
  }

  /** Whether a stream is one of these. */
  has(stream: Stream): boolean {
    return this.#streams.includes(stream);
  }

  /**
   * The stream for an operation: one that ends with an operand of it, so no event is needed, or else the
   * next one in turn.
   */
  streamAfter(operands: readonly Written[]): Stream {
    for (const operand of operands) {
      const index = this.#streams.indexOf(operand.stream);
      if (index >= 0 && this.#last[index]?.deref() === operand) return operand.stream;
    }
    const stream = this.#streams[this.#next]!;
    this.#next = (this.#next + 1) % this.#streams.length;
    return stream;
  }

  /** Notes the last result of a stream. */
  noteResult(result: Written, stream: Stream): void {
    const index = this.#streams.indexOf(stream);
    if (index >= 0) this.#last[index] = new WeakRef(result);
  }

  close(): void {
    for (const stream of this.#streams) closeStream(stream);
  }
}

/** The automatic streams of a context's device; undefined if it has none. */
export function automaticStreamsOf(
  { library, ordinal }: DeviceContext,
): AutomaticStreams | undefined {
  return chosen.get(library)?.[ordinal];
}

/** Chooses how work of a device without a stream option is spread over streams. */
export function setStreamMode(context: DeviceContext, mode: unknown): void {
  if (!MODES.includes(mode as StreamMode)) {
    throw new TypeError(
      `Cannot set the streams as mode must be ${MODES.join(" or ")}: it is ${describeValue(mode)}`,
    );
  }
  const { library, ordinal } = context;
  let devices = chosen.get(library);
  if (devices === undefined) chosen.set(library, devices = []);
  if ((mode === "automatic") === (devices[ordinal] !== undefined)) return;
  if (mode === "single") {
    // The streams stay open: tensors were written on them.
    devices[ordinal] = undefined;
    return;
  }
  const own = devices[ordinal] = new AutomaticStreams(context);
  context.onClose(() => {
    if (devices[ordinal] === own) devices[ordinal] = undefined;
    own.close();
  });
}
