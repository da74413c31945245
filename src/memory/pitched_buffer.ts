/**
 * Rows of elements in device memory, at a pitch.
 *
 * @module
 */

import { checkInteger, requireInstance, requireOptions } from "../ffi/arguments.ts";
import { describeValue, formatBytes } from "../ffi/describe_value.ts";
import { displayAs } from "../ffi/display.ts";
import { labelOf } from "../hardware/device_context.ts";
import type { Stream } from "../stream/stream.ts";
import {
  copyRows,
  downloadInOrder,
  downloadSync,
  requireArray,
  requireSameDType,
  streamFor,
  upload,
} from "./buffer_copy.ts";
import type { StreamChoice } from "./buffer_options.ts";
import { DeviceBuffer } from "./device_buffer.ts";
import type { PitchedRange } from "./device_range.ts";
import { bytesPerElement, createTypedArray, type DType, type TypedArrayOf } from "./dtype.ts";

const MAKE = "make a pitched buffer";
const INTO = "copy into a pitched buffer";
const FROM = "copy from a pitched buffer";

/** The pitch of `cudaMallocPitch`. */
const PITCH = 512;
const MAX_BYTES = Number.MAX_SAFE_INTEGER;

/** The pitch of new rows in bytes, and the elements of all rows with their padding. */
export function pitchedLayout(dtype: DType, rows: number, columns: number) {
  const size = bytesPerElement(dtype);
  const maxColumns = Math.floor((MAX_BYTES - PITCH) / size);
  const width = checkInteger(columns, "columns", MAKE, 0, maxColumns) * size;
  const pitchBytes = Math.ceil(width / PITCH) * PITCH;
  const maxRows = Math.floor(MAX_BYTES / Math.max(1, pitchBytes));
  const length = checkInteger(rows, "rows", MAKE, 0, maxRows) * pitchBytes / size;
  return { pitchBytes, length };
}

/**
 * Rows of elements on a device, made by `device.allocate2d()`. Each row begins at a multiple of the
 * pitch. Typed arrays hold the rows without padding, and copies pad them.
 *
 * Kernels take {@linkcode PitchedBuffer.buffer} and the pitch.
 *
 * @typeParam D The element type.
 *
 * @example
 * ```ts
 * import { openDevice, PitchedBuffer } from "@gridstride/cuda";
 *
 * using device = openDevice();
 * using matrix = device.allocate2d("float32", 2, 3);
 * matrix.copyFrom(Float32Array.of(1, 2, 3, 4, 5, 6));
 * const { pitchBytes } = matrix;
 * using tile = new PitchedBuffer(matrix.buffer.view(1), 2, 2, { pitchBytes });
 * console.log(pitchBytes, await tile.toArray()); // 512 Float32Array(4) [ 2, 3, 5, 6 ]
 * ```
 * @category Memory
 */
export class PitchedBuffer<D extends DType = DType> implements Disposable {
  /** The memory, with the padding of the rows. */
  readonly buffer: DeviceBuffer<D>;
  /** The number of rows. */
  readonly rows: number;
  /** The elements in a row, without padding. */
  readonly columns: number;
  /** The bytes from the beginning of a row to the next; a multiple of 512 for a new buffer. */
  readonly pitchBytes: number;

  /**
   * Rows in an existing buffer, or in a view for the rows of a tile. Disposing frees the buffer, but
   * not if it is a view.
   *
   * @param buffer The memory, which begins with the first row.
   * @param options The pitch in bytes; that of rows without padding by default.
   * @throws {RangeError} If the rows exceed the buffer, or the pitch is less than a row or no multiple
   * of the element size.
   */
  constructor(
    buffer: DeviceBuffer<D>,
    rows: number,
    columns: number,
    options: { readonly pitchBytes?: number } = {},
  ) {
    requireInstance(buffer, DeviceBuffer, "buffer", MAKE);
    requireOptions(options, ["pitchBytes"], MAKE);
    const size = bytesPerElement(buffer.dtype);
    this.buffer = buffer;
    this.rows = checkInteger(rows, "rows", MAKE, 0, MAX_BYTES);
    this.columns = checkInteger(columns, "columns", MAKE, 0, Math.floor(MAX_BYTES / size));
    const width = this.columns * size;
    const { pitchBytes = width } = options;
    this.pitchBytes = checkInteger(pitchBytes, "options.pitchBytes", MAKE, width, MAX_BYTES);
    const bytes = rows * columns === 0 ? 0 : (rows - 1) * pitchBytes + width;
    if (pitchBytes % size !== 0 || bytes > buffer.byteLength) {
      throw new RangeError(
        `Cannot ${MAKE} as options.pitchBytes must be a multiple of ${size}, and ${rows} rows of ${columns} elements must fit ${buffer.byteLength} bytes: it is ${
          describeValue(pitchBytes)
        }, and they take ${bytes}`,
      );
    }
    void buffer.address; // throws for a disposed buffer
    Object.freeze(this);
  }

  /**
   * Enqueues a copy into the rows; the padding keeps its content. Arrays are staged as by
   * {@linkcode DeviceBuffer.copyFrom}.
   *
   * @param source A typed array or buffer with the rows one after the other, or a pitched buffer with
   * as many rows and columns, of this element type.
   * @throws {RangeError} If the source has another size.
   * @throws {TypeError} If the element types differ.
   * @throws {CudaError} If source and destination overlap.
   */
  copyFrom(
    source: TypedArrayOf<D> | DeviceBuffer<D> | PitchedBuffer<D>,
    options: StreamChoice = {},
  ): void {
    requireOptions(options, ["stream"], INTO);
    const { buffer: { context, dtype }, rows, columns } = this;
    const stream = streamFor(context, options.stream);
    const requireShape = (isRight: boolean, shape: string) => {
      if (isRight) return;
      throw new RangeError(
        `Cannot ${INTO} as source must have its ${rows} rows of ${columns} elements: it has ${shape}`,
      );
    };
    if (source instanceof PitchedBuffer) {
      const isRight = source.rows === rows && source.columns === columns;
      requireSameDType(source.buffer, dtype);
      requireShape(isRight, `${source.rows} of ${source.columns}`);
      copyRows(this.#range(stream), source.#range(stream), stream);
    } else if (source instanceof DeviceBuffer) {
      requireSameDType(source, dtype);
      requireShape(source.length === rows * columns, `${source.length}`);
      this.copyFrom(new PitchedBuffer(source, rows, columns), { stream });
    } else {
      const bytes = requireArray(source, dtype, "source");
      const length = bytes.byteLength / bytesPerElement(dtype);
      requireShape(length === rows * columns, `${length}`);
      upload(this.#range(stream), bytes, stream);
    }
  }

  /** Returns the rows without padding; see {@linkcode DeviceBuffer.toArray}. */
  async toArray(options: StreamChoice = {}): Promise<TypedArrayOf<D, ArrayBuffer>> {
    const { array, bytes, range, stream } = this.#plan(options);
    await downloadInOrder(bytes, this.buffer, range, stream);
    return array;
  }

  /** The blocking twin of {@linkcode PitchedBuffer.toArray}. */
  toArraySync(options: StreamChoice = {}): TypedArrayOf<D, ArrayBuffer> {
    const { array, bytes, range, stream } = this.#plan(options);
    downloadSync(bytes, range, stream);
    return array;
  }

  /** Frees the memory; see {@linkcode DeviceBuffer.free}. */
  [Symbol.dispose](): void {
    this.buffer.free();
  }

  #plan(options: StreamChoice) {
    requireOptions(options, ["stream"], FROM);
    const stream = streamFor(this.buffer.context, options.stream);
    const range = this.#range(stream);
    const array = createTypedArray(this.buffer.dtype, this.rows * this.columns);
    return { array, bytes: new Uint8Array(array.buffer), range, stream };
  }

  /** The rows, with the stream recorded as a user. */
  #range(stream: Stream): PitchedRange {
    const { buffer, rows: height, pitchBytes: pitch } = this;
    const width = this.columns * bytesPerElement(buffer.dtype);
    buffer.recordStream(stream);
    const { context, address } = buffer;
    return { context, address, byteLength: width * height, rows: { pitch, width, height } };
  }
}

displayAs<PitchedBuffer>(PitchedBuffer.prototype, "PitchedBuffer", {
  dtype: ({ buffer }) => buffer.dtype,
  rows: ({ rows }) => rows,
  columns: ({ columns }) => columns,
  pitch: ({ pitchBytes }) => formatBytes(pitchBytes),
  device: ({ buffer }) => labelOf(buffer),
  disposed: ({ buffer }) => buffer.disposed,
});
