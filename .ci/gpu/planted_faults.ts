/**
 * Launches kernels with faults that compute-sanitizer must find: on some machines it finds none, and then
 * says nothing about other kernels either. The argument is the tool.
 *
 * @module
 */

import { openDevice } from "../../mod.ts";

/** A tool of compute-sanitizer. */
export type SanitizerTool = "memcheck" | "racecheck";

/** A kernel with a fault. */
export interface PlantedFault {
  readonly name: string;
  readonly source: string;
  /** The size of its dynamic shared memory in bytes. */
  readonly sharedMemory: number;
  /** The memory instructions that make the fault. */
  readonly opcodes: readonly RegExp[];
}

/** Two warps: a hazard of each thread is printed. */
const THREADS = 64;
const DYNAMIC_BYTES = 65_536;

/** Races are between warps, on values that the compiler does not know. */
const RACE_OPCODES = [/^STS/, /^LDS/];

export const PLANTED_FAULTS: Readonly<Record<SanitizerTool, readonly PlantedFault[]>> = {
  memcheck: [{
    name: "planted_store",
    // Beyond all memory of the process.
    source: `extern "C" __global__ void planted_store(int* out) {
      out[(1ll << 40) + threadIdx.x] = 1;
    }`,
    sharedMemory: 0,
    opcodes: [/^STG/],
  }],
  racecheck: [{
    name: "planted_mirror",
    source: `extern "C" __global__ void planted_mirror(int* out) {
      __shared__ int words[${THREADS}];
      words[threadIdx.x] = out[threadIdx.x];
      out[threadIdx.x] = words[${THREADS} - 1 - threadIdx.x];
    }`,
    sharedMemory: 0,
    opcodes: RACE_OPCODES,
  }, {
    name: "planted_choice",
    // One thread writes the end of a large dynamic memory, and all read it.
    source: `extern "C" __global__ void planted_choice(int* out) {
      extern __shared__ int words[];
      int* const choice = words + ${DYNAMIC_BYTES / 4 - 1};
      if (threadIdx.x == 0) *choice = out[${THREADS} - 1];
      out[threadIdx.x] += *choice;
    }`,
    sharedMemory: DYNAMIC_BYTES,
    opcodes: RACE_OPCODES,
  }],
};

/** The planted faults of a tool that its output does not name. */
export function missedFaults(tool: SanitizerTool, output: string): string[] {
  return PLANTED_FAULTS[tool].map(({ name }) => name).filter((name) => !output.includes(name));
}

if (import.meta.main) {
  const device = openDevice();
  const out = device.upload(Int32Array.from({ length: THREADS }, (_, place) => place + 1));
  for (const { name, source, sharedMemory } of PLANTED_FAULTS[Deno.args[0] as SanitizerTool]) {
    const module = await device.compile(source);
    module.kernel(`${name}(int* out)`).launch({ grid: 1, block: THREADS, sharedMemory }, out);
    // The fault is the tool's subject, whatever the device says of it.
    await device.done().catch(() => {});
  }
  Deno.exit(0);
}
