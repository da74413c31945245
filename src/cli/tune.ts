/**
 * `gridstride tune`: which macros and launch parameters make a kernel fastest.
 *
 * @module
 */

import {
  type Device,
  DeviceBuffer,
  type Kernel,
  type KernelArgument,
  type KernelFile,
  openDevice,
  readStructs,
} from "../../mod.ts";
import { autotune, type TuningResult } from "../lab/tuning/mod.ts";
import { type Command, type Invocation, printResult, UsageError } from "./command.ts";
import { compileKernel, findKernel } from "./kernel_module.ts";
import { reportKernelProblems } from "./kernel_problem.ts";
import { readKernelSource } from "./kernel_source.ts";
import { parseRunArgument, type RunArgument } from "./run_arguments.ts";
import { type BoundArgument, RunArrays, writeResult } from "./run_arrays.ts";
import { defineOptions, integerOption } from "./run_options.ts";
import { type Macros, readConfigurations } from "./tune_configurations.ts";
import { type LaunchExpressions, launchOf, readLaunchExpressions } from "./tune_launch.ts";
import { describeTuning } from "./tune_text.ts";

/** What the command prints of a configuration. */
interface TuneRow {
  readonly configuration: Macros;
  /** Null where it failed: JSON has no infinity. */
  readonly medianMicroseconds: number | null;
  readonly failed: boolean;
  readonly best: boolean;
  readonly reason?: string;
}

/** What was typed. */
interface TuneRequest {
  readonly invocation: Invocation;
  readonly source: KernelFile;
  readonly signature: string;
  readonly texts: readonly string[];
  readonly args: readonly RunArgument[];
  readonly configurations: readonly Macros[];
  readonly launch: LaunchExpressions;
  readonly repeats: number;
}

const MOST_REPEATS = 10_000;
const DEFAULT_REPEATS = 30;

async function requestOf(invocation: Invocation): Promise<TuneRequest> {
  const [file, signature, ...texts] = invocation.positional;
  if (file === undefined) throw new UsageError("Cannot tune as FILE.cu is missing");
  if (signature === undefined) {
    throw new UsageError('Cannot tune as the kernel is missing: its signature, such as "k(int n)"');
  }
  const args = texts.map(parseRunArgument);
  const repeats = integerOption(invocation, "repeat", 1, MOST_REPEATS) ?? DEFAULT_REPEATS;
  const configurations = await readConfigurations(invocation);
  refuseMacrosGivenTwice(invocation, configurations);
  const launch = readLaunchExpressions(invocation, configurations);
  const source = await readKernelSource(file, invocation.lists["include"] ?? []);
  return { invocation, source, signature, texts, args, configurations, launch, repeats };
}

function refuseMacrosGivenTwice(invocation: Invocation, configurations: readonly Macros[]): void {
  const defined = Object.keys(defineOptions(invocation));
  const twice = defined.find((name) =>
    configurations.some((macros) => Object.hasOwn(macros, name))
  );
  if (twice === undefined) return;
  throw new UsageError(`Cannot use --define as each macro has one value: ${twice} is tuned`);
}

/** A kernel as it is compiled for a configuration, which goes with its module. */
interface ConfiguredKernel extends Disposable {
  readonly kernel: Kernel;
}

/**
 * The macros of a configuration that the source can depend on: what only says how to launch is not
 * compiled again for each value. What options have a compiler read besides is not looked into.
 */
function macrosFor(
  { source, headers }: KernelFile,
  { lists }: Invocation,
  configuration: Macros,
): Record<string, string> {
  const texts = [source, ...Object.values(headers)];
  const isKnown = (lists["option"] ?? []).length === 0;
  const macros = Object.entries(configuration).filter(([name]) =>
    !isKnown || texts.some((text) => text.includes(name))
  );
  return Object.fromEntries(macros.map(([name, value]) => [name, String(value)]));
}

async function compileFor(
  device: Device,
  { invocation, source, signature }: TuneRequest,
  configuration: Macros,
): Promise<ConfiguredKernel> {
  const defines = { ...defineOptions(invocation), ...macrosFor(source, invocation, configuration) };
  const { headers } = source;
  const declared = readStructs(source.source, { headers, defines });
  const { structs } = declared;
  const module = await compileKernel(device, source, invocation, signature, structs, defines);
  try {
    const kernel = findKernel(module, signature, declared);
    return { kernel, [Symbol.dispose]: () => module[Symbol.dispose]() };
  } catch (error) {
    module[Symbol.dispose]();
    throw error;
  }
}

/** Binds the arguments to the parameters of the first configuration that compiles. */
async function bindArguments(
  device: Device,
  request: TuneRequest,
  arrays: RunArrays,
): Promise<BoundArgument[]> {
  const { configurations, args } = request;
  for (const [index, configuration] of configurations.entries()) {
    try {
      using first = await compileFor(device, request, configuration);
      const { parameters } = first.kernel.signature;
      const bound: BoundArgument[] = [];
      for (const [place, argument] of args.entries()) {
        bound.push(await arrays.bind(argument, parameters[place]));
      }
      return bound;
    } catch (error) {
      // What is wrong with one configuration need not be with the next; files are for all.
      const isLast = index === configurations.length - 1;
      if (isLast || (error as Error).name !== "CompileError") throw error;
    }
  }
  return [];
}

/** What results are kept by besides key and device: all that the machine code depends on. */
async function versionOf({ invocation, source }: TuneRequest): Promise<string> {
  const { source: text, headers } = source;
  const parts = [text, [...Object.entries(headers)].sort(), invocation.lists["option"] ?? []];
  const defines = Object.entries(defineOptions(invocation)).sort();
  const bytes = new TextEncoder().encode(JSON.stringify([parts, defines]));
  return new Uint8Array(await crypto.subtle.digest("SHA-256", bytes)).toHex();
}

async function tuneOn(device: Device, request: TuneRequest): Promise<TuningResult<Macros>> {
  const { invocation, signature, texts, configurations, launch, repeats } = request;
  using arrays = new RunArrays(device);
  const bound = await bindArguments(device, request, arrays);
  const values = bound.map(({ value }) => value as KernelArgument);
  const elements = Math.max(0, ...bound.map((argument) => argument.elements));
  const launchWith = (configuration: Macros, { kernel }: ConfiguredKernel) =>
    kernel.launch(launchOf(launch, configuration, elements), ...values);
  const result = await autotune<Macros, ConfiguredKernel>(device, {
    name: "gridstride tune",
    key: { signature, arguments: texts, elements, launch: launch.texts },
    version: await versionOf(request),
    configurations,
    prepare: (configuration) => compileFor(device, request, configuration),
    launch: launchWith,
    restore: bound
      .filter((_, index) => ["out", "inout"].includes(request.args[index]!.kind))
      .flatMap(({ value }) => value instanceof DeviceBuffer ? [value] : []),
    repeats,
    store: invocation.options["fresh"] === true ? false : "disk",
  });
  // The arrays are as they were before: what is written is what one launch of the best makes.
  using best = await compileFor(device, request, result.best);
  launchWith(result.best, best);
  for (const { path, file } of await arrays.results()) await writeResult(path, file);
  return result;
}

function rowsOf({ best, report }: TuningResult<Macros>): TuneRow[] {
  return report.map(({ configuration, medianMicroseconds, failed, reason }) => ({
    configuration,
    medianMicroseconds: failed ? null : medianMicroseconds,
    failed,
    best: configuration === best,
    ...(reason === undefined ? {} : { reason }),
  }));
}

async function tune(invocation: Invocation): Promise<void> {
  const request = await requestOf(invocation);
  const result = await tunedQuietly(request);
  printResult(invocation, rowsOf(result), () => describeTuning(result));
}

/** One JSON value is all that stdout gets: what kernels print goes to stderr with `--json`. */
async function tunedQuietly(request: TuneRequest): Promise<TuningResult<Macros>> {
  using device = openDevice(request.invocation.device);
  using _diverted = request.invocation.json ? device.printToStderr() : undefined;
  return await tuneOn(device, request);
}

/** The command. */
export const TUNE: Command = {
  name: "tune",
  summary: "find the macros and launch parameters that make a kernel fastest",
  help: `gridstride tune FILE.cu "SIGNATURE" ARGUMENT... --tune NAME=VALUE,VALUE... [options]

Compiles a kernel for each of several configurations, times them in turn on the device, and says
which is fastest. SIGNATURE and ARGUMENTs are as in gridstride run.

  --tune NAME=V,V,...    a macro and the values that it may have; may be given several times, for
                         all combinations. The first values are the usual ones, and keep their
                         place unless others are faster beyond the noise
  --configurations FILE  the configurations as a JSON array: [{"TILE": 16}, {"TILE": 32}]
  --block X,Y,Z          threads of a block; 256 by default
  --grid X,Y,Z           blocks; by default enough for one thread for each element of the longest
                         array
  --shared BYTES         dynamic shared memory of a block
  --repeat N             rounds at most; 30 by default
  --fresh                times everything again, and keeps nothing
  --define K=V           a macro that all have; may be given several times, as the next two
  --include DIR          where headers are looked for, besides beside the file
  --option TEXT          an option for the compiler, in its words
  --device DEVICE        cuda, cuda:N, host or host:N

--block, --grid and --shared are expressions of integers, the names that are tuned and elements,
the length of the longest array:
--tune BLOCK=128,256 --block BLOCK --grid "ceil(elements / (BLOCK * 4))".
They have + - * / %, parentheses, ceil, floor, min and max; / divides exactly.

Each launch finds the arrays as they were read. In the end those of out: and inout: are written, as
one launch of the best configuration makes them. Results are kept, and a configuration that was
timed before is not timed again. Times are medians of the rounds that a configuration was in; what
is beside them, × best, compares rounds that the best one was in as well.
With --json: an array of { configuration, medianMicroseconds, failed, best, reason }; the time is
null and there is a reason where it failed.
Exit code 1 when no configuration runs, or a file cannot be read or written.`,
  options: {
    values: ["grid", "block", "shared", "repeat", "configurations"],
    lists: ["tune", "define", "include", "option"],
    flags: ["fresh"],
  },
  run: (invocation) => reportKernelProblems(() => tune(invocation)),
};
