/**
 * The machine code of recorded kernels, by NVRTC and `nvdisasm`. Neither needs a GPU.
 *
 * `nvdisasm` is searched on the path and in the Python package `triton`.
 *
 * @module
 */

import { assert } from "@std/assert";
import { CUDA_OPTIONS } from "../../../src/tensor/kit/device_work.ts";
import { type KernelText, sourceOf } from "../../../src/tensor/kit/expression/kernel_text.ts";
import { nvrtc, request } from "../../support/nvrtc.ts";

/** An instruction, such as `LDG.E.128.CONSTANT R4, desc[UR4][R2.64]`. */
export interface Instruction {
  /** The operation with its modifiers: `LDG.E.128.CONSTANT`. */
  readonly opcode: string;
  /** The whole text without a predicate. */
  readonly text: string;
}

/** The machine code of one kernel. */
export interface MachineCode {
  readonly instructions: readonly Instruction[];
  /** The loops as ranges of instructions, innermost and shortest first. */
  readonly loops: readonly (readonly Instruction[])[];
  readonly registers: number;
  /** The bytes of local memory of a thread: spilled registers, arrays. */
  readonly localMemory: number;
}

const decoder = new TextDecoder();

function outputOf(command: string, args: readonly string[]): string | undefined {
  try {
    const { success, stdout } = new Deno.Command(command, { args: [...args] }).outputSync();
    return success ? decoder.decode(stdout).trim() : undefined;
  } catch (error) {
    if (error instanceof Deno.errors.NotFound) return undefined;
    throw error;
  }
}

const IN_TRITON = "import os, triton; print(os.path.join(os.path.dirname(triton.__file__), " +
  "'backends', 'nvidia', 'bin', 'nvdisasm'))";

/** The path of `nvdisasm`; undefined where there is none. */
export function findDisassembler(): string | undefined {
  const candidates = ["nvdisasm", outputOf("python3", ["-c", IN_TRITON])];
  return candidates.find((it) => it !== undefined && outputOf(it, ["--version"]) !== undefined);
}

const disassembler = nvrtc === undefined ? undefined : findDisassembler();

/** Why tests of machine code are skipped: a suffix of their names, empty if they are not. */
export const withoutMachineCode: string = nvrtc === undefined
  ? " (skipped: no NVRTC)"
  : disassembler === undefined
  ? " (skipped: no nvdisasm)"
  : "";

/** Reads the text of `nvdisasm` about the code of one kernel. */
export function readInstructions(text: string): Pick<MachineCode, "instructions" | "loops"> {
  const instructions: Instruction[] = [];
  const labels = new Map<string, number>();
  for (const line of text.split("\n")) {
    const label = /^(\.L_x_\d+):/.exec(line)?.[1];
    if (label !== undefined) labels.set(label, instructions.length);
    const code = /^\s*\/\*[0-9a-f]+\*\/\s+(?:@!?U?P\w+\s+)?([A-Z][\w.]*)([^;]*);/.exec(line);
    if (code !== null) instructions.push({ opcode: code[1]!, text: `${code[1]}${code[2]}`.trim() });
  }
  const loops = instructions.flatMap(({ opcode, text: own }, at) => {
    const start = labels.get(/`?\(?(\.L_x_\d+)\)?/.exec(own)?.[1] ?? "");
    // The last branch of a kernel is to itself.
    return opcode.startsWith("BRA") && start !== undefined && start < at
      ? [instructions.slice(start, at + 1)]
      : [];
  });
  return { instructions, loops: loops.sort((a, b) => a.length - b.length) };
}

/** Compiles a tensor's kernel for a compute capability and disassembles it. */
export function machineCode(text: KernelText, capability?: string): Promise<MachineCode> {
  return machineCodeOf(sourceOf(text, "threads"), text.name, capability);
}

/** Compiles a source of one kernel for a compute capability and disassembles it. */
export async function machineCodeOf(
  source: string,
  name: string,
  capability = "9.0",
): Promise<MachineCode> {
  const { image, resources } = await nvrtc!.compile(request(source, {
    name: `${name}.cu`,
    target: { kind: "cuda", capability },
    options: [...CUDA_OPTIONS, `--gpu-architecture=sm_${capability.replace(".", "")}`],
  }));
  const own = resources!.get(name);
  assert(own !== undefined, `${name} has no resources`);
  const path = await Deno.makeTempFile({ suffix: ".cubin" });
  try {
    await Deno.writeFile(path, image);
    const disassembled = outputOf(disassembler!, ["-c", path]);
    assert(disassembled !== undefined, `nvdisasm does not read ${name}`);
    const { registers, localMemory } = own;
    return { ...readInstructions(disassembled), registers, localMemory };
  } finally {
    await Deno.remove(path);
  }
}

/** The number of instructions whose opcodes match. */
export function countOf(instructions: readonly Instruction[], pattern: RegExp): number {
  return instructions.filter(({ opcode }) => pattern.test(opcode)).length;
}

/** The number of instructions that match before the first one that matches another pattern. */
export function countBefore(
  instructions: readonly Instruction[],
  pattern: RegExp,
  end: RegExp,
): number {
  const first = instructions.findIndex(({ opcode }) => end.test(opcode));
  return countOf(first < 0 ? instructions : instructions.slice(0, first), pattern);
}
