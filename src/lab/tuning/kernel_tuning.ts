/**
 * Tuning the launch parameters of the built-in kernels.
 *
 * @module
 */

import { refuseOption, requireInstance, requireObject } from "../../ffi/arguments.ts";
import { VERSION } from "../../ffi/version.ts";
import { contextOf, type DeviceContext, whileHeld } from "../../hardware/device_context.ts";
import { streamFor } from "../../memory/buffer_copy.ts";
import type { Kernel } from "../../launch/kernel.ts";
import { launchGeometry, reductionGrid } from "../../launch/launch_geometry.ts";
import { autotune } from "./autotune.ts";
import type { TuningOrigin, TuningResult } from "./tuning_options.ts";
import type { Stream } from "../../stream/stream.ts";
import { STEPS_PER_THREAD, TUNED_ELEMENTWISE } from "../../kernels/elementwise.ts";
import { isFloating, NUMERIC_DTYPES, type NumericDType } from "../../kernels/operands.ts";
import {
  REDUCTION_BLOCK,
  TUNED_REDUCTIONS,
  tunedReductionLaunch,
} from "../../kernels/reduction_launch.ts";
import {
  type Tunable,
  TUNABLE_OPERATIONS,
  type TunableOperation,
  type TuningOperands,
} from "./tunable_operations.ts";
import type { TunedParameters } from "../../kernels/tuned_parameters.ts";
import { makeOperands } from "./tuning_operands.ts";

/** Options of {@linkcode tuneKernels}. */
export interface KernelTuningOptions {
  /** What is tuned; everything by default. */
  readonly operations?: readonly TunableOperation[];
  /** The element types of what is read; `float32` by default. */
  readonly dtypes?: readonly NumericDType[];
  /**
   * Numbers of elements; each serves sizes up to about two and a half times smaller or larger. By
   * default powers of four from 4096 up to 2^20 on the host device and 2^26 on a GPU.
   */
  readonly sizes?: readonly number[];
  /** The stream that everything is enqueued on; the device's default stream when absent. */
  readonly stream?: Stream;
  /** Ends the tuning. What was tuned until then is kept. */
  readonly signal?: AbortSignal;
  /** Called with each result as soon as it is there. */
  readonly onProgress?: (row: KernelTuningRow) => void;
}

/** What was chosen for a kernel and a size. */
export interface KernelTuningRow {
  /** The operation. */
  readonly operation: TunableOperation;
  /** Its kernel. */
  readonly kernel: string;
  /** Number of elements. */
  readonly elements: number;
  /** Blocks of the grid for so many elements. */
  readonly grid: number;
  /** Threads of a block. */
  readonly block: number;
  /** Median time of the operation untuned; NaN where nothing was timed. */
  readonly untunedMicroseconds: number;
  /** Median time of the operation with what was chosen; NaN where nothing was timed. */
  readonly tunedMicroseconds: number;
  /** Whether it was timed now, or known from before. */
  readonly origin: TuningOrigin;
}

/** Launch parameters, and the grid that comes of them. */
interface Choice<Parameters> {
  readonly parameters: Parameters;
  readonly grid: number;
  readonly block: number;
}

const ACTION = "tune kernels";

/** Threads of a block worth trying: whole warps, as reductions need. The usual one is first. */
const BLOCKS = [256, 128, 512, 1024];
/** Steps of a thread worth trying, up to as many as it takes. The usual one is first. */
const STEPS = [STEPS_PER_THREAD, 1, 4, Number.MAX_SAFE_INTEGER];
/** Blocks for each multiprocessor worth trying. */
const BLOCKS_PER_MULTIPROCESSOR = [1, 2, 4, 8, 16, 32];

const MOST_ELEMENTS = 2 ** 40;

/**
 * Finds block sizes and grids of the built-in kernels on a device by timing them. The operations of
 * `device.kernels` use them from then on, in this isolate. The results are kept on the disk, where a
 * later process finds them by calling this function too, which then takes milliseconds. Without it
 * operations use parameters that suit most devices, and nothing is read.
 *
 * The order in which a reduction adds up depends on its launch parameters. It is always the same
 * before tuning, and always the same after it, but results may differ in their last bits.
 *
 * @param device The device, or another object with its context.
 * @returns The choices, in the order of element types, sizes and operations.
 * @throws {TypeError | RangeError} If an option is wrong.
 * @throws {OutOfMemoryError} If the device has no room for the buffers of a size.
 *
 * @example
 * ```ts
 * import { openDevice } from "@gridstride/cuda";
 * import { tuneKernels } from "@gridstride/cuda/tuning";
 *
 * using device = openDevice();
 * const rows = await tuneKernels(device, { operations: ["axpy", "sum"], sizes: [100_000] });
 * for (const { kernel, grid, block, untunedMicroseconds, tunedMicroseconds } of rows) {
 *   console.log(kernel, grid, block, untunedMicroseconds / tunedMicroseconds);
 * }
 * ```
 */
export async function tuneKernels(
  device: { readonly context: DeviceContext },
  options: KernelTuningOptions = {},
): Promise<KernelTuningRow[]> {
  const context = contextOf(device, "device", ACTION);
  requireObject(options, "options", ACTION);
  const sizes = requireSizes(options.sizes ?? usualSizes(context));
  const operations = requireAmong(
    "operations",
    options.operations ?? Object.keys(TUNABLE_OPERATIONS) as TunableOperation[],
    Object.keys(TUNABLE_OPERATIONS) as TunableOperation[],
  );
  const dtypes = requireAmong("dtypes", options.dtypes ?? ["float32"], NUMERIC_DTYPES);
  const { signal, onProgress } = options;
  if (signal !== undefined) requireInstance(signal, AbortSignal, "options.signal", ACTION);
  if (onProgress !== undefined && typeof onProgress !== "function") {
    refuseOption(TypeError, ACTION, "onProgress", "a function", onProgress);
  }
  const stream = streamFor(context, options.stream);
  const plan = { context, operations, stream, signal, onProgress, tuned: new Map() };
  return await whileHeld(context, async () => {
    const rows: KernelTuningRow[] = [];
    for (const dtype of dtypes) {
      for (const elements of sizes) rows.push(...await tuneSize(plan, dtype, elements));
    }
    return rows;
  });
}

/** A tuning of several operations under way. */
interface TuningPlan {
  readonly context: DeviceContext;
  readonly operations: readonly TunableOperation[];
  readonly stream: Stream;
  readonly signal: AbortSignal | undefined;
  readonly onProgress: KernelTuningOptions["onProgress"];
  /** The sizes that a kernel was tuned for. */
  readonly tuned: Map<Kernel, Set<number>>;
}

/** Tunes all operations for an element type and a size. */
async function tuneSize(
  { context, operations, stream, signal, onProgress, tuned }: TuningPlan,
  dtype: NumericDType,
  elements: number,
): Promise<KernelTuningRow[]> {
  using owned = new DisposableStack();
  const operands = makeOperands(context, dtype, elements, stream, owned);
  const rows: KernelTuningRow[] = [];
  for (const operation of operations) {
    const tunable: Tunable = TUNABLE_OPERATIONS[operation];
    if (tunable.isFloatingOnly && !isFloating(dtype)) continue;
    const { kernel } = tunable.kernelFor(operands.x);
    const sizes = tuned.get(kernel) ?? new Set();
    // Types of one width are filled by one kernel.
    if (sizes.has(elements)) continue;
    tuned.set(kernel, sizes.add(elements));
    const row = await tuneOperation(operation, tunable, operands, signal);
    rows.push(row);
    onProgress?.(row);
  }
  return rows;
}

/** Powers of four, so that each is near to every size between. */
function usualSizes({ library }: DeviceContext): number[] {
  const powers = library.kind === "cuda" ? [12, 14, 16, 18, 20, 22, 24, 26] : [12, 14, 16, 18, 20];
  return powers.map((power) => 2 ** power);
}

async function tuneOperation(
  operation: TunableOperation,
  tunable: Tunable,
  operands: TuningOperands,
  signal: AbortSignal | undefined,
): Promise<KernelTuningRow> {
  const { kernel, perThread } = tunable.kernelFor(operands.x);
  const steps = Math.ceil(operands.x.length / perThread);
  const elements = operands.x.length;
  const subject = { kernel, tunable, operands, signal };
  const settled = tunable.kind === "elementwise"
    ? await settle(TUNED_ELEMENTWISE, elementwiseChoices(kernel, elements, perThread), subject)
    : await settle(TUNED_REDUCTIONS, reductionChoices(kernel, steps), subject);
  return { operation, kernel: kernel.name, elements, ...settled };
}

/** What is being tuned. */
interface Subject {
  readonly kernel: Kernel;
  readonly tunable: Tunable;
  readonly operands: TuningOperands;
  readonly signal: AbortSignal | undefined;
}

/** Finds the best choice and has the operations use it. */
async function settle<Parameters extends object>(
  table: TunedParameters<Parameters>,
  choices: readonly Choice<Parameters>[],
  { kernel, tunable, operands, signal }: Subject,
): Promise<Omit<KernelTuningRow, "operation" | "kernel" | "elements">> {
  const { length: elements } = operands.x;
  const result = await autotune(kernel, {
    name: `built-in ${kernel.name}`,
    key: { elements },
    // The same kernels in another state of the library are others.
    version: `${VERSION} ${kernel.context.library.build.sourceHash}`,
    configurations: choices.map(({ grid, block }) => ({ grid, block })),
    launch: ({ grid, block }) => {
      const choice = choices.find((each) => each.grid === grid && each.block === block)!;
      table.tryOut(kernel, choice.parameters, () => tunable.run(operands));
    },
    stream: operands.stream,
    ...(signal === undefined ? {} : { signal }),
  });
  const { grid, block } = result.best;
  const index = choices.findIndex((each) => each.grid === grid && each.block === block);
  // Nobody has asked for the usual ones where nothing is known.
  if (result.origin !== "default") {
    table.set(kernel, elements, index === 0 ? undefined : choices[index]!.parameters);
  }
  return {
    grid,
    block,
    untunedMicroseconds: timeOf(result, choices[0]!),
    tunedMicroseconds: timeOf(result, choices[index]!),
    origin: result.origin,
  };
}

function timeOf(
  { report }: TuningResult<{ readonly grid: number; readonly block: number }>,
  { grid, block }: Choice<unknown>,
): number {
  const row = report.find(({ configuration }) =>
    configuration.grid === grid && configuration.block === block
  );
  return row?.medianMicroseconds ?? NaN;
}

function elementwiseChoices(kernel: Kernel, elements: number, perThread: number) {
  return distinct(
    allowedBlocks(kernel).flatMap((block) =>
      STEPS.map((stepsPerThread) => {
        const parameters = { block, stepsPerThread };
        const work = { elements, elementsPerThread: perThread, ...parameters };
        return { parameters, ...launchGeometry(kernel, work) };
      })
    ),
  );
}

function reductionChoices(kernel: Kernel, steps: number) {
  const { info } = kernel.context;
  const usual = reductionGrid(info, Number.MAX_SAFE_INTEGER, REDUCTION_BLOCK);
  const choices = [usual, ...BLOCKS_PER_MULTIPROCESSOR.map((n) => n * info.multiprocessorCount)];
  return distinct(
    allowedBlocks(kernel).flatMap((block) =>
      choices
        // More than fit at once wait for the others, and leave more to add up.
        .filter((mostBlocks) =>
          mostBlocks * block <= info.multiprocessorCount *
              info.maxThreadsPerMultiprocessor
        )
        .map((mostBlocks) => {
          const parameters = { block, mostBlocks };
          return { parameters, ...tunedReductionLaunch(parameters, steps) };
        })
    ),
  );
}

function allowedBlocks({ attributes }: Kernel): number[] {
  return BLOCKS.filter((block) => block <= attributes.maxThreadsPerBlock);
}

/** Small problems are launched the same way whatever the parameters: the first that does so stays. */
function distinct<Parameters>(choices: readonly Choice<Parameters>[]): Choice<Parameters>[] {
  const known = new Map<string, Choice<Parameters>>();
  for (const choice of choices) {
    const launch = `${choice.grid} ${choice.block}`;
    if (!known.has(launch)) known.set(launch, choice);
  }
  return [...known.values()];
}

function requireSizes(sizes: unknown): readonly number[] {
  const allowed = `integers in 1..${MOST_ELEMENTS}`;
  if (!Array.isArray(sizes)) {
    refuseOption(TypeError, ACTION, "sizes", `an array of ${allowed}`, sizes);
  }
  const copy: readonly unknown[] = Array.from(sizes);
  for (const [index, size] of copy.entries()) {
    const isRight = Number.isInteger(size) && Number(size) >= 1 && Number(size) <= MOST_ELEMENTS;
    if (isRight) continue;
    refuseOption(
      typeof size === "number" ? RangeError : TypeError,
      ACTION,
      `sizes[${index}]`,
      allowed,
      size,
    );
  }
  return copy as readonly number[];
}

function requireAmong<Name extends string>(
  option: string,
  given: unknown,
  allowed: readonly Name[],
): readonly Name[] {
  if (!Array.isArray(given)) refuseOption(TypeError, ACTION, option, "an array of names", given);
  const copy: readonly unknown[] = Array.from(given);
  for (const [index, name] of copy.entries()) {
    if ((allowed as readonly unknown[]).includes(name)) continue;
    refuseOption(TypeError, ACTION, `${option}[${index}]`, allowed.join(", "), name);
  }
  return copy as readonly Name[];
}
