/**
 * Quantisation, with references.
 *
 * @module
 */

import type { Tensor } from "../../tensor/tensor.ts";
import { fromTypedArray } from "../../tensor/creation.ts";
import { quantizeActivations, quantizeWeights } from "../../ternary/quantize.ts";
import type { Device } from "../device.ts";
import { DeviceAwareQuantizer, type QuantizedFormat } from "../quantizer.ts";
import type { MatrixOperation } from "./matrix_operations.ts";
import { roundToEven } from "./tensor_references.ts";

type Row = readonly number[];

/** Makes elements of both signs. */
const SHIFT = 2;
/** The smallest scale, as BitNet has it. */
const LEAST = 1e-5;

const shifted = (x: Tensor) => x.subtract(SHIFT) as Tensor<"float32">;
const shiftedRow = (row: Row) => row.map((it) => Math.fround(it - SHIFT));

/** A row rounded by a factor, within limits, and multiplied with a scale. */
const rescaled = (row: Row, factor: number, scale: number, lowest: number, highest: number) =>
  row.map((it) => {
    const code = roundToEven(Math.fround(it * factor));
    return Math.min(Math.max(code, lowest), highest) * scale;
  });

/** All rows as -1, 0 and 1 times their mean magnitude. */
function ternary(rows: readonly Row[]): Row[] {
  const all = rows.flat();
  const mean = all.reduce((sum, it) => sum + Math.abs(it), 0) / all.length;
  const scale = Math.fround(Math.max(mean, LEAST));
  return rows.map((row) => rescaled(row, Math.fround(1 / scale), scale, -1, 1));
}

/** Each row as 127 steps of its largest magnitude. */
function steps(row: Row): Row {
  const most = Math.max(LEAST, ...row.map(Math.abs));
  return rescaled(row, Math.fround(127 / most), Math.fround(most / 127), -128, 127);
}

/** What the bytes of the quantizer stand for. */
const restored = (
  format: QuantizedFormat,
  reference: (rows: readonly Row[]) => readonly Row[],
): MatrixOperation => ({
  dtypes: ["float32"],
  bound: 1,
  async run(x: Tensor, device: Device) {
    const own = x.slice([{ stop: 12 }, { stop: 64 }]).subtract(SHIFT) as Tensor<"float32">;
    const shape = [3, 256];
    using quantizer = new DeviceAwareQuantizer({ device, fallback: null });
    const values = await own.toArray() as Float32Array;
    const quantized = await quantizer.quantize(values, shape, format);
    const data = await quantizer.dequantize(quantized);
    return fromTypedArray(data, shape, { device }) as Tensor;
  },
  reference(x) {
    const all = x.slice(0, 12).flatMap((row) => shiftedRow(row.slice(0, 64)));
    return reference([0, 1, 2].map((row) => all.slice(row * 256, (row + 1) * 256)));
  },
});

/** The operations by name; a word after the name is the variant. */
export const QUANTIZATION_OPERATIONS: Readonly<Record<string, MatrixOperation>> = {
  quantizeWeights: {
    dtypes: ["float32"],
    bound: 1,
    run(x) {
      const { codes, scale } = quantizeWeights(shifted(x));
      return codes.astype("float32").multiply(scale) as Tensor;
    },
    reference: (x) => ternary(x.map(shiftedRow)),
  },
  quantizeActivations: {
    dtypes: ["float32"],
    bound: 1,
    run(x) {
      const { values, scale } = quantizeActivations(shifted(x));
      return values.astype("float32").multiply(scale.reshape([-1, 1])) as Tensor;
    },
    reference: (x) => x.map(shiftedRow).map(steps),
  },
  "DeviceAwareQuantizer int8": restored("int8", (rows) => rows.map(steps)),
  "DeviceAwareQuantizer i2_s": restored("i2_s", ternary),
};
