/**
 * Matrix products: arguments, results and the choice of a variant.
 *
 * @module
 */

import { cannot, refuseOption, requireOptions } from "../../ffi/arguments.ts";
import { type DType, DTYPES } from "../../memory/dtype.ts";
import {
  commonContext,
  commonType,
  requireOut,
  requireStored,
  type TensorOptions,
} from "../kit/checks.ts";
import { newTensor } from "../kit/kernel_call.ts";
import {
  broadcastShapes,
  broadcastStrides,
  denseStrides,
  extentOf,
  type Layout,
  type Shape,
  shapeText,
} from "../kit/layout.ts";
import { type PrecisionMode, precisionOf } from "../kit/precision.ts";
import type { Promote } from "../kit/promotion.ts";
import { operationStream } from "../kit/storage.ts";
import { storageOf, type Tensor } from "../tensor.ts";
import {
  type Activation,
  ACTIVATIONS,
  epilogueOf,
  type MatmulProblem,
  type MatrixLayout,
  mergeBatch,
  sumsOf,
  type UnmergedMatrix,
} from "./problem.ts";
import { chooseVariant } from "./variants.ts";

/**
 * Options of {@linkcode matmul}. The result is activation(scale · product + bias) + residual,
 * computed in the type of the sums and cast once.
 * @category Linear algebra
 */
export interface MatmulOptions<R extends DType = DType> extends TensorOptions {
  /** Is added to the product; broadcasts to the shape of the result, as one number per column does. */
  readonly bias?: Tensor;
  /** The function that product and bias pass through. */
  readonly activation?: "relu" | "gelu" | "geluTanh" | "silu" | "sigmoid" | "tanh";
  /** Is added at last; broadcasts to the shape of the result. It may be `out`. */
  readonly residual?: Tensor;
  /** A finite factor of the product. */
  readonly scale?: number;
  /**
   * The element type of the result; the common one of the operands by default. Floating values are
   * rounded to integers, ties to even, and saturate.
   */
  readonly dtype?: R;
  /** A tensor for the result, which must not overlap the operands. */
  readonly out?: Tensor<R>;
  /** The type to which operands are rounded; that of {@linkcode setPrecision} by default. */
  readonly precision?: PrecisionMode;
  /** The variant by its name, as {@linkcode explainMatmul} reports it; the best one by default. */
  readonly variant?: string;
}

/** The names of the options. */
export const MATMUL_OPTIONS: readonly (keyof MatmulOptions)[] = [
  "bias",
  "activation",
  "residual",
  "scale",
  "dtype",
  "out",
  "precision",
  "variant",
  "stream",
];

/** A product with checked arguments. */
export interface CheckedMatmul {
  readonly problem: MatmulProblem;
  /** Of the result, as the caller sees it. */
  readonly shape: Shape;
  readonly dtype: DType;
  readonly isEmpty: boolean;
}

/** Inserts the axes of extent 1 that stand for a vector's place. */
function asMatrix<Value>(values: readonly Value[], missing: readonly number[], value: Value) {
  return missing.reduce((all, place) => all.toSpliced(all.length + 1 + place, 0, value), [
    ...values,
  ]);
}

/** A tensor that broadcasts to the result, if there is one. */
function requireAddend(
  action: string,
  name: string,
  value: Tensor | undefined,
  shape: Shape,
): Tensor | undefined {
  if (value === undefined) return undefined;
  const tensor = requireStored(value, name, action);
  const skipped = shape.length - tensor.rank;
  const isFit = skipped >= 0 &&
    tensor.shape.every((extent, axis) => extent === 1 || extent === shape[axis + skipped]);
  if (isFit) return tensor;
  throw new RangeError(
    `${cannot(action)} as ${name} must broadcast to the shape of the result, ${
      shapeText(shape)
    }: ` +
      `it has ${shapeText(tensor.shape)}`,
  );
}

/** Refuses a result over elements that are read after others are written. */
function refuseOverlap(action: string, out: Tensor, operands: readonly Tensor[]): void {
  const [first, last] = extentOf(out);
  for (const operand of operands) {
    if (storageOf(operand) !== storageOf(out) || out.size === 0 || operand.size === 0) continue;
    const [from, to] = extentOf(operand);
    if (to < first || from > last) continue;
    throw new RangeError(
      `${cannot(action)} as options.out must not overlap an operand: both are views of one buffer`,
    );
  }
}

/** Checks the arguments of a product. */
export function checkMatmul(
  action: string,
  x: Tensor,
  y: Tensor,
  options: MatmulOptions,
): CheckedMatmul {
  requireOptions(options, MATMUL_OPTIONS, action);
  const [a, b] = [requireStored(x, "x", action), requireStored(y, "y", action)];
  if (a.rank === 0 || b.rank === 0) {
    throw new RangeError(`${cannot(action)} as the operands must have dimensions: one is a scalar`);
  }
  const k = a.shape.at(-1)!;
  const other = b.shape.at(b.rank === 1 ? 0 : -2)!;
  if (k !== other) {
    throw new RangeError(
      `${cannot(action)} as the inner extents must be equal: ${shapeText(a.shape)} and ${
        shapeText(b.shape)
      } have ${k} and ${other}`,
    );
  }
  const common = commonType(action, [a, b]);
  if (common === "bool") {
    throw new TypeError(`${cannot(action)} as the operands must be numbers, not bool: cast them`);
  }
  const { activation, scale, out } = options;
  const dtype = options.dtype ?? out?.dtype ?? common;
  if (!DTYPES.includes(dtype) || dtype === "bool") {
    const allowed = DTYPES.filter((it) => it !== "bool").join(", ");
    refuseOption(TypeError, action, "dtype", allowed, dtype);
  }
  if (activation !== undefined && !ACTIVATIONS.includes(activation)) {
    const allowed = `one of ${ACTIVATIONS.join(", ")}`;
    refuseOption(TypeError, action, "activation", allowed, activation);
  }
  if (scale !== undefined && !Number.isFinite(scale)) {
    refuseOption(RangeError, action, "scale", "a finite number", scale);
  }
  const batch = broadcastShapes(action, a.shape.slice(0, -2), b.shape.slice(0, -2));
  const [m, n] = [a.rank === 1 ? [] : [a.shape.at(-2)!], b.rank === 1 ? [] : [b.shape.at(-1)!]];
  const shape = [...batch, ...m, ...n];
  const bias = requireAddend(action, "options.bias", options.bias, shape);
  const residual = requireAddend(action, "options.residual", options.residual, shape);
  const addends = [bias, residual].filter((it) => it !== undefined);
  const named = out === undefined ? [] : [requireStored(out, "options.out", action)];
  const context = commonContext(action, [a, b, ...addends, ...named]);
  if (out !== undefined) {
    requireOut(action, out, { shape, dtype }, addends);
    refuseOverlap(action, out, [a, b]);
  }
  // Vectors are matrices with one row or column.
  const dropped = [...(b.rank === 1 ? [-1] : []), ...(a.rank === 1 ? [-2] : [])];
  const full = asMatrix(shape, dropped, 1);
  const operand = (it: Tensor, missing: readonly number[], extents: Shape): UnmergedMatrix => {
    const layout = {
      shape: asMatrix(it.shape, missing, 1),
      strides: asMatrix(it.strides, missing, 0),
      offset: it.offset,
    };
    return { dtype: it.dtype, offset: it.offset, strides: broadcastStrides(layout, extents) };
  };
  const addend = (it: Tensor | undefined): UnmergedMatrix | undefined => {
    if (it === undefined) return undefined;
    const strides = broadcastStrides(it, shape);
    return { dtype: it.dtype, offset: it.offset, strides: asMatrix(strides, dropped, 0) };
  };
  const place: Layout = out ?? { shape, strides: denseStrides(shape), offset: 0 };
  const merged = mergeBatch(batch, full.at(-2)!, [
    operand(a, a.rank === 1 ? [-2] : [], [...batch, full.at(-2)!, k]),
    operand(b, b.rank === 1 ? [-1] : [], [...batch, k, full.at(-1)!]),
    { dtype, offset: place.offset, strides: asMatrix(place.strides, dropped, 0) },
    addend(bias),
    addend(residual),
  ]);
  const [left, right, result, ...rest] = merged.layouts as [
    MatrixLayout,
    MatrixLayout,
    MatrixLayout,
  ];
  const added = rest as MatrixLayout[];
  const next = (tensor: Tensor | undefined) =>
    tensor === undefined ? undefined : { ...added.shift()!, tensor };
  const problem: MatmulProblem = {
    action,
    context,
    work: storageOf(a).work,
    stream: operationStream(context, options.stream, [a, b, ...addends].map(storageOf)),
    m: merged.m,
    n: full.at(-1)!,
    k,
    batch: merged.batch,
    a: { ...left, tensor: a },
    b: { ...right, tensor: b },
    bias: next(bias),
    residual: next(residual),
    result,
    mode: precisionOf(context, options.precision, common, action),
    sums: sumsOf(common, dtype),
    scale,
    activation: activation as Activation | undefined,
  };
  epilogueOf(problem); // refuses element types that do not combine
  return { problem, shape, dtype, isEmpty: shape.includes(0) };
}

/**
 * The matrix product of the last two axes; other axes are batches, which broadcast. A vector counts
 * as a row on the left and as a column on the right, and its axis is dropped. Transposed and other
 * views are read as they lie.
 *
 * Floats of up to 32 bits are rounded as `precision` says, then multiplied and added up as `float32`,
 * where tensor cores may truncate; `float64` as `float64`. Integers are added up as 32-bit integers, or
 * 64-bit ones if an operand or the result has these, and wrap. The bias, the activation and the rest of
 * `options` cost no further pass over memory.
 *
 * @param x The left operand.
 * @param y The right operand.
 * @param options The bias, the activation and what else follows the product; the precision, the
 * result and the stream.
 * @throws {TypeError} If element types do not combine, or an option has another type or name.
 * @throws {RangeError} If extents differ, an operand has no dimensions, or the device lacks the units
 * for the precision or the variant.
 *
 * @example
 * ```ts
 * import { matmul, tensor } from "@gridstride/cuda/tensor";
 *
 * using x = tensor([[1, 2], [3, 4]]);
 * using bias = tensor([-10, 0]);
 * using y = matmul(x, x, { bias, activation: "relu" });
 * console.log(await y.toNested()); // [ [ 0, 10 ], [ 5, 22 ] ]
 * ```
 * @category Linear algebra
 */
export function matmul<D extends DType, E extends DType, R extends DType = Promote<D, E>>(
  x: Tensor<D>,
  y: Tensor<E>,
  options: MatmulOptions<R> = {},
): Tensor<R> {
  const action = "matmul";
  const own = options as object as MatmulOptions;
  const { problem, shape, dtype, isEmpty } = checkMatmul(action, x as Tensor, y as Tensor, own);
  const { variant } = chooseVariant(problem, own.variant);
  const result = own.out ?? newTensor(problem.context, dtype, shape, problem.stream);
  if (!isEmpty) variant.launch(problem, result);
  return result as Tensor as Tensor<R>;
}

/**
 * The variant that {@linkcode matmul} takes for the same arguments, without running it.
 *
 * @param x The left operand.
 * @param y The right operand.
 * @param options Those of `matmul()`.
 * @returns `variant`: its name; `launch`: its blocks and threads per block, 0 for those of cuBLASLt;
 * `reason`: the reason, and those against other variants.
 * @throws {TypeError} As `matmul()`.
 * @throws {RangeError} As `matmul()`.
 *
 * @example
 * ```ts
 * import { explainMatmul, zeros } from "@gridstride/cuda/tensor";
 *
 * const { variant } = explainMatmul(zeros([1, 64]), zeros([64, 64]));
 * console.log(variant); // vector
 * ```
 * @category Linear algebra
 */
export function explainMatmul(
  x: Tensor,
  y: Tensor,
  options: MatmulOptions = {},
): {
  readonly variant: string;
  readonly launch: { readonly grid: number; readonly block: number };
  readonly reason: string;
} {
  const { problem, isEmpty } = checkMatmul("explain matmul", x, y, options);
  const { variant, reason } = chooseVariant(problem, options.variant);
  if (isEmpty) return { variant: variant.name, launch: { grid: 0, block: 0 }, reason };
  const { grid, block } = variant.plan(problem);
  return { variant: variant.name, launch: { grid, block }, reason };
}
