/**
 * `gridstride tune`: finds the macros and launch parameters that make a kernel fastest.
 *
 * @module
 */

import {
  CompileError,
  type Device,
  DeviceBuffer,
  type Kernel,
  type KernelArgument,
  openDevice,
  readStructs,
} from "../../mod.ts";
import { autotune, type TuningResult, type TuningRow } from "../lab/tuning/mod.ts";
import {
  type Command,
  DEVICE_OPTION,
  type Invocation,
  labelOf,
  printResult,
  UsageError,
} from "./command.ts";
import { textTable } from "./format.ts";
import {
  compileKernel,
  COMPILER_LISTS,
  findKernel,
  kernelArguments,
  type KernelFile,
  readSource,
} from "./kernel.ts";
import { defineOptions, integerOption, TIMEOUT_OPTION, timeoutOption } from "./options.ts";
import { type BoundArgument, parseRunArgument, RunArrays } from "./run_arguments.ts";
import { type Macros, readConfigurations, readLaunch } from "./tune_configurations.ts";

type TuneRequest = Awaited<ReturnType<typeof requestOf>>;

const MAX_REPEATS = 10_000;
const DEFAULT_REPEATS = 30;

async function requestOf(invocation: Invocation) {
  const { file, signature, args: texts } = kernelArguments(invocation);
  const args = texts.map(parseRunArgument);
  const repeats = integerOption(invocation, "repeat", 1, MAX_REPEATS) ?? DEFAULT_REPEATS;
  const configurations = await readConfigurations(invocation);
  const twice = Object.keys(defineOptions(invocation))
    .find((name) => configurations.some((macros) => Object.hasOwn(macros, name)));
  if (twice !== undefined) {
    throw new UsageError(`Cannot use --define for the macro ${twice} as it is tuned`);
  }
  const launch = readLaunch(invocation, configurations);
  const source = await readSource(file, invocation);
  const names = invocation.lists["tune"] === undefined ? [] : Object.keys(configurations[0]!);
  const unused = names.find((name) =>
    !mayUse(source, invocation, name) && !launch.texts.some((text) => usesWord(text, name))
  );
  if (unused !== undefined) {
    throw new UsageError(
      `Cannot tune ${unused} as neither the source nor --block, --grid and --shared use it. For the ` +
        "size of a block: --tune BLOCK=64,128 --block BLOCK",
    );
  }
  return { invocation, source, signature, texts, args, configurations, launch, repeats };
}

function usesWord(text: string, word: string): boolean {
  return new RegExp(`(?<!\\w)${word}(?!\\w)`).test(text);
}

/** Whether a macro may change the compiled kernel: compiler options may read further files. */
function mayUse({ source, headers }: KernelFile, { lists }: Invocation, name: string): boolean {
  return lists["option"] !== undefined ||
    [source, ...Object.values(headers)].some((text) => usesWord(text, name));
}

/** A kernel that is compiled for a configuration; disposing of it unloads its module. */
interface ConfiguredKernel extends Disposable {
  readonly kernel: Kernel;
}

async function compileFor(
  device: Device,
  { invocation, source, signature }: TuneRequest,
  configuration: Macros,
): Promise<ConfiguredKernel> {
  // A macro that only sets launch parameters needs no compilation for each value.
  const macros = Object.entries(configuration)
    .filter(([name]) => mayUse(source, invocation, name))
    .map(([name, value]) => [name, String(value)]);
  const defines = { ...defineOptions(invocation), ...Object.fromEntries(macros) };
  const declared = readStructs(source.source, { headers: source.headers, defines });
  const { structs } = declared;
  using stack = new DisposableStack();
  const module = stack.use(
    await compileKernel(device, source, invocation, signature, structs, defines),
  );
  const kernel = findKernel(module, signature, declared);
  const kept = stack.move();
  return { kernel, [Symbol.dispose]: () => kept.dispose() };
}

/** Binds the arguments to the parameters of the first configuration that compiles. */
async function bindArguments(
  device: Device,
  request: TuneRequest,
  arrays: RunArrays,
): Promise<BoundArgument[]> {
  const { configurations, args } = request;
  for (const configuration of configurations) {
    try {
      using first = await compileFor(device, request, configuration);
      return await arrays.bind(args, first.kernel.signature.parameters);
    } catch (error) {
      const isLast = configuration === configurations.at(-1);
      if (isLast || !(error instanceof CompileError)) throw error;
    }
  }
  return [];
}

/** The version of stored results: a digest of everything that determines the machine code. */
async function versionOf({ invocation, source }: TuneRequest): Promise<string> {
  const parts = [
    source.source,
    Object.entries(source.headers).sort(),
    invocation.lists["option"] ?? [],
    invocation.lists["instance"] ?? [],
    Object.entries(defineOptions(invocation)).sort(),
  ];
  const bytes = new TextEncoder().encode(JSON.stringify(parts));
  return new Uint8Array(await crypto.subtle.digest("SHA-256", bytes)).toHex();
}

async function tuneOnDevice(request: TuneRequest): Promise<DeviceTuning> {
  const { invocation, signature, texts, args, configurations, launch, repeats } = request;
  using device = openDevice(invocation.device, timeoutOption(invocation));
  // With --json, stdout contains only the JSON value.
  using _diverted = invocation.json ? device.printToStderr() : undefined;
  using arrays = new RunArrays(device);
  const bound = await bindArguments(device, request, arrays);
  const values = bound.map(({ value }) => value as KernelArgument);
  const elements = Math.max(0, ...bound.map((argument) => argument.elements));
  const launchWith = (configuration: Macros, { kernel }: ConfiguredKernel) =>
    kernel.launch(launch.of(configuration, elements), ...values);
  const result = await autotune<Macros, ConfiguredKernel>(device, {
    name: "gridstride tune",
    key: { signature, arguments: texts, elements, launch: launch.texts },
    version: await versionOf(request),
    configurations,
    prepare: (configuration) => compileFor(device, request, configuration),
    launch: launchWith,
    restore: bound.flatMap(({ value }, index) =>
      value instanceof DeviceBuffer && args[index]!.kind !== "in" ? [value] : []
    ),
    repeats,
    store: invocation.options["fresh"] === true ? false : "disk",
  });
  // autotune() restored the arrays: the files contain the results of one launch.
  using best = await compileFor(device, request, result.best);
  launchWith(result.best, best);
  await (await arrays.results()).write();
  return { ...result, device: labelOf(device), fake: device.info.fake };
}

/** A result with the label of its device. */
type DeviceTuning = TuningResult<Macros> & { readonly device: string; readonly fake: boolean };

/** Describes a result as a table with the best configuration first. */
export function describeTuning({ best, report, origin, device }: DeviceTuning): string {
  const names = [...new Set(report.flatMap(({ configuration }) => Object.keys(configuration)))];
  const fastest = report.find(({ configuration }) => configuration === best)!;
  const rows = report.map((row) => ({ row, share: relativeTime(row, fastest) }))
    .sort((one, other) =>
      Number(other.row === fastest) - Number(one.row === fastest) || one.share - other.share
    )
    .map(({ row, share }) => [
      row === fastest ? "→" : "",
      ...names.map((name) => String(row.configuration[name] ?? "")),
      row.failed ? "failed" : row.medianMicroseconds.toPrecision(4),
      row.failed ? "" : share.toFixed(2),
      remarkOf(row, fastest, share),
    ]);
  const table = textTable(
    ["", ...names, "µs", "× best", ""],
    rows,
    `<${">".repeat(names.length + 2)}`,
  );
  const found = origin === "stored" ? "stored result; --fresh times again" : "timed now";
  const chosen = names.map((name) => `${name}=${best[name] ?? ""}`).join(" ");
  return `${table}\n\nbest on ${device}: ${chosen} (${found})`;
}

/** The time relative to the best one, in the rounds that both have: the clock may vary later. */
function relativeTime({ failed, samples }: TuningRow, best: TuningRow): number {
  if (failed) return Infinity;
  const rounds = Math.min(samples.length, best.samples.length);
  return medianOf(samples.slice(0, rounds)) / medianOf(best.samples.slice(0, rounds));
}

function medianOf(samples: readonly number[]): number {
  const sorted = samples.toSorted((one, other) => one - other);
  const middle = Math.floor(sorted.length / 2);
  return (sorted[middle]! + sorted[sorted.length - 1 - middle]!) / 2;
}

/** Explains a row, in particular one that seems faster than the best. */
function remarkOf(
  { failed, reason = "", stoppedEarly, refuted, medianMicroseconds }: TuningRow,
  best: TuningRow,
  share: number,
): string {
  if (failed) return reason.split("\n", 1)[0]!;
  if (refuted) return "not faster than the first one when timed again";
  if (share < 1) return "not certainly faster: within the noise";
  if (stoppedEarly) return "stopped early";
  return medianMicroseconds < best.medianMicroseconds ? "slower in the rounds of both" : "";
}

export const TUNE: Command = {
  name: "tune",
  summary: "find the fastest macros and launch parameters of a kernel",
  arguments: "<FILE.cu> [KERNEL] [ARGUMENT...]",
  description: `Compiles a kernel for several configurations, times them on the device, and prints
the fastest one. KERNEL and ARGUMENT are those of gridstride run.`,
  options: {
    "--configurations <FILE>": 'the configurations as a JSON array: [{"TILE": 16}, {"TILE": 32}]',
    "--block <X,Y,Z>": "threads of a block; 256 by default",
    "--grid <X,Y,Z>": "blocks; by default one thread per element of the longest array",
    "--shared <BYTES>": "dynamic shared memory of a block",
    "--repeat <N>": "maximum number of launches per configuration; 30 by default",
    "--fresh": "ignore stored results, and do not store the new ones",
    ...DEVICE_OPTION,
    ...TIMEOUT_OPTION,
  },
  lists: {
    "--tune <NAME=V,V,...>": "a macro and its values; others must be faster than the first",
    ...COMPILER_LISTS,
  },
  details: `--block, --grid and --shared can be expressions with the tuned macros, with "elements"
(the length of the longest array), + - * / %, parentheses, ceil, floor, min and max. A division is
exact: --tune BLOCK=128,256 --block BLOCK --grid "ceil(elements / (BLOCK * 4))"

Each launch starts with the original arrays. The output files contain the results of one launch of
the best configuration. Results are stored on disk and reused. A time is the median of all
launches of a configuration; "× best" compares only launches that were timed side by side with the
best one.

With --json: an array of { configuration, medianMicroseconds, failed, best, fake, reason }. The time of
a failed configuration is null, and reason describes the failure.

Exit code 1 if all configurations fail, or if a file cannot be read or written.`,
  async run(invocation) {
    const result = await tuneOnDevice(await requestOf(invocation));
    const rows = result.report.map(({ configuration, medianMicroseconds, failed, reason }) => ({
      configuration,
      medianMicroseconds: failed ? null : medianMicroseconds,
      failed,
      best: configuration === result.best,
      fake: result.fake,
      ...(reason === undefined ? {} : { reason }),
    }));
    printResult(invocation, rows, () => describeTuning(result));
  },
};
