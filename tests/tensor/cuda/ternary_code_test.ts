// The machine code of products with ternary weights: loads before their first use, and instructions for
// each product.
// Needs no GPU: it compiles for given architectures.

import { assert, assertEquals } from "@std/assert";
import { ones, type Tensor, zeros } from "../../../src/device/tensor.ts";
import { ternaryMatmul, TernaryWeights } from "../../../src/device/ternary.ts";
import {
  countBefore,
  countOf,
  type Instruction,
  type MachineCode,
  machineCode,
  withoutMachineCode,
} from "./machine_code.ts";
import { recordingDevice } from "./recording_device.ts";

const LOAD = /^LDG\.E\.128/;
const DP4A = /^IDP/;
const IMMA = /^IMMA/;
/** Instructions of integers, which take a scheduler as long as products do. */
const INTEGER = /^(?:IADD|IMAD|LOP|SHF|LEA|PRMT|ISETP|SEL|VIADD|MOV)/;

/** The machine code of the kernel for a number of rows of activations. */
async function codeOf(m: number, n: number, k: number): Promise<MachineCode> {
  const recording = recordingDevice("9.0");
  const { device } = recording;
  const weights = TernaryWeights.from({
    codes: zeros([n, k], { device, dtype: "int8" }) as Tensor as Tensor<"int8">,
    scale: ones([1], { device }),
  });
  ternaryMatmul(zeros([m, k], { device, dtype: "int8" }), weights);
  const { text } = recording.kernels.at(-1)!;
  assertEquals(text.name, "tensor_ternaryMatmul");
  return await machineCode(text);
}

/** The shortest loop with the most products, as a step of the whole sum. */
function stepOf({ loops }: MachineCode, product: RegExp): readonly Instruction[] {
  const steps = loops.filter((loop) =>
    countOf(loop, product) > 0 && countOf(loop, LOAD) > 0 && countOf(loop, /^(?:BAR|STS)/) === 0
  );
  assert(steps.length > 0);
  return steps[0]!;
}

Deno.test({
  name: `One row of a ternary product has eight loads before its first dp4a${withoutMachineCode}`,
  ignore: withoutMachineCode !== "",
  async fn() {
    const code = await codeOf(1, 512, 512);
    const step = stepOf(code, DP4A);
    assertEquals([countOf(step, LOAD), countBefore(step, LOAD, DP4A)], [8, 8]);
    assertEquals(countOf(step, DP4A), 128);
    assert(step.length <= 3 * 128, `${step.length} instructions for 128 dp4a`);
    // q is read by packets, too.
    assertEquals(countOf(step, /^LDS/), countOf(step, /^LDS\.128/));
    assertEquals(code.localMemory, 0);
  },
});

Deno.test({
  name:
    `Rows of a ternary product have no local memory and few integer instructions${withoutMachineCode}`,
  ignore: withoutMachineCode !== "",
  async fn() {
    // A product of 16 rows for each weight is bound by memory.
    for (const [m, most, loads] of [[4, 1.1, 4], [16, 6.5, 8]] as const) {
      const code = await codeOf(m, 1024, 512);
      const product = m === 4 ? DP4A : IMMA;
      const step = stepOf(code, product);
      const integers = countOf(step, INTEGER) / countOf(step, product);
      assert(integers < most, `${integers} integer instructions for a product of ${m} rows`);
      assertEquals([countOf(step, LOAD), countOf(step, /^LDG/)], [loads, loads], `${m} rows`);
      assertEquals([code.localMemory, code.registers <= 128], [0, true], `${m} rows`);
    }
  },
});

Deno.test({
  name: `Many rows of a ternary product read operands between products${withoutMachineCode}`,
  ignore: withoutMachineCode !== "",
  async fn() {
    const code = await codeOf(64, 1280, 512);
    const main = code.loops.find((loop) => countOf(loop, IMMA) > 0);
    assert(main !== undefined, "no loop has products");
    const products = countOf(main, IMMA);
    // A warp multiplies 64 rows of q by 40 of weights, in two steps along k.
    assertEquals([products, countOf(main, /^LDSM/), countOf(main, LOAD)], [40, 8, 0]);
    // Two copies of q, two of codes, and a word of codes of each 8 rows of weights.
    const words = main.filter(({ text }) => /^LDS R\d/.test(text)).length;
    assertEquals([countOf(main, /^LDGSTS/), words, countOf(main, /^BAR/)], [4, 5, 1]);
    assertEquals(countOf(main, /^BRA/), 1, "no branches but the loop's");
    const integers = countOf(main, INTEGER) / products;
    assert(integers < 1.8, `${integers} integer instructions for a product`);
    const first = main.findIndex(({ opcode }) => IMMA.test(opcode));
    const last = main.findLastIndex(({ opcode }) => IMMA.test(opcode));
    // Half of the operands of the next step are read while this one is multiplied.
    assert(countOf(main.slice(first, last), /^LDSM/) >= 4, "operands are read before products");
    // Results are read from shared memory before the first is stored.
    const results = code.loops.find((loop) => countOf(loop, /^STG/) > 0);
    assert(results !== undefined, "no loop stores results");
    assertEquals([countOf(results, /^STG/), countBefore(results, /^LDS/, /^STG/)], [4, 8]);
    assertEquals([code.localMemory, code.registers <= 168], [0, true]);
  },
});
