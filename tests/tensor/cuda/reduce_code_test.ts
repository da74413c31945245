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
/** The copies of a step's loads: of a step that is whole, and of one that is not. */
const COPIES = 2;

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
  // The packets of a step, and the use of the first.
  const cases: readonly (readonly [(x: Tensor) => Tensor, DType, number, RegExp])[] = [
    [(x) => sum(x), "float32", 8, /^FADD/],
    [(x) => mean(x) as Tensor, "bfloat16", 4, /^FADD/],
    [(x) => max(x), "float32", 8, /^FMNMX/],
    [(x) => sum(x), "float64", 8, /^DADD/],
  ];
  await Promise.all(cases.map(async ([run, dtype, packets, use]) => {
    const code = await codeOf(run, [2 ** 22], dtype);
    const name = `${run} of ${dtype}`;
    const loaded = countBefore(mainLoop(code), PACKET_LOAD, use);
    assertEquals(loaded, COPIES * packets, `${name} loads packets before the first use`);
    assertEquals(countOf(code.instructions, LOAD), loaded, `${name} loads packets only`);
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
    assertEquals(countOf(instructions, LOAD), COPIES * packets);
    assertEquals(countBefore(instructions, PACKET_LOAD, /^(SHFL|STG)/), COPIES * packets);
    assertEquals(countOf(instructions, STORE), packets);
    assertEquals(countOf(instructions, PACKET_STORE), packets);
    assert(code.registers <= registers, `${code.registers} registers`);
  }
  // A power is computed once, and kept in a register.
  assert(countOf(softmaxes[0]!.instructions, /^MUFU\.EX2/) <= 32);
});

Deno.test(`Short rows share a warp${withoutMachineCode}`, {
  ignore: withoutMachineCode !== "",
}, async () => {
  // A warp takes four rows at once, whose exchanges take three steps.
  const rows = [512, 128];
  const codes = await Promise.all([
    codeOf((x) => sum(x, { axis: 1 }), rows),
    codeOf((x) => softmax(x), rows),
    codeOf((x) => layerNorm(x), rows),
  ]);
  for (const [at, { instructions, registers }] of codes.entries()) {
    assertEquals(countOf(instructions, LOAD), COPIES * 4);
    assertEquals(countBefore(instructions, PACKET_LOAD, /^(FADD|FMNMX|SHFL|STG)/), COPIES * 4);
    assertEquals(countOf(instructions, PACKET_STORE), at === 0 ? 0 : 4);
    assert(registers <= 64, `${registers} registers`);
  }
});

Deno.test(`Rows whose packets are single elements have many loads in flight${withoutMachineCode}`, {
  ignore: withoutMachineCode !== "",
}, async () => {
  // Two steps of 20 elements for each thread, where one of 32 would leave most of another empty.
  const code = await codeOf((x) => sum(x, { axis: 1 }), [256, 10_001]);
  const loop = code.loops.find((it) => countOf(it, LOAD) > 0)!;
  assertEquals(countOf(code.instructions, LOAD), COPIES * 20);
  assertEquals(countBefore(loop, LOAD, /^FADD/), COPIES * 20);
  assert(loop.length <= 8 * 20, `${loop.length} instructions for 20 elements`);
  assert(code.registers <= 64, `${code.registers} registers`);
});

Deno.test(`Large blocks and clusters read long rows once${withoutMachineCode}`, {
  ignore: withoutMachineCode !== "",
}, async () => {
  const cases = [[[256, 10_001], LOAD, STORE, 20], [[65, 65_536], PACKET_LOAD, PACKET_STORE, 8]];
  for (const [shape, load, store, packets] of cases as [number[], RegExp, RegExp, number][]) {
    for (const run of [softmax, layerNorm] as ((x: Tensor) => Tensor)[]) {
      const { instructions, registers } = await codeOf(run, shape);
      assertEquals(countOf(instructions, LOAD), COPIES * packets);
      assertEquals(countBefore(instructions, load, /^(FADD|FMNMX|SHFL|STG)/), COPIES * packets);
      assertEquals(countOf(instructions, store), packets);
      // What a softmax keeps leaves a large block no registers.
      const isLarge = run === layerNorm && shape[1] === 10_001;
      const exchanges = countOf(instructions, /^UCGABAR_WAIT/);
      assert(isLarge ? exchanges === 0 : exchanges >= 3, `${exchanges} exchanges between blocks`);
      assert(registers <= 64, `${registers} registers`);
    }
  }
});

Deno.test(`Sums of columns load 8 rows before the first addition${withoutMachineCode}`, {
  ignore: withoutMachineCode !== "",
}, async () => {
  const code = await codeOf((x) => sum(x, { axis: 0 }), [4096, 1024]);
  assertEquals(countBefore(mainLoop(code), PACKET_LOAD, /^FADD/), 8);
  assertEquals(countOf(code.instructions, LOAD), 8);
  assert(code.registers <= 64, `${code.registers} registers`);
});

Deno.test("softmax() of long rows takes no clusters of more blocks than multiprocessors", () => {
  for (const [multiprocessorCount, blocks] of [[8, 8], [7, 1]] as const) {
    const { device, kernels } = recordingDevice("9.0", { multiprocessorCount });
    using _ = device;
    using x = zeros([65, 2 ** 16], { device });
    const before = kernels.length;
    softmax(x);
    const { body } = kernels[before]!.text;
    assertEquals(/for_each_row<\d+, (\d+)>/.exec(body)?.[1], `${blocks}`);
  }
});
