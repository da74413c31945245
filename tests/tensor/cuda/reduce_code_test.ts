// The machine code of reductions and row programs: memory is read by 16 bytes, once, with as many loads
// in flight as hide its latency, and no register is spilled.
// Needs no GPU: it compiles for given architectures.

import { assert, assertEquals } from "@std/assert";
import type { DType } from "../../../mod.ts";
import {
  layerNorm,
  max,
  mean,
  softmax,
  sum,
  type Tensor,
  zeros,
} from "../../../src/device/tensor.ts";
import {
  countBefore,
  countOf,
  type MachineCode,
  machineCode,
  withoutMachineCode,
} from "./machine_code.ts";
import { recordingDevice } from "./recording_device.ts";

const LOAD = /^LDG/;
const PACKET_LOAD = /^LDG\.E\.128/;
const STORE = /^STG/;
const PACKET_STORE = /^STG\.E\.128/;

/** The machine code of the first kernel of a function that reads a tensor of zeros. */
async function codeOf(
  run: (x: Tensor) => unknown,
  shape: readonly number[],
  dtype: DType = "float32",
): Promise<MachineCode> {
  const { device, kernels } = recordingDevice("9.0");
  using _ = device;
  using x = zeros([...shape], { device, dtype });
  const before = kernels.length;
  run(x as Tensor);
  const code = await machineCode(kernels[before]!.text);
  assertEquals(code.localMemory, 0, `${kernels[before]!.text.name} has local memory`);
  return code;
}

/** The innermost loop that loads packets. */
function mainLoop({ loops }: MachineCode) {
  const loop = loops.find((it) => countOf(it, PACKET_LOAD) > 0);
  assert(loop !== undefined, "no loop loads packets");
  return loop;
}

Deno.test(`sum() and max() load packets before they use the first${withoutMachineCode}`, {
  ignore: withoutMachineCode !== "",
}, async () => {
  // The packets of a step, those that are loaded before the first is used, and that use. ptxas moves
  // the first additions of 16-bit floats and of doubles before the last loads.
  const cases: readonly (readonly [(x: Tensor) => Tensor, DType, number, number, RegExp])[] = [
    [(x) => sum(x), "float32", 8, 8, /^FADD/],
    [(x) => mean(x) as Tensor, "bfloat16", 4, 3, /^FADD/],
    [(x) => max(x), "float32", 8, 8, /^FMNMX/],
    [(x) => sum(x), "float64", 8, 6, /^DADD/],
  ];
  await Promise.all(cases.map(async ([run, dtype, packets, inFlight, use]) => {
    const code = await codeOf(run, [2 ** 22], dtype);
    const name = `${run} of ${dtype}`;
    const loaded = countBefore(mainLoop(code), PACKET_LOAD, use);
    assert(loaded >= inFlight, `${name} has ${loaded} packets in flight`);
    assertEquals(
      countOf(code.instructions, LOAD),
      packets,
      `${name} loads packets only`,
    );
    assert(code.registers <= 64, `${name} has ${code.registers} registers`);
  }));
});

Deno.test(`softmax() and layerNorm() read a row once${withoutMachineCode}`, {
  ignore: withoutMachineCode !== "",
}, async () => {
  const rows = [64, 1024];
  const plain = await codeOf((x) => layerNorm(x), rows);
  const softmaxes = await Promise.all([
    codeOf((x) => softmax(x), rows),
    codeOf((x) => softmax(x), rows, "float16"),
  ]);
  for (
    const [code, packets, registers] of [
      [plain, 8, 64],
      [softmaxes[0]!, 8, 80],
      [softmaxes[1]!, 4, 80],
    ] as const
  ) {
    const { instructions } = code;
    assertEquals(countOf(instructions, LOAD), packets);
    assertEquals(countBefore(instructions, PACKET_LOAD, /^(SHFL|STG)/), packets);
    assertEquals(countOf(instructions, STORE), packets);
    assertEquals(countOf(instructions, PACKET_STORE), packets);
    assert(code.registers <= registers, `${code.registers} registers`);
  }
  // A power is computed once, and kept in a register.
  assert(countOf(softmaxes[0]!.instructions, /^MUFU\.EX2/) <= 32);
});

Deno.test(`Sums of columns load 8 rows before the first addition${withoutMachineCode}`, {
  ignore: withoutMachineCode !== "",
}, async () => {
  const code = await codeOf((x) => sum(x, { axis: 0 }), [4096, 1024]);
  assertEquals(countBefore(mainLoop(code), PACKET_LOAD, /^FADD/), 8);
  assertEquals(countOf(code.instructions, LOAD), 8);
  assert(code.registers <= 64, `${code.registers} registers`);
});
