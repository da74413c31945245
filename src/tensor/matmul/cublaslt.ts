/**
 * The variant of matrix products that cuBLASLt computes.
 *
 * @module
 */

import { cannot } from "../../ffi/arguments.ts";
import { CudaError } from "../../ffi/cuda_error.ts";
import {
  type CublasLtAlgorithm,
  cublasLtAlgorithms,
  cublasLtMatmul,
  type CublasLtMatrix,
  destroyProduct,
  prepareProduct,
  productSlots,
} from "../../ffi/cublaslt/native_cublaslt.ts";
import { logger } from "../../ffi/logging.ts";
import type { DeviceContext } from "../../hardware/device_context.ts";
import { HeldTimer } from "../../launch/kernel_timing.ts";
import { DeviceBuffer, launchAddress } from "../../memory/device_buffer.ts";
import { bytesPerElement, type DType, DTYPES } from "../../memory/dtype.ts";
import { isCapturing } from "../../stream/running_captures.ts";
import { orderOperands, writtenStorage } from "../kit/kernel_call.ts";
import { dense } from "../elementwise_kernel.ts";
import { makeTensor, storageOf, type Tensor } from "../tensor.ts";
import { knownAlgorithm, rememberAlgorithm } from "./cublaslt_choices.ts";
import {
  alignmentOf,
  type DescribedProduct,
  describeProduct,
  needsDotProducts,
} from "./cublaslt_product.ts";
import { cublasLtOf } from "./cublaslt_search.ts";
import {
  ACTIVATIONS,
  type MatmulProblem,
  type MatrixLayout,
  type MatrixOperand,
} from "./problem.ts";
import { isFasterByRows } from "./row_variants.ts";
import type { MatmulVariant } from "./variants.ts";

/** Bytes of workspace that an algorithm may take, as NVIDIA recommends for an H100. */
const WORKSPACE_BYTES = 32 * 2 ** 20;
/** Products that are remembered for a device. */
const MAX_PLANS = 1024;
/** Runs of an algorithm between two events, of small products and of large ones. */
const [RUNS, FEW_RUNS] = [10, 2] as const;
/** Multiplications of a large product: 20 µs at 800 TFLOP/s. */
const LARGE = 2 ** 33;
/** Measurements of an algorithm. */
const MEASUREMENTS = 2;
/**
 * The fewest rows and columns, and products of elements, with which copies of operands are worth it: a
 * copy moves 4 TB/s on an H200, and our own kernel multiplies 480 T bytes a second where tensor cores
 * could 1,400.
 */
const MIN_COPIED = 256;
const MIN_COPIED_PRODUCTS = 2 ** 31;
/** An algorithm must be faster than one that cuBLASLt prefers by this factor. */
const GAIN = 1.03;

/** A product, how it is computed, and what is known of its algorithms. */
interface Plan {
  /** The numbers that tell it from other products. */
  readonly numbers: Float64Array;
  readonly description: DescribedProduct | undefined;
  /** The handle of its descriptors. */
  readonly handle: number;
  readonly algorithms: readonly CublasLtAlgorithm[];
  /** The reason why there are none. */
  readonly problem: string | undefined;
  /** The fastest, once it is known. */
  chosen: CublasLtAlgorithm | undefined;
}

/** The plans of a device, by a hash of their numbers. */
class Plans {
  readonly #lists = new Map<number, Plan[]>();
  readonly #context: DeviceContext;
  #count = 0;

  constructor(context: DeviceContext) {
    this.#context = context;
    context.onClose(() => this.clear());
  }

  find(hash: number, numbers: Float64Array, length: number): Plan | undefined {
    search: for (const plan of this.#lists.get(hash) ?? []) {
      if (plan.numbers.length !== length) continue;
      for (let at = 0; at < length; at++) {
        if (plan.numbers[at] !== numbers[at]) continue search;
      }
      return plan;
    }
    return undefined;
  }

  add(hash: number, plan: Plan): Plan {
    if (this.#count === MAX_PLANS) this.clear();
    this.#count++;
    const list = this.#lists.get(hash);
    if (list === undefined) this.#lists.set(hash, [plan]);
    else list.push(plan);
    return plan;
  }

  clear(): void {
    for (const { handle } of [...this.#lists.values()].flat()) {
      if (handle !== 0) destroyProduct(this.#context.library, handle);
    }
    this.#lists.clear();
    this.#count = 0;
  }
}

const plansOf = new WeakMap<DeviceContext, Plans>();

/** Whether cuBLASLt failed, and not the device. */
const isOfCublas = (error: unknown): error is CudaError =>
  error instanceof CudaError && error.code <= -2000;

const DTYPE_NUMBERS = Object.fromEntries(DTYPES.map((it, index) => [it, index])) as Record<
  DType,
  number
>;
const MODES: Record<MatmulProblem["mode"], number> = {
  ...{ auto: 0, fp32: 1, tf32: 2, fp16: 3, bf16: 4, fp8: 5 },
};
/** Numbers of a product, which each call writes anew; more than any has. */
const scratch = new Float64Array(128);

/** The plan of a problem whose result is at an address, or at multiples of all alignments. */
function planFor(problem: MatmulProblem, resultBase = 0): Plan {
  const { m, n, k, batch, a, b, bias, residual, result, context } = problem;
  const { activation, scale } = problem;
  let length = 0;
  scratch[length++] = m;
  scratch[length++] = n;
  scratch[length++] = k;
  scratch[length++] = MODES[problem.mode];
  scratch[length++] = activation === undefined ? -1 : ACTIVATIONS.indexOf(activation);
  scratch[length++] = scale === undefined ? 0 : 1;
  for (let axis = 0; axis < batch.length && axis < 2; axis++) scratch[length++] = batch[axis]!;
  for (let index = 0; index < 5; index++) {
    const layout = index === 0
      ? a
      : index === 1
      ? b
      : index === 2
      ? result
      : index === 3
      ? bias
      : residual;
    if (layout === undefined) {
      scratch[length++] = -1;
      continue;
    }
    const base = index === 2
      ? resultBase
      : storageOf((layout as MatrixOperand).tensor).buffer.address;
    scratch[length++] = DTYPE_NUMBERS[layout.dtype];
    scratch[length++] = layout.row;
    scratch[length++] = layout.column;
    scratch[length++] = alignmentOf(base, layout);
    for (let axis = 0; axis < batch.length && axis < 2; axis++) {
      scratch[length++] = layout.batch[axis]!;
    }
  }
  let hash = 0;
  for (let at = 0; at < length; at++) hash = Math.imul(hash ^ scratch[at]!, 0x01000193);
  let plans = plansOf.get(context);
  if (plans === undefined) plansOf.set(context, plans = new Plans(context));
  return plans.find(hash, scratch, length) ??
    plans.add(hash, makePlan(problem, resultBase, scratch.slice(0, length)));
}

function makePlan(problem: MatmulProblem, resultBase: number, numbers: Float64Array): Plan {
  const { context } = problem;
  const refused = (reason: string): Plan => ({
    ...{ numbers, description: undefined, handle: 0, algorithms: [] },
    ...{ problem: reason, chosen: undefined },
  });
  const description = describeProduct(problem, resultBase);
  if (typeof description === "string") return refused(description);
  const slots = productSlots(description.product, WORKSPACE_BYTES);
  let handle = 0;
  try {
    handle = prepareProduct(context.library, context.ordinal, slots);
    const known = knownAlgorithm(context, slots);
    const algorithms = known === undefined
      ? cublasLtAlgorithms(context.library, context.ordinal, handle)
      : [known];
    if (algorithms.length > 0) {
      const plan = { numbers, description, handle, algorithms, problem: undefined };
      return { ...plan, chosen: algorithms.length === 1 ? algorithms[0] : undefined };
    }
  } catch (error) {
    if (handle !== 0) destroyProduct(context.library, handle);
    if (!isOfCublas(error)) throw error;
    // Products are computed by another variant then.
    logger("tensor").warn("cuBLASLt is not used: {error}", { error });
    return refused(error.message);
  }
  destroyProduct(context.library, handle);
  return refused("it has no algorithm for this product and device");
}

/** Computes with an algorithm, whose workspace is freed in the order of the stream. */
function enqueue(
  { context, stream, action }: MatmulProblem,
  plan: Plan,
  algorithm: CublasLtAlgorithm,
  operands: Float64Array<ArrayBuffer>,
): void {
  const { workspaceBytes } = algorithm;
  using workspace = workspaceBytes === 0
    ? undefined
    : DeviceBuffer.allocate(context, "uint8", workspaceBytes, { stream });
  operands[7] = workspace?.address ?? 0;
  operands[8] = workspaceBytes;
  const place = { action, device: context.ordinal };
  cublasLtMatmul(context.library, place, plan.handle, stream.id, algorithm, operands);
}

/** Times the algorithms on the operands, blocking this thread. Those that fail are left out. */
function fastest(
  problem: MatmulProblem,
  plan: Plan,
  operands: Float64Array<ArrayBuffer>,
): CublasLtAlgorithm {
  const { stream, m, n, k, batch } = problem;
  const runs = m * n * k * (batch[0] ?? 1) > LARGE ? FEW_RUNS : RUNS;
  const times = new Map<CublasLtAlgorithm, number>();
  let failure: unknown;
  using timer = new HeldTimer(stream);
  for (const algorithm of plan.algorithms) {
    const run = () => enqueue(problem, plan, algorithm, operands);
    try {
      run(); // the first run loads its kernels
      for (let measurement = 0; measurement < MEASUREMENTS; measurement++) {
        times.set(algorithm, Math.min(times.get(algorithm) ?? Infinity, timer.time(run, runs)));
      }
    } catch (error) {
      if (!isOfCublas(error)) throw error;
      failure ??= error;
      times.delete(algorithm);
    }
  }
  if (times.size === 0) throw failure;
  const least = Math.min(...times.values());
  return [...times].find(([, time]) => time <= least * GAIN)![0];
}

/** Elements from the first to the last of the matrices of a batch. */
const extentOfBatch = ({ rows, columns, leading, stride }: CublasLtMatrix, products: number) =>
  (products - 1) * stride + (columns - 1) * leading + rows;

/** The address of an operand's first element, which is used on a stream. */
function addressOf(
  { offset, dtype }: MatrixLayout,
  tensor: Tensor,
  { stream }: MatmulProblem,
): number {
  const { buffer } = storageOf(tensor);
  return launchAddress(buffer, buffer.context, stream) + offset * bytesPerElement(dtype);
}

/** A product's addresses and factors, which each call writes anew. */
const operands = new Float64Array(9);

function run(problem: MatmulProblem, result: Tensor): void {
  const { a, b, bias, scale = 1, residual, context, stream } = problem;
  const written = storageOf(result);
  const plan = planFor(problem, written.buffer.address);
  const { description, algorithms } = plan;
  if (description === undefined) {
    throw new RangeError(`${cannot(problem.action)} with cuBLASLt: ${plan.problem}`);
  }
  const [left, right] = description.isTransposed ? [b, a] : [a, b];
  const d = addressOf(problem.result, result, problem);
  operands[0] = addressOf(left, left.tensor, problem);
  operands[1] = addressOf(right, right.tensor, problem);
  operands[2] = residual === undefined ? d : addressOf(residual, residual.tensor, problem);
  operands[3] = d;
  operands[4] = bias === undefined ? 0 : addressOf(bias, bias.tensor, problem);
  operands[5] = scale;
  operands[6] = residual === undefined ? 0 : 1;
  // A capture can neither be timed nor waited for.
  if (plan.chosen === undefined && !isCapturing()) {
    const { product } = description;
    const isOver = residual !== undefined && storageOf(residual.tensor) === written;
    const bytes = extentOfBatch(product.d, product.products) * bytesPerElement(result.dtype);
    // A residual that the result replaces must not change before the last run.
    using scratch = isOver ? DeviceBuffer.allocate(context, "uint8", bytes, { stream }) : undefined;
    plan.chosen = fastest(problem, plan, operands.with(3, scratch?.address ?? d));
    rememberAlgorithm(context, productSlots(product, WORKSPACE_BYTES), plan.chosen);
  }
  enqueue(problem, plan, plan.chosen ?? algorithms[0]!, operands);
}

/** How the elements of an operand lie. */
type Place = Pick<MatrixLayout, "row" | "column">;

/**
 * A problem whose operands have the elements of each sum side by side, as some types need it.
 *
 * @param relay Makes the memory of an operand that lies in another way.
 * @returns `undefined` if the operands lie so, or the type needs it not.
 */
function withDotProducts(
  problem: MatmulProblem,
  relay: (operand: MatrixOperand, rows: number, columns: number, place: Place) => MatrixOperand,
): MatmulProblem | undefined {
  const { m, n, k, a, b, batch } = problem;
  const isA = a.column === 1 && a.row >= k;
  const isB = b.row === 1 && b.column >= k;
  const isNeeded = needsDotProducts(a.dtype) && needsDotProducts(b.dtype);
  if (!isNeeded || batch.length > 1 || (isA && isB)) return undefined;
  return {
    ...problem,
    a: isA ? a : relay(a, m, k, { row: k, column: 1 }),
    b: isB ? b : relay(b, k, n, { row: 1, column: k }),
  };
}

/** Whether copies of operands take less time than cuBLASLt gains. */
function isWorthCopies({ m, n, k, batch }: MatmulProblem): boolean {
  return Math.min(m, n) >= MIN_COPIED && m * n * k * (batch[0] ?? 1) >= MIN_COPIED_PRODUCTS;
}

/** The layout of a dense copy. */
function copyLayout(operand: MatrixOperand, rows: number, columns: number, place: Place) {
  const batch = operand.batch.map((stride) => stride === 0 ? 0 : rows * columns);
  return { ...operand, ...place, batch, offset: 0 };
}

/** A problem on copies, which a stack disposes, as {@linkcode withDotProducts} says. */
function onCopies(problem: MatmulProblem, copies: DisposableStack): MatmulProblem | undefined {
  return withDotProducts(problem, (operand, rows, columns, place) => {
    const layout = copyLayout(operand, rows, columns, place);
    const products = layout.batch.map((stride) => stride === 0 ? 1 : problem.batch[0]!);
    const isByRows = place.column === 1;
    const source = copies.use(makeTensor(storageOf(operand.tensor), operand.dtype, {
      shape: [...products, ...(isByRows ? [rows, columns] : [columns, rows])],
      strides: [
        ...operand.batch,
        ...(isByRows ? [operand.row, operand.column] : [operand.column, operand.row]),
      ],
      offset: operand.offset,
    })) as Tensor;
    return { ...layout, tensor: copies.use(dense(source, { stream: problem.stream })) };
  });
}

const textOf = (count: number) =>
  count === 1 ? "the chosen algorithm" : `the fastest of ${count} algorithms`;

/** NVIDIA's library, where it is installed. */
export const CUBLASLT_VARIANT: MatmulVariant = {
  name: "cublaslt",
  supports(problem, isRequested) {
    const found = cublasLtOf(problem.context.library);
    if ("problem" in found) return { supported: false, reason: found.problem };
    if (!isRequested && isFasterByRows(problem)) {
      return { supported: false, reason: "few rows of float32 are faster without it" };
    }
    const isCopied = isRequested || isWorthCopies(problem);
    const copied = isCopied ? withDotProducts(problem, copyLayout) : undefined;
    const { algorithms, problem: reason } = planFor(copied ?? problem);
    if (reason !== undefined) return { supported: false, reason };
    const on = copied === undefined
      ? ""
      : ", on copies that have the elements of each sum side by side";
    const text = `${textOf(algorithms.length)} of cuBLASLt ${found.version}${on}`;
    return { supported: true, reason: text };
  },
  // It does not tell them.
  plan: () => ({ grid: 0, block: 0 }),
  launch(given, result) {
    using copies = new DisposableStack();
    const problem = onCopies(given, copies) ?? given;
    const { a, b, bias, residual } = problem;
    const storages = [storageOf(a.tensor), storageOf(b.tensor)];
    if (bias !== undefined) storages.push(storageOf(bias.tensor));
    if (residual !== undefined) storages.push(storageOf(residual.tensor));
    const written = [writtenStorage(result)];
    const { stream, work } = problem;
    const launch = () => {
      orderOperands(storages, written, stream);
      run(problem, result);
    };
    const logged = work.log?.timed("matmul", [result], stream, launch);
    work.enqueue(undefined, storages, written, logged ?? launch);
  },
};
