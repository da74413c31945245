/**
 * Buffers to time operations on.
 *
 * @module
 */

import type { DeviceContext } from "../../hardware/device_context.ts";
import { DeviceBuffer } from "../../memory/device_buffer.ts";
import { bytesPerElement } from "../../memory/dtype.ts";
import { elementBits } from "../../memory/element_bits.ts";
import type { Stream } from "../../stream/stream.ts";
import { isFloating, type NumericDType } from "../../kernels/operands.ts";
import type { TuningOperands } from "./tunable_operations.ts";

/** How many different values `x` has, from 0 on: as many bins does the histogram have. */
const VALUES = 64;

/** Elements after which the values come again; neighbours differ. */
const PERIOD = 4096;
const STRIDE = 37;

/**
 * Makes the operands of an element type and a size. What a kernel reads changes what it takes, so
 * that all its configurations read the same, and no constants.
 *
 * @param owned What gives them back.
 * @throws {OutOfMemoryError} If the device has no room.
 */
export function makeOperands(
  context: DeviceContext,
  dtype: NumericDType,
  elements: number,
  stream: Stream,
  owned: DisposableStack,
): TuningOperands {
  const allocate = <D extends NumericDType>(of: D, length: number) =>
    owned.use(DeviceBuffer.allocate(context, of, length, { stream }));
  const x = allocate(dtype, elements);
  const y = allocate(dtype, elements);
  writePattern(x, stream);
  y.copyFrom(x, { stream });
  return {
    x,
    y,
    total: allocate(isFloating(dtype) ? "float64" : "int64", 1),
    extremum: allocate(dtype, 1),
    pair: allocate("float64", 2),
    counts: allocate("uint32", VALUES),
    stream,
  };
}

/** Writes the pattern once, and doubles what is there until the buffer is full. */
function writePattern(x: DeviceBuffer<NumericDType>, stream: Stream): void {
  const bytes = x.as("uint8");
  const start = patternOf(x.dtype, Math.min(PERIOD, x.length));
  bytes.view(0, start.length).copyFrom(start, { stream });
  for (let done = start.length; done < bytes.length; done *= 2) {
    const length = Math.min(done, bytes.length - done);
    bytes.view(done, done + length).copyFrom(bytes.view(0, length), { stream });
  }
}

/** The bytes of the first elements. */
function patternOf(dtype: NumericDType, length: number): Uint8Array<ArrayBuffer> {
  const width = bytesPerElement(dtype);
  const bytes = new Uint8Array(length * width);
  const view = new DataView(bytes.buffer);
  for (let index = 0; index < length; index++) {
    const bits = BigInt(elementBits(dtype, (index * STRIDE) % VALUES));
    // Little-endian, as all devices are.
    for (let byte = 0; byte < width; byte++) {
      view.setUint8(index * width + byte, Number(bits >> BigInt(8 * byte) & 0xffn));
    }
  }
  return bytes;
}
