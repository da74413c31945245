/**
 * `gridstride occupancy`: how many blocks a multiprocessor holds at once, and what limits them.
 *
 * @module
 */

import {
  capabilityLimits,
  occupancy,
  type OccupancyLimits,
  occupancyLimits,
  openDevice,
} from "../../mod.ts";
import { parseByteSize } from "../lab/memory/mod.ts";
import { type Command, type Invocation, printResult, UsageError } from "./command.ts";
import { reportKernelProblems } from "./kernel_problem.ts";
import { type KernelFigures, kernelResources } from "./kernel_resources.ts";
import { describeOccupancy } from "./occupancy_text.ts";
import { extentsOption, integerOption, textOption } from "./run_options.ts";

const MOST = 2 ** 31 - 1;
/** Most barriers of a block. */
const MOST_BARRIERS = 16;

/** The limits that are asked about, and what they are of. */
interface Subject {
  readonly capability: string;
  readonly label: string;
  readonly limits: OccupancyLimits;
}

function subjectOf(invocation: Invocation): Subject {
  const capability = textOption(invocation, "capability");
  if (capability === undefined) {
    using device = openDevice(invocation.device);
    return {
      capability: device.info.computeCapability,
      label: `${device.label}, compute capability ${device.info.computeCapability}`,
      limits: occupancyLimits(device.info),
    };
  }
  if (invocation.device !== undefined) {
    throw new UsageError(
      "Cannot calculate occupancy as --capability and --device exclude each other",
    );
  }
  const limits = capabilityLimits(capability);
  if (!limits.exact) {
    console.error(
      `compute capability ${capability} is not known: the limits are ${limits.source}'s`,
    );
  }
  return { capability, label: `compute capability ${capability}`, limits };
}

/** Threads of a block: their number, or the extents of the block. */
function threadsOf(invocation: Invocation): number {
  const threads = integerOption(invocation, "threads", 1, MOST);
  const block = extentsOption(invocation, "block");
  if (threads !== undefined && block === undefined) return threads;
  if (threads === undefined && block !== undefined) {
    const product = block.reduce((all, extent) => all * extent, 1);
    if (product <= MOST) return product;
    throw new UsageError(
      `Cannot use --block as its threads must be in 1..${MOST}: they are ${product}`,
    );
  }
  throw new UsageError(
    "Cannot calculate occupancy as there must be one of --threads and --block: " +
      (threads === undefined ? "there is none" : "there are both"),
  );
}

/** Bytes, as a number or with a unit: `0`, `4096`, `16KiB`. */
function sizeOption(invocation: Invocation, name: string): number | undefined {
  const text = textOption(invocation, name);
  if (text === undefined) return undefined;
  if (/^0(?:[KMGT]i?)?B?$/.test(text)) return 0;
  try {
    const bytes = parseByteSize(text);
    if (bytes <= MOST) return bytes;
  } catch (error) {
    if (!(error instanceof RangeError)) throw error;
  }
  throw new UsageError(
    `Cannot use --${name} as it must be bytes or a size such as 16KiB, below 2 GiB: it is "${text}"`,
  );
}

/** What the kernel takes: as it is typed, or of the kernel that is compiled, with its launch bounds. */
async function kernelFigures(
  invocation: Invocation,
  capability: string,
): Promise<KernelFigures> {
  const [file, signature, extra] = invocation.positional;
  const registers = integerOption(invocation, "registers", 0, MOST);
  const shared = sizeOption(invocation, "shared");
  if (file === undefined) {
    if (registers === undefined) {
      throw new UsageError(
        "Cannot calculate occupancy as --registers is missing, or FILE.cu and a kernel of it",
      );
    }
    return { registersPerThread: registers, staticSharedMemory: shared ?? 0 };
  }
  if (signature === undefined || extra !== undefined) {
    throw new UsageError(
      "Cannot calculate occupancy as FILE.cu must be followed by one kernel of it: " +
        (signature === undefined ? "there is none" : `there is "${extra}" too`),
    );
  }
  if (registers !== undefined || shared !== undefined) {
    throw new UsageError(
      `Cannot use --${registers === undefined ? "shared" : "registers"} as it is found by ` +
        "compiling FILE.cu",
    );
  }
  return await kernelResources(file, signature, capability, invocation);
}

async function calculate(invocation: Invocation): Promise<void> {
  const threadsPerBlock = threadsOf(invocation);
  const dynamicSharedMemory = sizeOption(invocation, "dynamic") ?? 0;
  const barriersPerBlock = integerOption(invocation, "barriers", 0, MOST_BARRIERS) ?? 1;
  const { capability, label, limits } = subjectOf(invocation);
  const usage = {
    ...await kernelFigures(invocation, capability),
    threadsPerBlock,
    dynamicSharedMemory,
    barriersPerBlock,
  };
  const result = occupancy(limits, usage);
  printResult(invocation, result, () => describeOccupancy(label, result, usage, limits));
}

/** The command. */
export const OCCUPANCY: Command = {
  name: "occupancy",
  summary: "how many blocks a multiprocessor holds at once, what limits them, what would help",
  help: `gridstride occupancy --threads N --registers N [--shared SIZE] [--dynamic SIZE] [options]
gridstride occupancy FILE.cu "SIGNATURE" --block X,Y,Z [--dynamic SIZE] [options]

Calculates occupancy as NVIDIA's own calculator does, from figures, or from a kernel that is
compiled for it, which takes NVRTC or nvcc and no GPU.

  --capability 9.0  the compute capability; that of the device by default
  --device DEVICE   the device: cuda, cuda:N, host or host:N
  --threads N       threads of a block, or
  --block X,Y,Z     its extents
  --registers N     registers of a thread
  --shared SIZE     shared memory declared in the kernel, such as 16KiB; none by default
  --dynamic SIZE    shared memory that the launch adds; none by default
  --barriers N      hardware barriers of a block, 0 to 16; 1 by default
  --define K=V      a macro; may be given several times, as the next two
  --include DIR     where headers are looked for, besides beside the file
  --option TEXT     an option for the compiler, in its words

With --json: { activeBlocks, activeWarps, occupancy, limits: { warps, blocks, registers,
sharedMemory, barriers }, limiter, advice }. A limit is the blocks that the resource alone would
allow, and null where blocks take nothing of it. A block that does not fit has an occupancy of 0,
which is explained.
Exit code 1 when the source does not compile, or there is no compiler.`,
  options: {
    values: ["capability", "threads", "block", "registers", "shared", "dynamic", "barriers"],
    lists: ["define", "include", "option"],
  },
  run: (invocation) => reportKernelProblems(() => calculate(invocation)),
};
