// Built-in operations have the bits of those of tensors, on every length that changes how elements are
// taken: by warps and blocks, in packets or not, aligned or not, in parts and with their merge.

import { assertEquals } from "@std/assert";
import type { DeviceBuffer } from "../../mod.ts";
import { add, mean, multiply, sum, type Tensor, tensor } from "../../src/device/tensor.ts";
import { isFloating, NUMERIC_DTYPES, type NumericDType } from "../../src/kernels/operands.ts";
import { storageOf } from "../../src/tensor/tensor.ts";
import { forms } from "../support/tensor_forms.ts";

/** The lengths of a type: each that reads other numbers of packets at once is a kernel of its own. */
const LENGTHS: Readonly<Partial<Record<NumericDType, readonly number[]>>> = {
  float32: [0, 1, 31, 1024, 1028, 16_386, 270_001, 1_050_624],
  float64: [1_050_624],
  float16: [270_001, 1_050_624],
  bfloat16: [270_001],
  int32: [1_050_624],
  uint64: [1027],
  uint8: [1_050_624],
};

/** The memory of a tensor, once its kernel is compiled: a launch before would compile it again. */
async function bufferOf(result: Tensor): Promise<DeviceBuffer> {
  await result.toArray();
  return storageOf(result).buffer;
}

/** The bytes of the only element. */
async function bitsOf(out: DeviceBuffer): Promise<readonly number[]> {
  return [...new Uint8Array((await out.as("uint8").toArray()).buffer)];
}

/** Lengths without a whole packet, with one, and of more than one block of either form. */
const ELEMENTWISE_LENGTHS = [0, 1, 15, 17, 40_001];

for (const [form, device] of forms) {
  Deno.test(`add() and multiply() have the bits of tensors (${form})`, async () => {
    const most = Math.max(...ELEMENTWISE_LENGTHS) + 1;
    for (const dtype of NUMERIC_DTYPES) {
      // Sums and products of integers wrap, those of floats are rounded.
      const values = (phase: number) =>
        Array.from(
          { length: most },
          (_, at) =>
            isFloating(dtype)
              ? Math.sin(at + phase) * 170
              : Math.trunc(Math.sin(at + phase) ** 2 * 120),
        );
      using x = tensor(values(0), { dtype, device }) as Tensor;
      using y = tensor(values(1), { dtype, device }) as Tensor;
      const [xs, ys] = [x, y].map((all) => storageOf(all).buffer as DeviceBuffer<"float32">);
      using out = device.allocate(dtype, most) as DeviceBuffer<"float32">;
      for (const [name, operation] of Object.entries({ add, multiply })) {
        for (const length of ELEMENTWISE_LENGTHS) {
          for (const offset of [0, 1]) {
            const part = (all: Tensor) => all.slice([{ start: offset, stop: offset + length }]);
            using result = operation(part(x), part(y));
            const expected = await bitsOf(await bufferOf(result));
            const view = (all: DeviceBuffer<"float32">) => all.view(offset, offset + length);
            device.kernels[name as "add"](view(xs!), view(ys!), view(out));
            const actual = await bitsOf(view(out) as DeviceBuffer);
            assertEquals(actual, expected, `${name} ${dtype}: ${length} elements from ${offset}`);
          }
        }
      }
    }
  });

  for (const [dtype, lengths] of Object.entries(LENGTHS) as [NumericDType, number[]][]) {
    Deno.test(`sum() and mean() of ${dtype} have the bits of tensors (${form})`, async () => {
      const isReal = isFloating(dtype);
      const values = Array.from(
        { length: Math.max(...lengths) + 1 },
        (_, at) => isReal ? Math.sin(at) * 1.7 : Math.trunc(Math.sin(at) ** 2 * 100),
      );
      using all = tensor(values, { dtype, device });
      const buffer = storageOf(all as Tensor).buffer as DeviceBuffer<"float32">;
      for (const length of lengths) {
        for (const offset of [0, 1]) {
          using part = (all as Tensor).slice([{ start: offset, stop: offset + length }]);
          const view = buffer.view(offset, offset + length);
          const named = `${length} elements from ${offset}`;
          using total = sum(part);
          const expectedSum = await bitsOf(await bufferOf(total));
          using totalOut = device.allocate(total.dtype, 1) as DeviceBuffer<"float32">;
          device.kernels.sum(view, totalOut);
          assertEquals(await bitsOf(totalOut), expectedSum, named);
          using average = mean(part);
          const expectedMean = await bitsOf(await bufferOf(average));
          using averageOut = device.allocate(average.dtype, 1) as DeviceBuffer<"float32">;
          device.kernels.mean(view, averageOut);
          assertEquals(await bitsOf(averageOut), expectedMean, named);
        }
      }
    });
  }
}
