/**
 * Compiles kernels in advance.
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
} from "../launch/module/compile_options.ts";
import { compileForTarget, targetOf } from "../launch/module/compile.ts";
import { readNamedKernel } from "../launch/module/kernel_file.ts";
import { namedFile } from "../launch/module/named_file.ts";
import { Device } from "./device.ts";

type KernelSource = Parameters<typeof warmUpKernels>[1] extends Iterable<infer Source> ? Source
  : never;

const ACTION = "warm kernels up";

/**
 * Fills the compile cache: a later `device.compile()` of the same source with the same options needs
 * no compiler. For the installation or the start of a program. Sources are compiled concurrently,
 * and the event loop is not blocked.
 *
 * @param device The device to compile for.
 * @param sources Texts or files, with the options of `device.compile()`.
 * @returns The number of compiled sources, and of sources that were in the cache already.
 * @throws {CompileError} If one does not compile, after all others.
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
 * @category Launching kernels
 */
export async function warmUpKernels(
  device: Device,
  sources: Iterable<
    & CompileOptions
    & (
      | { readonly source: string; readonly path?: undefined }
      | { readonly path: string | URL; readonly source?: undefined }
    )
  >,
): Promise<{ readonly compiled: number; readonly cached: number }> {
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

/** A source with checked options, before its file is read. */
type CheckedSource = () => Promise<{
  readonly source: string;
  readonly settings: CompileSettings;
}>;

function checkedSource(from: KernelSource, index: number): CheckedSource {
  requireObject(from, `sources[${index}]`, ACTION);
  const { source, path, ...options } = from;
  if (typeof source === "string" && path === undefined) {
    const settings = compileSettings(options);
    return () => Promise.resolve({ source, settings });
  }
  if (source === undefined && (typeof path === "string" || path instanceof URL)) {
    const file = namedFile(path, ACTION, `sources[${index}].path`);
    const settings = compileSettings({ ...options, name: options.name ?? file.name });
    return async () => {
      const { source, headers } = await readNamedKernel(file, ACTION);
      const all = new Map([...Object.entries(headers), ...settings.headers]);
      return { source, settings: { ...settings, headers: all } };
    };
  }
  throw new TypeError(
    `Cannot ${ACTION} as sources[${index}] must have either a source, a text, or a path: source ` +
      `is ${describeValue(source)} and path ${describeValue(path)}`,
  );
}

/** Compiles a source; returns whether the cache had it. */
async function warmUp(context: DeviceContext, read: CheckedSource): Promise<boolean> {
  const { library } = context;
  const { source, settings } = await read();
  const { cached } = await compileForTarget(library, targetOf(context), source, settings);
  return cached;
}
