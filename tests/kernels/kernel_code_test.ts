// The machine code of built-in kernels for an H100, by nvcc and nvdisasm: what their speed rests on. It
// needs no GPU.

import { assert, assertEquals } from "@std/assert";
import { findCudaCompiler } from "../../src/ffi/build/compilers.ts";
import {
  countBefore,
  countOf,
  findDisassembler,
  type Instruction,
  readInstructions,
} from "../tensor/cuda/machine_code.ts";

const { compiler } = await findCudaCompiler((name) => Deno.env.get(name));
const disassembler = compiler === undefined ? undefined : findDisassembler();
const missing = compiler === undefined
  ? " (skipped: no nvcc)"
  : disassembler === undefined
  ? " (skipped: no nvdisasm)"
  : "";

const SOURCE = `
#include "kernels/elementwise.cuh"
#include "kernels/histogram.cuh"
#include "kernels/moments.cuh"
#include "kernels/reduction.cuh"
namespace gridstride::tensor {
namespace elementwise {
template __global__ void fill(unsigned int*, unsigned int, unsigned long long);
template __global__ void add(const float*, const float*, float*, unsigned long long);
template __global__ void multiply(const __half*, const __half*, __half*, unsigned long long);
template __global__ void scale(const float*, float*, float, float, unsigned long long);
template __global__ void axpy(float, const float*, float*, unsigned long long);
}
template __global__ void moments::moments_partial(const float*, double*, unsigned long long);
template __global__ void moments::moments_final(const double*, unsigned int, double, float*);
template __global__ void histogram::histogram_shared(const float*, unsigned int*, unsigned int,
                                                     unsigned int, double, double,
                                                     unsigned long long);
template __global__ void reduce::sum_row_of(const float*, double*, i64, i64, int, int);
template __global__ void reduce::max_row_of(const float*, float*, i64, i64);
}
`;

/** Elementwise kernels, with the loads and stores of 16 bytes in a step of a thread. */
const ELEMENTWISE = {
  fill: [0, 4],
  add: [4, 2],
  multiply: [4, 2],
  scale: [2, 2],
  axpy: [4, 2],
} as const;

const KERNELS = [
  ...["fill", "add", "multiply", "scale", "axpy"] as const,
  ...["moments_partial", "moments_final", "histogram_shared"] as const,
  ...["sum_row_of", "max_row_of"] as const,
] as const;

interface KernelCode {
  readonly all: readonly Instruction[];
  readonly loops: readonly (readonly Instruction[])[];
  readonly registers: number;
}

async function run(command: string, ...args: readonly string[]): Promise<string> {
  const output = await new Deno.Command(command, { args: [...args] }).output();
  const [text, errors] = [output.stdout, output.stderr].map((it) => new TextDecoder().decode(it));
  assert(output.success, `${command}: ${errors}`);
  return text! + errors!;
}

/** Compiles the source and returns the code of each kernel. */
async function compileKernels(): Promise<Record<typeof KERNELS[number], KernelCode>> {
  const folder = await Deno.makeTempDir();
  try {
    const [source, image] = [`${folder}/kernels.cu`, `${folder}/kernels.cubin`];
    await Deno.writeTextFile(source, SOURCE);
    const flags = ["-std=c++17", "-O3", "-arch=sm_90", "-cubin", "-Xptxas=-v", "-Icsrc"];
    const usage = await run(compiler!.path, ...flags, "-o", image, source);
    assertEquals(
      usage.match(/\b0 bytes stack frame, 0 bytes spill stores/g)?.length,
      KERNELS.length,
    );
    const sections = (await run(disassembler!, "-c", image)).split(/^\.text\./m);
    const codes = KERNELS.map((name) => {
      // The length of a name stands before it.
      const mangled = `${name.length}${name}`;
      const section = sections.find((text) => /^[^\n]*/.exec(text)![0].includes(mangled));
      const registers = new RegExp(`entry function '\\w*${mangled}[^]*?Used (\\d+) registers`);
      const { instructions, loops } = readInstructions(section!);
      return [name, { all: instructions, loops, registers: Number(registers.exec(usage)![1]) }];
    });
    return Object.fromEntries(codes);
  } finally {
    await Deno.remove(folder, { recursive: true });
  }
}

/** The loop with as many accesses of 16 bytes. */
function loopOf(
  { loops }: KernelCode,
  count: number,
  access: RegExp = WIDE_LOAD,
): readonly Instruction[] {
  const loop = loops.find((loop) => countOf(loop, access) === count);
  assert(loop !== undefined, `no loop has ${count} of ${access}`);
  return loop;
}

const WIDE_LOAD = /^LDG\.E\.128/;
/** Another store than a plain one is ordered for the whole multiprocessor. */
const WIDE_STORE = /^STG\.E\.128$/;
const DOUBLE = /^(DADD|DMUL|DFMA|DSETP|F2F|F2I)\b/;
const DIVISION = /^MUFU\.RCP64H/;

Deno.test({
  name: `Built-in kernels load before they compute, and divide seldom${missing}`,
  ignore: missing !== "",
  async fn() {
    const code = await compileKernels();
    const {
      moments_partial: moments,
      moments_final,
      histogram_shared: histogram,
      sum_row_of,
      max_row_of,
    } = code;

    for (const [name, [loads, stores]] of Object.entries(ELEMENTWISE)) {
      const own = code[name as keyof typeof ELEMENTWISE];
      const step = loopOf(own, stores, WIDE_STORE);
      assertEquals(countBefore(step, WIDE_LOAD, /^(FFMA|FADD|HADD2|HMUL2|STG)/), loads, name);
      assertEquals([countOf(step, /^LDG/), countOf(step, /^STG/)], [loads, stores], name);
      // All threads that a multiprocessor may have fit it.
      assert(own.registers <= 32, `${name}: ${own.registers} registers`);
    }

    assertEquals(countBefore(loopOf(moments, 4), WIDE_LOAD, /^(FADD|FMUL|FFMA)/), 4);
    // A division for each part of a warp or block would be a chain of them.
    for (const { all } of [moments, moments_final]) assert(countOf(all, DIVISION) <= 3);
    // Four blocks of 256 threads run at once in a multiprocessor, and a fifth has room.
    assert(moments.registers <= 48, `${moments.registers} registers`);

    for (const row of [sum_row_of, max_row_of]) {
      // Whole steps and the last one have loads of their own.
      const loop = loopOf(row, 16);
      assertEquals(countBefore(loop, WIDE_LOAD, /^(FADD|FMNMX)/), 16);
      // Four blocks of 256 threads fit a multiprocessor.
      assert(row.registers <= 64, `${row.registers} registers`);
    }

    const counting = loopOf(histogram, 4);
    const certain = counting.slice(0, counting.findIndex(({ opcode }) => opcode === "BRA"));
    assertEquals(countOf(certain, WIDE_LOAD), 4);
    assertEquals(countOf(certain, /^FFMA/), 16);
    // One conversion of an edge, for which there is no register, instead of one of each element.
    assert(countOf(certain, DOUBLE) <= 1, `${countOf(certain, DOUBLE)} operations in double`);
    const increments = counting.flatMap(({ opcode }, at) =>
      opcode.startsWith("ATOMS.POPC.INC") ? [at] : []
    );
    assertEquals(increments.length, 16);
    // A condition would be a branch and a convergence barrier around each.
    const between = counting.slice(increments[0], increments.at(-1));
    assert(countOf(between, /^(?:BRA|BSSY|BSYNC)/) <= 1, "increments have branches");
    // Four blocks of 256 threads fit a multiprocessor.
    assert(histogram.registers <= 64, `${histogram.registers} registers`);
  },
});
