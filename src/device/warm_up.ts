/**
 * Compiling kernels before they are needed.
 *
 * @module
 */

import { requireInstance, requireObject } from "../ffi/arguments.ts";
import { describeValue } from "../ffi/describe_value.ts";
import type { DeviceContext } from "../hardware/device_context.ts";
import {
  type CompileOptions,
  type CompileSettings,
  compileSettings,
} from "../launch/compile_options.ts";
import { compileForTarget, targetOf } from "../launch/module_source.ts";
import { Device } from "./device.ts";
import { readNamedKernel, withFileHeaders } from "./kernel_file.ts";
import { namedFile } from "./named_file.ts";

/** A source that will be compiled: its text, or the file that has it, and the same options. */
export type KernelSource =
  & CompileOptions
  & (
    | { readonly source: string; readonly path?: undefined }
    | { readonly path: string | URL; readonly source?: undefined }
  );

/** What {@linkcode warmUpKernels} has done. */
export interface WarmUpReport {
  /** Sources that had to be compiled. */
  readonly compiled: number;
  /** Sources whose machine code was in the compile cache already. */
  readonly cached: number;
}

const ACTION = "warm kernels up";

/**
 * Brings sources into the compile cache, so that `device.compile()` of the same source with the same
 * options needs no compiler: when a program is installed, or while it starts. Several are compiled
 * at once, and the event loop is not blocked.
 *
 * @param device The device that they are compiled for.
 * @param sources The sources.
 * @throws {CompileError} If one does not compile, when all are through.
 * @throws {AggregateError} If several do not.
 * @throws {TypeError | RangeError} If a source or an option of one is wrong; nothing is compiled.
 *
 * @example
 * ```ts
 * import { openDevice, warmUpKernels } from "@gridstride/cuda";
 *
 * using device = openDevice();
 * const source = "__global__ void zero(float* x) { x[threadIdx.x] = 0; }";
 * await warmUpKernels(device, [{ source, name: "zero.cu" }]);
 * using module = await device.compile(source, { name: "zero.cu" });
 * console.log(module.cached); // true
 * ```
 */
export async function warmUpKernels(
  device: Device,
  sources: Iterable<KernelSource>,
): Promise<WarmUpReport> {
  requireInstance(device, Device, "device", ACTION);
  const { context } = device;
  if (typeof (sources as Partial<Iterable<KernelSource>>)?.[Symbol.iterator] !== "function") {
    throw new TypeError(
      `Cannot ${ACTION} as sources must be iterable: it is ${describeValue(sources)}`,
    );
  }
  const checked = [...sources].map(checkedSource);
  context.retain();
  try {
    const outcomes = await Promise.allSettled(checked.map((each) => warmUp(context, each)));
    const failures = outcomes.flatMap((each) => each.status === "rejected" ? [each.reason] : []);
    if (failures.length === 1) throw failures[0];
    if (failures.length > 1) {
      throw new AggregateError(failures, `Cannot ${ACTION}: ${failures.length} do not compile`);
    }
    const cached = outcomes.filter((each) => each.status === "fulfilled" && each.value).length;
    return { compiled: outcomes.length - cached, cached };
  } finally {
    context.release();
  }
}

/** A source whose options have been looked at, and its file not yet. */
type CheckedSource = () => Promise<{
  readonly source: string;
  readonly settings: CompileSettings;
}>;

function checkedSource(from: KernelSource, index: number): CheckedSource {
  requireObject(from, `sources[${index}]`, ACTION);
  const { source, path } = from;
  if (typeof source === "string" && path === undefined) {
    const settings = compileSettings(from);
    return () => Promise.resolve({ source, settings });
  }
  if (source === undefined && (typeof path === "string" || path instanceof URL)) {
    const file = namedFile(path, ACTION, `sources[${index}].path`);
    const settings = compileSettings({ ...from, name: from.name ?? file.name });
    return async () => {
      const { source, headers } = await readNamedKernel(file, ACTION);
      return { source, settings: { ...settings, headers: withFileHeaders(settings, headers) } };
    };
  }
  throw new TypeError(
    `Cannot ${ACTION} as sources[${index}] must have either a source, a text, or a path: source ` +
      `is ${describeValue(source)} and path ${describeValue(path)}`,
  );
}

/** Whether the cache had it. */
async function warmUp(context: DeviceContext, read: CheckedSource): Promise<boolean> {
  const { library } = context;
  const { source, settings } = await read();
  const { cached } = await compileForTarget(library, targetOf(context), source, settings);
  return cached;
}
