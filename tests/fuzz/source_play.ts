/**
 * Compiles sources with mistakes, loads what compiles, and looks up its kernels; with launches, runs
 * each with one thread.
 *
 * A kernel of the host device runs in this process: one with a mistake may write anywhere, or never
 * end. Only `source_launch_campaign.ts` launches them, which is no test.
 *
 * @module
 */

import {
  CompileError,
  CudaError,
  type Device,
  type DeviceBuffer,
  type Diagnostic,
  type Kernel,
  type KernelParameter,
  type Module,
  openDevice,
} from "../../mod.ts";
import { resourceTally } from "../../src/ffi/native_device.ts";
import { CallCounts, campaignSettings, runCampaign, verdict } from "./campaign.ts";
import { type MutatedSource, mutatedSources } from "./source_mutations.ts";

/** More changes than one leave little that compiles. */
const MAX_CHANGES = 3;

/** Sources that are compiled also where one takes longer than the whole campaign. */
const LEAST_SOURCES = 6;

/** A kernel that takes longer never ends. */
const LAUNCH_MILLISECONDS = 3000;

const counts = new CallCounts();

/** Throws if a diagnostic names a place that is not in the source. */
function checkDiagnostic(diagnostic: Diagnostic, { name, text }: MutatedSource): void {
  const shown = JSON.stringify(diagnostic);
  if (/\/compile-|\/gridstride-/.test(shown)) {
    throw new Error(`A diagnostic names a directory that nobody knows: ${shown}`);
  }
  if (diagnostic.file !== name) return;
  const lines = text.split("\n");
  const { line = 0, column = 1 } = diagnostic;
  const last = lines.length;
  if (line < 1 || line > last) throw new Error(`Line ${line} is not in 1..${last}: ${shown}`);
  const original = lines[line - 1]!.replace(/\r$/, "");
  const told = diagnostic.text ?? "";
  // Host code in it may have been left out.
  const isSame = told.length === original.length &&
    Array.from(original, (_, at) => told[at]).every((character, at) =>
      character === " " || character === original[at]
    );
  if (!isSame) throw new Error(`Line ${line} is ${JSON.stringify(original)}: ${shown}`);
  // One behind the last character; a line that ends with a backslash goes on in the next.
  const isInLine = column >= 1 && (column <= original.length + 1 || original.endsWith("\\"));
  if (!isInLine) throw new Error(`Column ${column} is not in the line: ${shown}`);
}

function judge(what: string, thrown: unknown, source: MutatedSource): void {
  counts.count(what, "threw");
  const problem = verdict(thrown);
  if (problem !== undefined) throw new Error(`${what}: ${problem}`, { cause: thrown });
  if (thrown instanceof CompileError) {
    for (const each of thrown.diagnostics) checkDiagnostic(each, source);
  }
}

/** A value for a parameter: memory for pointers, else a small number. */
function argumentFor(parameter: KernelParameter, memory: DeviceBuffer): unknown {
  if (parameter.kind === "pointer") return memory;
  if (parameter.kind === "vector") {
    return Array.from({ length: parameter.type.length }, () => 1);
  }
  return 1;
}

/** Runs with one thread. Returns whether the device is usable still. */
async function launch(device: Device, kernel: Kernel, source: MutatedSource): Promise<boolean> {
  const { parameters } = kernel.signature;
  const pointer = parameters.find(({ kind }) => kind === "pointer");
  const dtype = pointer?.kind === "pointer" ? pointer.dtype ?? "uint8" : "uint8";
  using memory = device.allocate(dtype, 100_000);
  try {
    const untyped = kernel as unknown as { launch(...list: unknown[]): void };
    untyped.launch(
      { grid: 1, block: 1, sharedMemory: 4096 },
      ...parameters.map((parameter) => argumentFor(parameter, memory)),
    );
    const { promise, resolve } = Promise.withResolvers<"late">();
    const timer = setTimeout(() => resolve("late"), LAUNCH_MILLISECONDS);
    const outcome = await Promise.race([device.done(), promise]);
    clearTimeout(timer);
    if (outcome === "late") {
      console.error(`A kernel of ${source.name} does not end`);
      Deno.exit(0);
    }
    counts.count("launch", "returned");
    return true;
  } catch (error) {
    judge("launch", error, source);
    return !(error instanceof CudaError && error.sticky);
  }
}

/** The module's kernels that can be had. */
function kernelsOf(module: Module, source: MutatedSource): Kernel[] {
  return module.kernelNames.flatMap((name) => {
    try {
      const kernel: Kernel = module.kernel(name);
      counts.count("kernel", "returned");
      return [kernel];
    } catch (error) {
      judge("kernel", error, source);
      return [];
    }
  });
}

/**
 * Plays until the time is over.
 *
 * @param launches Whether kernels are launched.
 */
export async function playSources(launches: boolean): Promise<void> {
  const settings = campaignSettings();
  const end = performance.now() + settings.milliseconds;
  let nextDevice = 1; // the first is never closed
  let played = 0;

  /** Returns whether the device is usable still. */
  const tryOut = async (device: Device, source: MutatedSource): Promise<boolean> => {
    let module: Module;
    try {
      module = await device.compile(source.text, { name: source.name, cache: false }) as Module;
      counts.count("compile", "returned");
    } catch (error) {
      judge("compile", error, source);
      return true;
    }
    using _module = module;
    for (const kernel of kernelsOf(module, source)) {
      if (launches && !await launch(device, kernel, source)) return false;
    }
    return true;
  };

  const { library } = openDevice("host:0").context;
  const play = async ([source]: readonly MutatedSource[]) => {
    played++;
    const before = resourceTally(library);
    {
      using device = openDevice(`host:${nextDevice}`);
      if (!await tryOut(device, source!)) {
        nextDevice++;
        return;
      }
    }
    const after = resourceTally(library);
    if (JSON.stringify(before) !== JSON.stringify(after)) {
      throw new Error(`Leaked: before ${JSON.stringify(before)}, after ${JSON.stringify(after)}`);
    }
  };

  const sequences = await runCampaign(settings, {
    calls: [{ step: mutatedSources(MAX_CHANGES) }],
    longest: 1,
    play,
    isOver: () => nextDevice >= 60 || (played >= LEAST_SOURCES && performance.now() > end),
    least: LEAST_SOURCES,
  });
  console.log(JSON.stringify({ sequences, calls: counts.toObject(), lostDevices: nextDevice - 1 }));
}
