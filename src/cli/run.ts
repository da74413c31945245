/**
 * `gridstride run`: runs a kernel of a file on arrays from files.
 *
 * @module
 */

import { formatBytes } from "../lab/memory/mod.ts";
import { elementsOf } from "./npy.ts";
import { bold } from "@std/fmt/colors";
import { arrayText } from "../device/tensor.ts";
import { type Module, openDevice, readStructs, type StructTypes, timeKernel } from "../../mod.ts";
import { DeviceTrace, saveTrace } from "../lab/trace/mod.ts";
import {
  type Command,
  DEVICE_OPTION,
  type Invocation,
  printResult,
  throwFileProblem,
  UsageError,
} from "./command.ts";
import { formatRate, wrapText } from "./format.ts";
import {
  compileKernel,
  COMPILER_LISTS,
  DEFAULT_BLOCK,
  findKernel,
  kernelArguments,
  readSource,
} from "./kernel.ts";
import {
  defineOptions,
  extentsOption,
  integerOption,
  refuseOption,
  textOption,
  TIMEOUT_OPTION,
  timeoutOption,
} from "./options.ts";
import { loadArray, parseArray, parseRunArgument, RunArrays } from "./run_arguments.ts";

const MAX_REPEATS = 1_000_000;

/** A launch with its grid and block as `[x, y, z]`. */
function launchOf(invocation: Invocation, maxThreads: number, elements: number) {
  const block = extentsOption(invocation, "block") ?? [Math.min(DEFAULT_BLOCK, maxThreads)];
  const grid = extentsOption(invocation, "grid") ?? [Math.ceil(Math.max(1, elements) / block[0]!)];
  const sharedMemory = integerOption(invocation, "shared", 0, 2 ** 31 - 1) ?? 0;
  const three = ([x = 1, y = 1, z = 1]: readonly number[]) => [x, y, z] as const;
  const cooperative = invocation.options["cooperative"] === true;
  return { grid: three(grid), block: three(block), sharedMemory, cooperative };
}

/** Sets a variable by an option such as `table=float32:[1,2,3]`. */
async function setVariable(module: Module<string, StructTypes>, text: string): Promise<void> {
  const [, name, array] = /^([A-Za-z_][\w:]*)=(.+)$/s.exec(text) ??
    refuseOption("set", "NAME=ARRAY, such as table=float32:[1,2,3]", text);
  const { bytes, content } = await loadArray(parseArray(array!));
  const variable = module.variable(name!);
  if (bytes !== variable.byteLength) {
    const allowed = `an array of the ${variable.byteLength} bytes of ${name}`;
    refuseOption("set", allowed, `${array} of ${bytes} bytes`);
  }
  await variable.copyFrom(content ?? new Uint8Array(bytes));
}

/** Whether a kernel reads its position in a second dimension. */
function isMultidimensional(source: string, kernel: string): boolean {
  const head = new RegExp(`\\b${/\w+(?=<|$)/.exec(kernel)?.[0]}\\s*\\(`);
  const text = source.split("__global__").slice(1).find((part) => head.test(part)) ?? "";
  return /\b(?:blockIdx|threadIdx)\s*\.\s*[yz]\b/.test(text);
}

async function runOnDevice(invocation: Invocation) {
  const { file, signature, args: texts } = kernelArguments(invocation);
  const args = texts.map(parseRunArgument);
  const repeats = integerOption(invocation, "repeat", 1, MAX_REPEATS) ?? 0;
  const hasBlockShape = (extentsOption(invocation, "block")?.length ?? 1) > 1;
  if (hasBlockShape && textOption(invocation, "grid") === undefined) {
    throw new UsageError(
      "Cannot choose the grid as --block has several dimensions: --grid must be given too",
    );
  }
  // Checks --grid and --shared before it compiles anything.
  launchOf(invocation, DEFAULT_BLOCK, 0);
  const source = await readSource(file, invocation);
  using device = openDevice(invocation.device, {
    ...timeoutOption(invocation),
    memory: { debug: true },
  });
  // With --json, stdout contains only the JSON value.
  using _diverted = invocation.json ? device.printToStderr() : undefined;
  const tracePath = textOption(invocation, "trace");
  using trace = tracePath === undefined ? undefined : new DeviceTrace(device);
  const { headers } = source;
  const declared = readStructs(source.source, { headers, defines: defineOptions(invocation) });
  using module = await compileKernel(device, source, invocation, signature, declared.structs);
  const kernel = findKernel(module, signature, declared);
  for (const text of invocation.lists["set"] ?? []) await setVariable(module, text);
  using arrays = new RunArrays(device);
  const bound = await arrays.bind(args, kernel.signature.parameters);
  const elements = Math.max(0, ...bound.map((argument) => argument.elements));
  const config = launchOf(invocation, kernel.attributes.maxThreadsPerBlock, elements);
  const isChosen = ["grid", "block"].some((name) => textOption(invocation, name) !== undefined);
  if (!isChosen && isMultidimensional(source.source, kernel.name)) {
    const note =
      `Note: ${kernel.name} reads y or z of blockIdx or threadIdx, but this launch has ` +
      "only x: give --grid and --block, such as --grid 4,4 --block 16,16";
    console.error(wrapText(note));
  }
  const values = bound.map(({ value }) => value);
  const time = async (repeats: number) => {
    const options = { warmUp: 0, repeats, flushCache: repeats > 1 };
    return (await timeKernel(kernel, config, values as never, options)).median;
  };
  const first = await time(1);
  arrays.requireIntact(kernel.name);
  // The results of the first launch: later launches update the arrays again.
  const { outputs, write } = await arrays.results();
  // The first launch includes the start of the device, which is no time of the kernel.
  const median = repeats === 0 ? null : await time(repeats);
  await write();
  if (trace !== undefined) {
    await saveTrace(tracePath!, [await trace.stop()])
      .catch((error) => throwFileProblem("save the trace", error));
  }
  const bytes = bound.reduce((sum, argument) => sum + argument.bytes, 0);
  return {
    kernel: kernel.name,
    device: device.label,
    fake: device.info.fake,
    ...config,
    repeats,
    outputs,
    firstMilliseconds: first,
    medianMilliseconds: median,
    bytes,
    // Events may measure 0 for an empty kernel, and JSON has no infinity.
    bytesPerSecond: median === null ? null : median > 0 ? bytes / (median / 1000) : 0,
  };
}

type Report = Awaited<ReturnType<typeof runOnDevice>>;

/** The outputs in JSON: their elements, unless a file has them; bigints and NaN become texts. */
function outputFigures({ name, dtype, shape, bytes, path }: Report["outputs"][number]) {
  if (path !== undefined) return { name, dtype, shape, file: path };
  const values = Array.from<number | bigint, number | string>(
    elementsOf(dtype, bytes) as ArrayLike<number>,
    (value) => Number.isFinite(value) ? value as number : String(value),
  );
  return { name, dtype, shape, values };
}

function timeText({ firstMilliseconds, medianMilliseconds, repeats }: Report): string {
  if (medianMilliseconds === null) {
    const first = `${firstMilliseconds.toPrecision(4)} ms, the first launch`;
    return `${first} with all that starts then; --repeat 20 times the kernel`;
  }
  const launches = repeats === 1 ? "one launch" : `median of ${repeats} launches`;
  return `${medianMilliseconds.toPrecision(4)} ms, ${launches} after the first`;
}

function describe(report: Report): string {
  const printed = report.outputs.filter(({ path }) => path === undefined)
    .map(({ name, dtype, shape, bytes }) =>
      `${bold(name)}: ${dtype}[${shape}]\n${arrayText(dtype, shape, elementsOf(dtype, bytes))}\n\n`
    );
  const { kernel, grid, block, sharedMemory, bytes } = report;
  const shared = sharedMemory === 0 ? "" : `, ${formatBytes(sharedMemory)} of shared memory`;
  const rate = report.bytesPerSecond === null
    ? ""
    : `, ${formatRate(report.bytesPerSecond, "B/s")}`;
  const bandwidth = bytes === 0 ? "" : `\n${formatBytes(bytes)} of arrays${rate}`;
  const fake = report.fake ? ` on ${report.device} (fake)` : "";
  return `${printed.join("")}${kernel}${fake}: ${timeText(report)}${bandwidth}
grid ${grid.join(" × ")}, block ${block.join(" × ")}${shared}`;
}

export const RUN: Command = {
  name: "run",
  summary: "compile a kernel and run it on arrays",
  arguments: "<FILE.cu> [KERNEL] [ARGUMENT...]",
  description: `Compiles a CUDA source, launches one of its kernels, and prints the results.

KERNEL is its name, or its signature such as "saxpy(float a, const float* x, float* y, int n)" if
the source only declares it by a macro or a template. A file with one kernel needs none. There is
one ARGUMENT for each parameter:

  2.5  -1  0x10  true  null    a number, a null pointer
  [1,2,3,4]                    a vector
  '{"x": 1, "y": [1, 2]}'      a struct of the source, with its fields as JSON
  @in.npy                      an array from a file in NumPy's format
  zeros:float32[8,4]           an array of zeros
  arange:int32[8]              0, 1, 2…
  random:7:float32[8]          floats in [0, 1), integers in 0 to 99, with seed 7
  float32:[1,2,3]              these elements
  out:float32[8,4]             an output, zero before the launch; it is printed
  out:float32[8,4]@out.npy     an output that is written to a file
  inout:ARRAY                  an array of the forms above, then an output
  inout:ARRAY@out.npy          the same, written to a file`,
  options: {
    "--grid <X,Y,Z>": "blocks; by default one thread per element of the longest array",
    "--block <X,Y,Z>": "threads of a block; 256 by default",
    "--shared <BYTES>": "dynamic shared memory of a block",
    "--cooperative": "launch cooperatively, for grid.sync() of cooperative groups",
    "--repeat <N>": "time N launches after the first",
    "--trace <FILE>": "record the events on the device, for https://ui.perfetto.dev",
    ...DEVICE_OPTION,
    ...TIMEOUT_OPTION,
  },
  lists: {
    ...COMPILER_LISTS,
    "--set <NAME=ARRAY>": "the elements of a __constant__ or __device__ variable",
  },
  details: `The outputs are the results of one launch. --repeat N adds N launches, each of which
continues with the arrays of the previous one, and prints the median of their times on the device.
The first launch also starts what a kernel needs, so its time is printed as such. A write just
outside of an array is an error. The bandwidth assumes that each input is read once and each output
is written once. The output of printf() in kernels goes to stdout, or to stderr with --json.

With --json: { kernel, device, fake, grid, block, sharedMemory, cooperative, repeats, outputs,
firstMilliseconds, medianMilliseconds, bytes, bytesPerSecond }, where outputs is an array of { name,
dtype, shape, values or file }. Without --repeat the median and the bandwidth are null.

Exit code 1 if the source does not compile, a file cannot be read or written, or the kernel fails.`,
  async run(invocation) {
    const report = await runOnDevice(invocation);
    const outputs = report.outputs.map(outputFigures);
    printResult(invocation, { ...report, outputs }, () => describe(report));
  },
};
