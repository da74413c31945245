/**
 * Timing launches one by one by events, each on the same content of what it writes to.
 *
 * @module
 */

import { DeviceBuffer } from "../../memory/device_buffer.ts";
import { Event } from "../../stream/event.ts";
import type { Stream } from "../../stream/stream.ts";
import { builtInKernel } from "../../launch/kernel_library.ts";
import { Level2Flush } from "../../launch/level2_flush.ts";

/** What is put back before every launch: a buffer, and its content on the device. */
interface KeptContent {
  readonly buffer: DeviceBuffer<"uint8">;
  readonly copy: DeviceBuffer<"uint8">;
}

const SPIN = "spin_float32(float* out, unsigned long long nanoseconds, float value)";

/**
 * How long the device is kept busy before a timed launch, in nanoseconds: longer than it takes to
 * enqueue that. Otherwise the time would begin with the device waiting for the launch.
 */
const HEAD_START = 50_000;

/** Events have a resolution of about half a microsecond: more digits than these say nothing. */
const DIGITS_PER_MICROSECOND = 1000;

/** Times launches on one stream. */
export class LaunchTimer implements Disposable {
  readonly #stream: Stream;
  readonly #flush: Level2Flush;
  readonly #start: Event;
  readonly #end: Event;
  readonly #kept: readonly KeptContent[];
  readonly #keepBusy: () => void;
  readonly #owned: DisposableStack;

  /**
   * Copies what is to be put back, on the device and in the order of the stream.
   *
   * @param restore What launches write to.
   * @throws {OutOfMemoryError} If the device has no room for the copies.
   */
  constructor(stream: Stream, restore: readonly DeviceBuffer[], flushCache: boolean) {
    using stack = new DisposableStack();
    const { context } = stream;
    this.#stream = stream;
    this.#flush = stack.use(new Level2Flush(stream, flushCache));
    this.#start = stack.use(new Event(context, { timing: true }));
    this.#end = stack.use(new Event(context, { timing: true }));
    this.#kept = restore.filter(({ length }) => length > 0).map((of) => {
      const buffer = of.as("uint8");
      const copy = DeviceBuffer.allocate(context, "uint8", buffer.length, { stream });
      stack.use(copy).copyFrom(buffer, { stream });
      return { buffer, copy };
    });
    const spin = builtInKernel(context, SPIN);
    const out = stack.use(DeviceBuffer.allocate(context, "float32", 1, { stream }));
    this.#keepBusy = () => spin.launch({ grid: 1, block: 1, stream }, out, HEAD_START, 0);
    this.#owned = stack.move();
  }

  /**
   * How long what a launch enqueues takes, in microseconds. What it writes to is put back and the
   * cache overwritten before.
   *
   * @param launch Enqueues work on the stream.
   * @throws {CudaError} If the work fails, and whatever `launch` throws.
   */
  async time(launch: () => void): Promise<number> {
    this.restore();
    this.#flush.enqueue();
    this.#keepBusy();
    this.#start.record(this.#stream);
    launch();
    this.#end.record(this.#stream);
    await this.#end.done();
    const microseconds = 1000 * this.#end.elapsedSince(this.#start);
    return Math.round(microseconds * DIGITS_PER_MICROSECOND) / DIGITS_PER_MICROSECOND;
  }

  /** Enqueues putting back what was there in the beginning. */
  restore(): void {
    for (const { buffer, copy } of this.#kept) buffer.copyFrom(copy, { stream: this.#stream });
  }

  /** Gives everything back; the content is not put back by it. */
  [Symbol.dispose](): void {
    this.#owned.dispose();
  }
}
