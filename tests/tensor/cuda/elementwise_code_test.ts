// The machine code of elementwise kernels: the bytes that a thread has in flight.
// Needs no GPU: it compiles for given architectures.

import { assert, assertEquals } from "@std/assert";
import type { DType } from "../../../mod.ts";
import { add, exp, fuse, type Tensor, zeros } from "../../../src/device/tensor.ts";
import {
  countBefore,
  countOf,
  type Instruction,
  type MachineCode,
  machineCode,
  withoutMachineCode,
} from "./machine_code.ts";
import { recordingDevice } from "./recording_device.ts";

const { device, kernels } = recordingDevice("9.0");

const LOAD = /^LDG\b/;
const PACKET_LOAD = /^LDG\.E\.128\b/;
const STORE = /^STG\b/;
const PACKET_STORE = /^STG\.E\.128\b/;
/** Stores, and what an expression computes. */
const USE = /^(?:STG|[FDH](?:ADD|MUL|FMA)2?|MUFU|HADD2)\b/;

const operand = (dtype: DType = "float32", ...shape: number[]) =>
  zeros(shape.length === 0 ? [4096] : shape, { device, dtype }) as Tensor;

/** The code of the kernel that a call takes last. */
async function codeOf(call: () => Tensor): Promise<MachineCode> {
  using result = call();
  await result.ready();
  return await machineCode(kernels.at(-1)!.text);
}

/** The path of whole packets: from its first load on, up to an end of the kernel. */
function packetPath({ instructions }: MachineCode): readonly Instruction[] {
  const start = instructions.findIndex(({ opcode }) => PACKET_LOAD.test(opcode));
  assert(start >= 0, "no load of 16 bytes");
  const end = instructions.findIndex(({ opcode }, at) => at > start && opcode === "EXIT");
  return instructions.slice(start, end);
}

/** A kernel, and the loads and stores of 16 bytes that its thread has. */
interface Expectation {
  readonly call: () => Tensor;
  readonly loads: number;
  readonly stores: number;
  /** Loads of repeated elements, which may also come before those of packets. */
  readonly single?: number;
}

const five = fuse((x: Tensor, y: Tensor) => x.multiply(y).add(1).multiply(x).subtract(y).abs());

const EXPECTATIONS: Readonly<Record<string, Expectation>> = {
  "add, float32": { call: () => add(operand(), operand()), loads: 4, stores: 2 },
  "exp, float32": { call: () => exp(operand()), loads: 2, stores: 2 },
  "exp, float16": { call: () => exp(operand("float16")), loads: 2, stores: 2 },
  "five operations": { call: () => five(operand(), operand()), loads: 4, stores: 2 },
  ...Object.fromEntries((["float16", "bfloat16", "float64", "int8"] as const).map((dtype) => [
    `add, ${dtype}`,
    { call: () => add(operand(dtype), operand(dtype)), loads: 4, stores: 2 },
  ])),
  "a row is added": {
    call: () => add(operand("float32", 64, 64), operand("float32", 64)),
    loads: 4,
    stores: 2,
  },
  "a number is added": {
    call: () => add(operand(), operand("float32", 1)),
    loads: 2,
    stores: 2,
    single: 1,
  },
};

for (const [name, { call, loads, stores, single = 0 }] of Object.entries(EXPECTATIONS)) {
  Deno.test({
    name: `A thread loads all of its packets before it uses them: ${name}${withoutMachineCode}`,
    ignore: withoutMachineCode !== "",
    async fn() {
      const code = await codeOf(call);
      const path = packetPath(code);
      assertEquals(countBefore(path, PACKET_LOAD, USE), loads, "loads of packets before a use");
      assert(countOf(path, LOAD) <= loads + single, `${countOf(path, LOAD)} loads`);
      assertEquals([countOf(path, PACKET_STORE), countOf(path, STORE)], [stores, stores], "stores");
      assertEquals(code.localMemory, 0);
      assert(code.registers <= 64, `${code.registers} registers`);
    },
  });
}

Deno.test({
  name: `Steps of bfloat16 are rounded without special functions${withoutMachineCode}`,
  ignore: withoutMachineCode !== "",
  async fn() {
    const code = await codeOf(() => five(operand("bfloat16"), operand("bfloat16")));
    const path = packetPath(code);
    assertEquals(countOf(path, /^F2F\b/), 0);
    // Four steps of two packets of eight elements, and pairs of results.
    assertEquals(countOf(path, /^F2FP\.BF16/), 4 * 16 + 16 / 2);
  },
});

const square = (dtype?: DType) => operand(dtype, 256, 256);

/** Kernels of transposed operands: loads and stores of 16 bytes, and the most registers. */
const TRANSPOSED: Readonly<Record<string, Expectation & { readonly registers: number }>> = {
  "a copy, float32": {
    call: () => square().transpose().flatten(),
    loads: 4,
    stores: 4,
    registers: 40,
  },
  "a copy, float16": {
    call: () => square("float16").transpose().flatten(),
    loads: 2,
    stores: 2,
    registers: 40,
  },
  "a sum with another": {
    call: () => add(square().transpose(), square()),
    loads: 8,
    stores: 4,
    registers: 48,
  },
};

for (const [name, { call, loads, stores, registers }] of Object.entries(TRANSPOSED)) {
  Deno.test({
    name: `A tile is loaded and stored by packets: ${name}${withoutMachineCode}`,
    ignore: withoutMachineCode !== "",
    async fn() {
      const code = await codeOf(call);
      // Tiles at the edges are taken in loops.
      const inLoops = new Set(code.loops.flat());
      const path = code.instructions.filter((it) => !inLoops.has(it));
      assertEquals(
        countBefore(path, PACKET_LOAD, /^(?:STS|STG|BAR)\b/),
        loads,
        "loads before a store",
      );
      assertEquals(countOf(code.instructions, PACKET_LOAD), loads);
      assertEquals(countOf(code.instructions, PACKET_STORE), stores);
      assertEquals(countOf(code.instructions, /^BAR\b/), 1);
      assertEquals(countOf(code.instructions, STORE), stores + 1);
      assertEquals(code.localMemory, 0);
      assert(code.registers <= registers, `${code.registers} registers`);
    },
  });
}
