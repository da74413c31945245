/**
 * `gridstride run`: a kernel from a file, on arrays from files.
 *
 * @module
 */

import {
  type Dimensions,
  type Kernel,
  type KernelFile,
  type LaunchConfig,
  openDevice,
  readStructs,
  timeKernel,
} from "../../mod.ts";
import { type Command, type Invocation, printResult, UsageError } from "./command.ts";
import { compileKernel, findKernel } from "./kernel_module.ts";
import { reportKernelProblems } from "./kernel_problem.ts";
import { readKernelSource } from "./kernel_source.ts";
import { parseRunArgument, type RunArgument } from "./run_arguments.ts";
import { type BoundArgument, RunArrays, writeResult } from "./run_arrays.ts";
import { defineOptions, extentsOption, integerOption } from "./run_options.ts";
import { RunTrace } from "./run_trace.ts";
import { formatBandwidth, formatBytes } from "./text_table.ts";

/** What the command prints. */
interface RunReport {
  readonly kernel: string;
  readonly grid: readonly number[];
  readonly block: readonly number[];
  readonly sharedMemory: number;
  readonly repeats: number;
  readonly medianMilliseconds: number;
  readonly bytes: number;
  readonly bytesPerSecond: number;
}

/** What was typed. */
interface RunRequest {
  readonly file: string;
  readonly signature: string;
  readonly args: readonly RunArgument[];
  readonly grid: readonly number[] | undefined;
  readonly block: readonly number[] | undefined;
  readonly sharedMemory: number;
  readonly repeats: number;
}

/** Threads of a block where nothing is said: a multiple of every warp, and none too many. */
const DEFAULT_BLOCK = 256;
const MOST_REPEATS = 1_000_000;

function requestOf(invocation: Invocation): RunRequest {
  const [file, signature, ...args] = invocation.positional;
  if (file === undefined) throw new UsageError("Cannot run as FILE.cu is missing");
  if (signature === undefined) {
    throw new UsageError('Cannot run as the kernel is missing: its signature, such as "k(int n)"');
  }
  const request: RunRequest = {
    file,
    signature,
    args: args.map(parseRunArgument),
    grid: extentsOption(invocation, "grid"),
    block: extentsOption(invocation, "block"),
    sharedMemory: integerOption(invocation, "shared", 0, 2 ** 31 - 1) ?? 0,
    repeats: integerOption(invocation, "repeat", 1, MOST_REPEATS) ?? 1,
  };
  if (request.grid === undefined && (request.block?.length ?? 1) > 1) {
    throw new UsageError("Cannot run as --grid must be given where --block has several dimensions");
  }
  return request;
}

/** The launch: as it was typed, else one thread for each element of the longest array. */
function launchOf(
  { grid, block, sharedMemory }: RunRequest,
  kernel: Kernel,
  args: readonly BoundArgument[],
): LaunchConfig & { readonly grid: Dimensions; readonly block: Dimensions } {
  const threads = block ?? [Math.min(DEFAULT_BLOCK, kernel.attributes.maxThreadsPerBlock)];
  const elements = Math.max(1, ...args.map((argument) => argument.elements));
  const blocks = grid ?? [Math.ceil(elements / threads[0]!)];
  return {
    grid: blocks as unknown as Dimensions,
    block: threads as unknown as Dimensions,
    sharedMemory,
  };
}

function threeExtents(extents: Dimensions): number[] {
  const [x = 1, y = 1, z = 1] = Array.isArray(extents) ? extents as number[] : [extents as number];
  return [x, y, z];
}

/**
 * Launches the kernel and takes the time. The results are those of the first launch, as further
 * ones find what it has left.
 */
async function launchAndTime(
  kernel: Kernel,
  config: LaunchConfig,
  values: readonly unknown[],
  repeats: number,
  arrays: RunArrays,
): Promise<{ median: number; results: Awaited<ReturnType<RunArrays["results"]>> }> {
  const time = (count: number) =>
    timeKernel(kernel, config, values as never, {
      warmUp: 0,
      repeats: count,
      flushCache: count > 1,
    });
  const first = await time(1);
  const results = await arrays.results();
  return { median: repeats === 1 ? first.median : (await time(repeats)).median, results };
}

async function run(invocation: Invocation): Promise<void> {
  const request = requestOf(invocation);
  const source = await readKernelSource(request.file, invocation.lists["include"] ?? []);
  const report = await runOn(invocation, request, source);
  printResult(invocation, report, () => describe(report));
}

/** Compiles, launches and writes what was made. */
async function runOn(
  invocation: Invocation,
  request: RunRequest,
  source: KernelFile,
): Promise<RunReport> {
  using device = openDevice(invocation.device);
  // One JSON value is all that stdout gets; the times have waited for what kernels print.
  using _diverted = invocation.json ? device.printToStderr() : undefined;
  using trace = RunTrace.of(invocation, device);
  const { headers } = source;
  const declared = readStructs(source.source, { headers, defines: defineOptions(invocation) });
  using module = await compileKernel(
    device,
    source,
    invocation,
    request.signature,
    declared.structs,
  );
  const kernel = findKernel(module, request.signature, declared);
  using arrays = new RunArrays(device);
  const bound: BoundArgument[] = [];
  for (const [index, argument] of request.args.entries()) {
    bound.push(await arrays.bind(argument, kernel.signature.parameters[index]));
  }
  const config = launchOf(request, kernel, bound);
  const values = bound.map(({ value }) => value);
  const timed = await launchAndTime(kernel, config, values, request.repeats, arrays);
  for (const { path, file } of timed.results) await writeResult(path, file);
  await trace?.write();
  const bytes = bound.reduce((sum, argument) => sum + argument.bytes, 0);
  return {
    kernel: kernel.name,
    grid: threeExtents(config.grid),
    block: threeExtents(config.block),
    sharedMemory: request.sharedMemory,
    repeats: request.repeats,
    medianMilliseconds: timed.median,
    bytes,
    // An event pair can show no time at all for an empty kernel, and JSON has no infinity.
    bytesPerSecond: timed.median > 0 ? bytes / (timed.median / 1000) : 0,
  };
}

function describe(report: RunReport): string {
  const { kernel, grid, block, sharedMemory, repeats, medianMilliseconds, bytes } = report;
  const shared = sharedMemory === 0 ? "" : `, ${formatBytes(sharedMemory)} of shared memory`;
  const launches = repeats === 1 ? "one launch" : `median of ${repeats} launches`;
  const bandwidth = bytes === 0
    ? ""
    : `\n${formatBytes(bytes)} of arrays, ${formatBandwidth(report.bytesPerSecond)}`;
  return `${kernel}: ${medianMilliseconds.toPrecision(4)} ms, ${launches}${bandwidth}
grid ${grid.join(" × ")}, block ${block.join(" × ")}${shared}`;
}

/** The command. */
export const RUN: Command = {
  name: "run",
  summary: "compile a kernel and run it on .npy files",
  help: `gridstride run FILE.cu "SIGNATURE" ARGUMENT... [options]

Compiles a CUDA source, launches one of its kernels, and writes what it made.

SIGNATURE is the kernel's, such as "saxpy(float a, const float* x, float* y, int n)", or its name
where the source has its declaration. One ARGUMENT for each parameter:

  2.5  -1  0x10  true         a number
  [1,2,3,4]                   a vector
  '{"x": 1, "y": [1, 2]}'     a struct that the source declares, by its fields
  @in.npy                     an array, read from a file that NumPy wrote
  out:float32[8,4]@out.npy    an array of zeros, written to a file when the kernel has run
  inout:@in.npy@out.npy       an array that is read and then written

  --grid X,Y,Z     blocks; by default enough for one thread for each element of the longest array
  --block X,Y,Z    threads of a block; 256 by default
  --shared BYTES   dynamic shared memory of a block
  --define K=V     a macro; may be given several times, as the next two
  --include DIR    where headers are looked for, besides beside the file
  --option TEXT    an option for the compiler, in its words: --option=--use_fast_math
  --repeat N       launches that are timed; 1 by default
  --trace FILE     writes what happened on the device, for https://ui.perfetto.dev; a launch then
                   takes some microseconds longer
  --device DEVICE  cuda, cuda:N, host or host:N

What is written is the result of one launch; with --repeat N there are N more, which find what was
left by the one before. Time is that of the median launch on the device, bandwidth that of all
arrays read once and written once. What the kernel itself prints goes to stdout, with --json to
stderr.
With --json: { kernel, grid, block, sharedMemory, repeats, medianMilliseconds, bytes,
bytesPerSecond }.
Exit code 1 when the source does not compile, a file cannot be read or written, or the kernel fails.`,
  options: {
    values: ["grid", "block", "shared", "repeat", "trace"],
    lists: ["define", "include", "option"],
  },
  run: (invocation) => reportKernelProblems(() => run(invocation)),
};
