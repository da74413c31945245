/**
 * `gridstride run`: runs a kernel of a file on arrays from files.
 *
 * @module
 */

import { openDevice, readStructs, timeKernel } from "../../mod.ts";
import { DeviceTrace, saveTrace } from "../lab/trace/mod.ts";
import {
  type Command,
  DEVICE_OPTION,
  type Invocation,
  printResult,
  throwFileProblem,
  UsageError,
} from "./command.ts";
import { formatBytes, formatRate } from "./format.ts";
import {
  compileKernel,
  COMPILER_LISTS,
  findKernel,
  kernelArguments,
  readSource,
} from "./kernel.ts";
import { defineOptions, extentsOption, integerOption, textOption } from "./options.ts";
import { parseRunArgument, RunArrays } from "./run_arguments.ts";

/** Default threads of a block: a multiple of every warp size. */
const DEFAULT_BLOCK = 256;
const MAX_REPEATS = 1_000_000;

/** A launch with its grid and block as `[x, y, z]`. */
function launchOf(invocation: Invocation, maxThreads: number, elements: number) {
  const block = extentsOption(invocation, "block") ?? [Math.min(DEFAULT_BLOCK, maxThreads)];
  const grid = extentsOption(invocation, "grid") ?? [Math.ceil(Math.max(1, elements) / block[0]!)];
  const sharedMemory = integerOption(invocation, "shared", 0, 2 ** 31 - 1) ?? 0;
  const three = ([x = 1, y = 1, z = 1]: readonly number[]) => [x, y, z] as const;
  return { grid: three(grid), block: three(block), sharedMemory };
}

async function runOnDevice(invocation: Invocation) {
  const { file, signature, args: texts } = kernelArguments("run", invocation);
  const args = texts.map(parseRunArgument);
  const repeats = integerOption(invocation, "repeat", 1, MAX_REPEATS) ?? 1;
  const hasBlockShape = (extentsOption(invocation, "block")?.length ?? 1) > 1;
  if (hasBlockShape && textOption(invocation, "grid") === undefined) {
    throw new UsageError(
      "Cannot run gridstride run without --grid as --block has several dimensions",
    );
  }
  // Checks --grid and --shared before it compiles anything.
  launchOf(invocation, DEFAULT_BLOCK, 0);
  const source = await readSource(file, invocation);
  using device = openDevice(invocation.device);
  // With --json, stdout contains only the JSON value.
  using _diverted = invocation.json ? device.printToStderr() : undefined;
  const tracePath = textOption(invocation, "trace");
  using trace = tracePath === undefined ? undefined : new DeviceTrace(device);
  const { headers } = source;
  const declared = readStructs(source.source, { headers, defines: defineOptions(invocation) });
  using module = await compileKernel(device, source, invocation, signature, declared.structs);
  const kernel = findKernel(module, signature, declared);
  using arrays = new RunArrays(device);
  const bound = await arrays.bind(args, kernel.signature.parameters);
  const elements = Math.max(0, ...bound.map((argument) => argument.elements));
  const config = launchOf(invocation, kernel.attributes.maxThreadsPerBlock, elements);
  const values = bound.map(({ value }) => value);
  const time = async (repeats: number) => {
    const options = { warmUp: 0, repeats, flushCache: repeats > 1 };
    return (await timeKernel(kernel, config, values as never, options)).median;
  };
  const first = await time(1);
  // The results of the first launch: later launches update the arrays again.
  const writeResults = await arrays.results();
  const median = repeats === 1 ? first : await time(repeats);
  await writeResults();
  if (trace !== undefined) {
    await saveTrace(tracePath!, [await trace.stop()])
      .catch((error) => throwFileProblem("save the trace", error));
  }
  const bytes = bound.reduce((sum, argument) => sum + argument.bytes, 0);
  return {
    kernel: kernel.name,
    ...config,
    repeats,
    medianMilliseconds: median,
    bytes,
    // Events may measure 0 for an empty kernel, and JSON has no infinity.
    bytesPerSecond: median > 0 ? bytes / (median / 1000) : 0,
  };
}

function describe(report: Awaited<ReturnType<typeof runOnDevice>>): string {
  const { kernel, grid, block, sharedMemory, repeats, medianMilliseconds, bytes } = report;
  const shared = sharedMemory === 0 ? "" : `, ${formatBytes(sharedMemory)} of shared memory`;
  const launches = repeats === 1 ? "one launch" : `median of ${repeats} launches`;
  const bandwidth = bytes === 0
    ? ""
    : `\n${formatBytes(bytes)} of arrays, ${formatRate(report.bytesPerSecond, "B/s")}`;
  return `${kernel}: ${medianMilliseconds.toPrecision(4)} ms, ${launches}${bandwidth}
grid ${grid.join(" × ")}, block ${block.join(" × ")}${shared}`;
}

export const RUN: Command = {
  name: "run",
  summary: "compile a kernel and run it on .npy files",
  arguments: "<FILE.cu> [KERNEL] [ARGUMENT...]",
  description:
    `Compiles a CUDA source, launches one of its kernels, and writes the results to files.

SIGNATURE is that of the kernel, such as "saxpy(float a, const float* x, float* y, int n)". The name
is enough if the source declares the kernel. There is one ARGUMENT for each parameter:

  2.5  -1  0x10  true         a number
  [1,2,3,4]                   a vector
  '{"x": 1, "y": [1, 2]}'     a struct of the source, with its fields as JSON
  @in.npy                     an input array, from a file in NumPy's format
  out:float32[8,4]@out.npy    an output array of zeros with this type and shape
  inout:@in.npy@out.npy       an array from one file to another`,
  options: {
    "--grid <X,Y,Z>":
      "blocks; by default enough to have one thread per element of the longest array",
    "--block <X,Y,Z>": "threads of a block; 256 by default",
    "--shared <BYTES>": "dynamic shared memory of a block",
    "--repeat <N>": "time N launches instead of one",
    "--trace <FILE>":
      "record the events on the device, for https://ui.perfetto.dev; each launch takes a few microseconds longer",
    ...DEVICE_OPTION,
  },
  lists: COMPILER_LISTS,
  details:
    `The output files contain the results of one launch. --repeat N adds N launches, each of which
continues with the arrays of the previous one. The time is the median of the launches on the device.
The bandwidth assumes that each input is read once and each output is written once. The output of
printf() in kernels goes to stdout, or to stderr with --json.

With --json: { kernel, grid, block, sharedMemory, repeats, medianMilliseconds, bytes,
bytesPerSecond }.

Exit code 1 if the source does not compile, a file cannot be read or written, or the kernel fails.`,
  async run(invocation) {
    const report = await runOnDevice(invocation);
    printResult(invocation, report, () => describe(report));
  },
};
