// The machine code of matrix products for compute capability 9.0.
// Needs no GPU: it compiles for given architectures.

import { assert, assertEquals } from "@std/assert";
import type { DType } from "../../../mod.ts";
import { matmul, type MatmulOptions, type Tensor, zeros } from "../../../src/device/tensor.ts";
import {
  countBefore,
  countOf,
  type Instruction,
  machineCode,
  withoutMachineCode,
} from "./machine_code.ts";
import { recordingDevice } from "./recording_device.ts";

const test = (name: string, fn: () => Promise<void>) =>
  Deno.test({ name: name + withoutMachineCode, ignore: withoutMachineCode !== "", fn });

/** The first kernel of the product of matrices of zeros, the right one as given or transposed. */
async function codeOf(
  [m, k, n]: readonly [number, number, number],
  dtype: DType,
  options: MatmulOptions & { readonly isTransposed?: boolean } = {},
) {
  const { isTransposed, ...own } = options;
  const { device, kernels } = recordingDevice("9.0");
  const x = zeros([m, k], { dtype, device }) as Tensor;
  const y = isTransposed
    ? (zeros([n, k], { dtype, device }) as Tensor).transpose()
    : zeros([k, n], { dtype, device }) as Tensor;
  const before = kernels.length;
  matmul(x, y, own);
  return await machineCode(kernels[before]!.text, "9.0");
}

/** The first use of packets: a product, or the other factor from shared memory. */
const USE = /^(FFMA|DFMA|LDS)/;

for (const isTransposed of [false, true]) {
  for (const dtype of ["float32", "float16", "int8"] as const) {
    const layout = isTransposed ? "transposed matrix" : "matrix";
    // Blocks of many columns have a multiprocessor of their own.
    const packets = dtype === "float32" && !isTransposed ? 16 : 8;
    test(`matmul() of one row by a ${layout} of ${dtype} has ${packets} packets in flight`, async () => {
      const sums = dtype === "int8" ? { dtype: "int32" } as const : {};
      const { instructions, loops, registers, localMemory } = await codeOf(
        [1, 4096, 4096],
        dtype,
        { ...sums, isTransposed },
      );
      assertEquals(countBefore(instructions, /^LDG\.E\.128/, USE), packets);
      assertEquals(countOf(instructions, /^LDG\.E\.128/), packets);
      // Warps do not wait for each other before their next packets.
      const main = loops.find((loop) => countOf(loop, /^LDG\.E\.128/) === packets);
      assert(main !== undefined, "no loop has all loads");
      assertEquals(countOf(main, /^BAR/), 0);
      assertEquals(localMemory, 0);
      const blocks = dtype === "int8" || packets > 8 ? 2 : 3;
      assert(registers <= 65536 / 256 / blocks, `${registers} registers for ${blocks} blocks`);
    });
  }
}

for (const [dtype, isTransposed] of [["float16", false], ["int8", true]] as const) {
  test(`matmul() of large matrices of ${dtype} copies the next ones between products`, async () => {
    const sums = dtype === "int8" ? { dtype: "int32" } as const : {};
    const { loops, localMemory } = await codeOf([2048, 2048, 2048], dtype, {
      ...sums,
      isTransposed,
    });
    const isProduct = ({ opcode }: Instruction) => /^[HI]MMA/.test(opcode);
    // The loop inside of a tile, and a longer one at edges.
    const main = loops.find((loop) => loop.filter(isProduct).length === 128);
    assert(main !== undefined, "the loop over stages has four steps of 32 products");
    assertEquals(countOf(main, /^LDSM/), 32);
    assertEquals(countOf(main, /^LDGSTS/), 12);
    assertEquals(countOf(main, /^BRA/), 1, "no branches but the loop's");
    assert(countOf(main, /^(?!HMMA|IMMA|LDSM)/) < 80, "few others of the loop");
    const places = main.flatMap((it, at) => isProduct(it) ? [at] : []);
    const pauses = places.slice(1).map((place, at) => place - places[at]! - 1);
    assert(Math.max(...pauses) <= 8, `${Math.max(...pauses)} instructions between two products`);
    assertEquals(localMemory, 0);
  });
}
