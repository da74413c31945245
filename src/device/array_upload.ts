/**
 * From a JavaScript array to a buffer of the same elements.
 *
 * @module
 */

import { requireObject } from "../ffi/arguments.ts";
import { describeValue } from "../ffi/describe_value.ts";
import { giveBackAfterFailure } from "../ffi/give_back.ts";
import type { DeviceContext } from "../hardware/device_context.ts";
import type { StreamChoice } from "../memory/buffer_options.ts";
import { DeviceBuffer } from "../memory/device_buffer.ts";
import { type AnyTypedArray, type DType, dtypeOf } from "../memory/dtype.ts";

/** Options of {@linkcode Device.upload}. */
export interface UploadOptions<D extends DType> extends StreamChoice {
  /**
   * The element type, where the array does not tell: `bfloat16` bits come in a `Uint16Array`,
   * `bool` and `float8_*` in a `Uint8Array`.
   */
  readonly dtype: D;
}

/**
 * Allocates a buffer as long as an array and enqueues copying the array into it.
 *
 * @throws {TypeError} If the array does not tell its element type and the options do not name it.
 * @throws {OutOfMemoryError} If the device has no room.
 */
export function uploadArray(
  context: DeviceContext,
  array: AnyTypedArray,
  options: Partial<UploadOptions<DType>>,
): DeviceBuffer {
  requireObject(options, "options", "upload");
  const dtype = options.dtype ?? elementTypeOf(array);
  if (!ArrayBuffer.isView(array)) throw refusal(array);
  const { stream } = options;
  const choice = stream === undefined ? {} : { stream };
  const buffer = DeviceBuffer.allocate(context, dtype, array.length, choice);
  try {
    buffer.copyFrom(array, options);
  } catch (error) {
    giveBackAfterFailure(buffer);
    throw error;
  }
  return buffer;
}

function elementTypeOf(array: unknown): DType {
  const dtype = ArrayBuffer.isView(array) ? dtypeOf(array) as DType | undefined : undefined;
  if (dtype !== undefined) return dtype;
  throw refusal(array);
}

function refusal(array: unknown): TypeError {
  return new TypeError(
    `Cannot upload as array must be a typed array with an element type of its own, or one that options.dtype names: it is ${
      describeValue(array)
    }`,
  );
}
