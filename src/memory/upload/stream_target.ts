/**
 * Where the bytes of a stream go: into a buffer, or into several that are put together in the end,
 * when the stream has not told how long it is.
 *
 * @module
 */

import { giveBackAfterFailure } from "../../ffi/give_back.ts";
import { synchronizeDevice } from "../../ffi/native_device.ts";
import type { Stream } from "../../stream/stream.ts";
import { copyBetween } from "../buffer_copy.ts";
import type { DeviceBuffer } from "../device_buffer.ts";
import type { DType } from "../dtype.ts";
import { elementsOf } from "./upload_options.ts";
import { allocateTarget, type UploadTask } from "./upload_task.ts";

const ACTION = "upload a stream";

/** A place in a buffer. */
export interface TargetPlace {
  /** The buffer. */
  readonly buffer: DeviceBuffer;
  /** Where in it, in bytes. */
  readonly offset: number;
}

/** Where the bytes of a stream go; disposing it frees what was not released. */
export interface StreamTarget extends Disposable {
  /**
   * Allocates what can be, before the stream is asked for anything.
   *
   * @param task Whose copies go there.
   * @throws {OutOfMemoryError} If the device has no room.
   */
  open(task: UploadTask): Promise<void>;
  /**
   * How many bytes more can go to where the next ones go, beyond some that are to go there already;
   * 0 when it has to grow first.
   */
  room(filled: number): number;
  /**
   * Makes room, where all bytes so far have gone somewhere.
   *
   * @throws {RangeError} If there is not to be more.
   * @throws {OutOfMemoryError} If the device has none.
   */
  grow(task: UploadTask): Promise<void>;
  /** Where the next bytes go; those after them go behind them. */
  advance(bytes: number): TargetPlace;
}

/** A buffer of a size that is known beforehand. */
export class FixedTarget<D extends DType> implements StreamTarget {
  readonly #stream: Stream;
  readonly #dtype: D;
  readonly #length: number;
  readonly #bytes: number;
  #buffer: DeviceBuffer<D> | undefined;
  #used = 0;

  /**
   * Allocates nothing yet.
   *
   * @throws {RangeError} If so many bytes are no whole number of elements.
   */
  constructor(stream: Stream, dtype: D, bytes: number) {
    this.#length = elementsOf(bytes, dtype, "bytes", ACTION);
    this.#stream = stream;
    this.#dtype = dtype;
    this.#bytes = bytes;
  }

  /** Allocates the buffer. */
  async open(task: UploadTask): Promise<void> {
    this.#buffer = await allocateTarget(this.#dtype, this.#length, this.#stream, task);
  }

  /** What is left of the buffer. */
  room(filled: number): number {
    return this.#bytes - this.#used - filled;
  }

  /** Refuses to. */
  grow(): Promise<void> {
    throw new RangeError(`Cannot ${ACTION} as it must have ${this.#bytes} bytes: it has more`);
  }

  /** Where the next bytes go. */
  advance(bytes: number): TargetPlace {
    const offset = this.#used;
    this.#used += bytes;
    return { buffer: this.#buffer!, offset };
  }

  /** Requires that the buffer is full. */
  complete(): Promise<void> {
    if (this.#used === this.#bytes) return Promise.resolve();
    throw new RangeError(
      `Cannot ${ACTION} as it must have ${this.#bytes} bytes: it has ${this.#used}`,
    );
  }

  /** Gives the buffer away. */
  release(): DeviceBuffer<D> {
    const buffer = this.#buffer!;
    this.#buffer = undefined;
    return buffer;
  }

  /** Frees a buffer that was not given away, because something failed. */
  [Symbol.dispose](): void {
    if (this.#buffer !== undefined) giveBackAfterFailure(this.#buffer);
  }
}

/** A buffer with what is used of it. */
interface Segment {
  readonly buffer: DeviceBuffer<"uint8">;
  used: number;
}

/** As many buffers as it takes, each as long as all before it. */
export class GrowingTarget<D extends DType> implements StreamTarget {
  readonly #stream: Stream;
  readonly #dtype: D;
  readonly #smallest: number;
  readonly #segments: Segment[] = [];
  #capacity = 0;
  #whole: DeviceBuffer<D> | undefined;

  /**
   * Allocates nothing yet.
   *
   * @param smallest The size of the first buffer in bytes.
   */
  constructor(stream: Stream, dtype: D, smallest: number) {
    elementsOf(0, dtype, "it", ACTION); // refuses a dtype that is none before anything is read
    this.#stream = stream;
    this.#dtype = dtype;
    this.#smallest = smallest;
  }

  /** Does nothing: nobody knows how much there will be. */
  async open(): Promise<void> {}

  /** What is left of the last buffer. */
  room(filled: number): number {
    const last = this.#segments.at(-1);
    return last === undefined ? 0 : last.buffer.length - last.used - filled;
  }

  /** Allocates another buffer, as long as all so far. */
  async grow(task: UploadTask): Promise<void> {
    const bytes = Math.max(this.#smallest, this.#capacity);
    const buffer = await allocateTarget("uint8", bytes, this.#stream, task);
    this.#segments.push({ buffer, used: 0 });
    this.#capacity += bytes;
  }

  /** Where the next bytes go. */
  advance(bytes: number): TargetPlace {
    const { buffer, used } = this.#segments.at(-1)!;
    this.#segments.at(-1)!.used += bytes;
    return { buffer, offset: used };
  }

  /** Puts all bytes together, when they have arrived. */
  async complete(task: UploadTask): Promise<void> {
    const bytes = this.#segments.reduce((sum, { used }) => sum + used, 0);
    const length = elementsOf(bytes, this.#dtype, "it", ACTION);
    this.#whole = await allocateTarget(this.#dtype, length, this.#stream, task);
    try {
      this.#join(this.#whole.address, task.stream);
      await task.done();
    } catch (error) {
      // What is given back now may be in use: nobody can tell how far the stream has come.
      await Promise.allSettled([
        synchronizeDevice(this.#stream.context.library, this.#stream.context.ordinal),
      ]);
      throw error;
    }
    this.#freeParts();
  }

  #join(address: number, stream: Stream): void {
    let offset = 0;
    for (const { buffer, used } of this.#segments) {
      const place = { context: this.#stream.context, address: address + offset, byteLength: used };
      copyBetween(place, buffer, used, stream);
      offset += used;
    }
  }

  #freeParts(): void {
    using parts = new DisposableStack();
    for (const { buffer } of this.#segments) parts.use(buffer);
  }

  /** Gives the whole buffer away. */
  release(): DeviceBuffer<D> {
    const whole = this.#whole!;
    this.#whole = undefined;
    return whole;
  }

  /** Frees the parts, and a whole that was not given away, because something failed. */
  [Symbol.dispose](): void {
    if (this.#whole !== undefined) giveBackAfterFailure(this.#whole);
    for (const { buffer } of this.#segments) giveBackAfterFailure(buffer);
  }
}
