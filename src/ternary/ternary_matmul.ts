/**
 * Products of activations and ternary weights.
 *
 * @module
 */

import { cannot, refuseOption, requireInstance, requireOptions } from "../ffi/arguments.ts";
import type { VectorSet } from "../ffi/build/vector_sets.ts";
import { isCapturing } from "../stream/running_captures.ts";
import { streamFor } from "../memory/buffer_copy.ts";
import { commonContext, requireDType, requireStored } from "../tensor/kit/checks.ts";
import { dense } from "../tensor/elementwise_kernel.ts";
import { newTensor } from "../tensor/kit/kernel_call.ts";
import { DeviceWork } from "../tensor/kit/device_work.ts";
import { hostVectorSets } from "../tensor/kit/expression/vector_set.ts";
import { isDense, shapeText } from "../tensor/kit/layout.ts";
import { pad, type Tensor, type TensorOptions } from "../tensor/mod.ts";
import { capability } from "../tensor/kit/precision.ts";
import type { RowDType } from "../tensor/row_steps.ts";
import { checkedScales } from "./device_codec.ts";
import {
  GROUP,
  MAX_MMA_COLUMNS,
  multiplyTernary,
  planDp4a,
  planLoops,
  planMma,
  type ProductPlan,
  type ProductShape,
} from "./product_kernels.ts";
import { quantizeActivations } from "./quantize.ts";
import { TernaryWeights } from "./weights.ts";

/** Rows of activations from which tensor cores are worth it. */
const MMA_ROWS = 5;

/**
 * The element type of a product with ternary weights.
 * @category Weights
 */
export type TernaryResult = "float32" | "float16" | "bfloat16" | "int32";

const RESULTS: readonly TernaryResult[] = ["float32", "float16", "bfloat16", "int32"];

/**
 * Options of {@linkcode ternaryMatmul}.
 * @category Weights
 */
export interface TernaryMatmulOptions<D extends TernaryResult = TernaryResult>
  extends TensorOptions {
  /**
   * The element type of the result, `float32` by default. `int32` gives the exact sums of products of
   * integers, without any scale.
   */
  readonly dtype?: D;
  /** Is added to each row of the result: a `float32` number for each row of the weights. */
  readonly bias?: Tensor<"float32">;
  /** Of `int8` activations: a positive `float32` scale for each row, 1 by default. Graphs do not check it. */
  readonly scale?: Tensor<"float32">;
  /**
   * The kernel: `"mma"` on tensor cores, by default with 5 rows of activations or more on a GPU of
   * compute capability 8.0 or higher, or `"dp4a"` of CUDA threads without them; on the host device the
   * vector instructions, by default the widest. A processor also has the narrower ones.
   */
  readonly variant?: "mma" | "dp4a" | "avx512-vnni" | "avx2" | "neon" | "portable";
}

type Variant = NonNullable<TernaryMatmulOptions["variant"]>;
/** All variants. */
export const TERNARY_VARIANTS: readonly Variant[] = [
  "mma",
  "dp4a",
  "avx512-vnni",
  "avx2",
  "neon",
  "portable",
];

/** The variants that a device runs. */
export function ternaryVariants({ form, context }: DeviceWork): readonly Variant[] {
  if (form === "threads") {
    const hasMma = capability(context.info.computeCapability) >= capability("8.0");
    return hasMma ? ["dp4a", "mma"] : ["dp4a"];
  }
  // Without VNNI, kernels for AVX-512 are those for AVX2.
  const sets = hostVectorSets().filter((set) => set !== "avx512");
  return sets as Variant[];
}

/** Why tensor cores do not multiply a shape by default, or at all. */
function reasonAgainstMma({ context, m, depth }: ProductShape, isRequested: boolean) {
  if (depth >= MAX_MMA_COLUMNS) return `${depth} columns must be fewer than ${MAX_MMA_COLUMNS}`;
  const { kind } = context.library;
  if (isRequested) return undefined;
  if (kind === "host") return "the host device imitates tensor cores, which takes longer";
  return m < MMA_ROWS ? `${m} rows are fewer than ${MMA_ROWS}` : undefined;
}

/** The variant of a product, and the reason. */
function chooseVariant(work: DeviceWork, shape: ProductShape, wanted: unknown, action: string) {
  const variants = ternaryVariants(work);
  const { label, info } = work.context;
  if (wanted === undefined) {
    if (work.form === "block") {
      const reason = "the widest vector instructions that the host device may use";
      return { variant: variants[0]!, reason };
    }
    const against = variants.includes("mma")
      ? reasonAgainstMma(shape, false)
      : `it needs compute capability 8.0, and ${label} has ${info.computeCapability}`;
    if (against === undefined) {
      return { variant: "mma" as const, reason: "tensor cores multiply int8" };
    }
    const reason = `warps multiply rows of weights by dp4a; not mma: ${against}`;
    return { variant: "dp4a" as const, reason };
  }
  const variant = TERNARY_VARIANTS.find((it) => it === wanted) ??
    refuseOption(TypeError, action, "variant", TERNARY_VARIANTS.join(", "), wanted);
  const refused = !variants.includes(variant)
    ? `${label} runs ${variants.join(", ")}`
    : variant === "mma"
    ? reasonAgainstMma(shape, true)
    : undefined;
  if (refused === undefined) return { variant, reason: "as requested" };
  throw new RangeError(`${cannot(action)} with options.variant ${variant}: ${refused}`);
}

function planOf(shape: ProductShape, variant: Variant): ProductPlan {
  if (variant === "mma") return planMma(shape);
  return variant === "dp4a" ? planDp4a(shape) : planLoops(shape, variant as VectorSet);
}

/** Rows of activations whose elements are padded with zeros to whole groups. */
function paddedRows(x: Tensor<"int8">, rows: number, depth: number, options: TensorOptions) {
  const columns = x.shape.at(-1)!;
  using matrix = x.reshape([rows, columns]);
  // Kernels read 16 bytes at once.
  if (columns === depth && isDense(matrix) && matrix.offset % 16 === 0) {
    return matrix.reshape([rows, depth]);
  }
  return pad(matrix, [[0, 0], [0, depth - columns]], options) as Tensor<"int8">;
}

/** Checks the arguments of a product. */
function check(
  action: string,
  x: Tensor,
  weights: TernaryWeights,
  options: TernaryMatmulOptions,
) {
  requireOptions(options, ["dtype", "bias", "scale", "variant", "stream"], action);
  requireInstance(weights, TernaryWeights, "weights", action);
  weights.codes.requireUsable(action, "weights");
  const own = requireDType(
    requireStored(x, "x", action),
    "x",
    ["float16", "bfloat16", "float32", "float64", "int8"],
    action,
  );
  const [n, columns] = weights.shape;
  if (own.shape.at(-1) !== columns) {
    throw new RangeError(
      `${
        cannot(action)
      } as the last extent of x must be ${columns}, that of the weights: its shape ` +
        `is ${shapeText(own.shape)}`,
    );
  }
  const { dtype = "float32", bias, scale } = options;
  if (!RESULTS.includes(dtype)) {
    refuseOption(TypeError, action, "dtype", RESULTS.join(", "), dtype);
  }
  const batch = own.shape.slice(0, -1);
  const addend = (value: Tensor, name: string, shape: readonly number[]) => {
    const tensor = requireDType(requireStored(value, name, action), name, ["float32"], action);
    if (`${tensor.shape}` === `${shape}`) return tensor;
    throw new RangeError(
      `${cannot(action)} as ${name} must have the shape ${shapeText(shape)}: it has ${
        shapeText(tensor.shape)
      }`,
    );
  };
  if (scale !== undefined && own.dtype !== "int8") {
    throw new TypeError(
      `${cannot(action)} as options.scale must not be given with ${own.dtype} activations`,
    );
  }
  if (dtype === "int32" && (bias !== undefined || scale !== undefined)) {
    throw new TypeError(
      `${cannot(action)} as options.bias and options.scale must not be given with int32 results`,
    );
  }
  const named = {
    ...(bias === undefined ? {} : { bias: addend(bias, "options.bias", [n]) }),
    ...(scale === undefined ? {} : { scale: addend(scale, "options.scale", batch) }),
  };
  const context = commonContext(action, [own, weights.codes as Tensor, ...Object.values(named)]);
  const m = batch.reduce((product, extent) => product * extent, 1);
  const depth = GROUP * Math.ceil(columns / GROUP);
  const work = DeviceWork.of(context);
  const shape = { context, m, n, depth };
  const chosen = chooseVariant(work, shape, options.variant, action);
  return { own, shape, batch, dtype, named, ...chosen };
}

/**
 * Activations times the transposed weights: y[…, n] = Σ x[…, k] · w[n, k] + bias[n]. Floating
 * activations are first quantised by {@linkcode quantizeActivations}; sums of products are exact
 * 32-bit integers, then scaled as `float32` (W2A8, as in bitnet.cpp).
 *
 * @param x Activations of shape […, K]; `int8` ones are taken as they are.
 * @param weights Of shape [N, K].
 * @param options The bias, the scale of `int8` activations, the element type of the result, the
 * variant, and the stream.
 * @returns A tensor of shape […, N].
 * @throws {TypeError} If an element type or an option is none of these, or the tensors are on several
 * devices.
 * @throws {RangeError} If extents differ, or the device does not run the variant; if a given scale is
 * not positive and finite, when the result is read.
 *
 * @example
 * ```ts
 * import { tensor } from "@gridstride/cuda/tensor";
 * import { ternaryMatmul, TernaryWeights } from "@gridstride/cuda/ternary";
 *
 * using weights = TernaryWeights.from(tensor([[0.5, -0.5], [0.5, 0.5]]));
 * using y = ternaryMatmul(tensor([127, 1]), weights);
 * console.log(await y.toNested()); // [ 63, 64 ]
 * ```
 * @category Weights
 */
export function ternaryMatmul<D extends TernaryResult = "float32">(
  x: Tensor<RowDType | "int8">,
  weights: TernaryWeights,
  options: TernaryMatmulOptions<D> = {},
): Tensor<D> {
  return multiply(x, weights, options, false);
}

/**
 * {@linkcode ternaryMatmul} of `int8` activations whose scales a kernel has made as
 * {@linkcode quantizeActivations} does, so they need no check.
 */
export function multiplyQuantized(
  values: Tensor<"int8">,
  scale: Tensor<"float32">,
  weights: TernaryWeights,
  options: TensorOptions = {},
): Tensor<"float32"> {
  return multiply(values, weights, { ...options, scale }, true);
}

function multiply<D extends TernaryResult = "float32">(
  x: Tensor<RowDType | "int8">,
  weights: TernaryWeights,
  options: TernaryMatmulOptions<D>,
  isScaleChecked: boolean,
): Tensor<D> {
  const action = "ternaryMatmul";
  const checked = check(action, x as Tensor, weights, options);
  const { own, shape, batch, dtype, named, variant } = checked;
  const { context, m, n, depth } = shape;
  const stream = streamFor(context, options.stream);
  const place = options.stream === undefined ? {} : { stream: options.stream };
  const result = newTensor(context, dtype, [...batch, n], stream);
  if (m === 0 || n === 0) return result as Tensor as Tensor<D>;
  // Rows without elements have no largest one.
  using empty = own.size === 0 ? own.astype("int8") : undefined;
  const quantised = own.dtype === "int8" || empty !== undefined
    ? undefined
    : quantizeActivations(own as Tensor as Tensor<RowDType>, place);
  const values = quantised?.values ?? empty ?? own as Tensor as Tensor<"int8">;
  using q = paddedRows(values, m, depth, place);
  const factor = quantised?.scale ?? named.scale;
  // Graphs report no errors of their own.
  const rowScale = named.scale !== undefined && !isScaleChecked && !isCapturing()
    ? checkedScales(named.scale, action, options.stream)
    : factor && dense(factor as Tensor, place);
  const bias = named.bias === undefined ? undefined : dense(named.bias, place);
  const isExact = dtype === "int32";
  const operands = {
    q: q as Tensor,
    codes: weights.codes as Tensor,
    scale: isExact ? undefined : weights.scale as Tensor,
    rowScale: isExact ? undefined : rowScale as Tensor | undefined,
    bias: bias as Tensor | undefined,
    out: result as Tensor,
  };
  multiplyTernary(operands, shape, planOf(shape, variant), stream);
  if (rowScale !== factor) rowScale?.dispose();
  if (bias !== named.bias) bias?.dispose();
  quantised?.values.dispose();
  quantised?.scale.dispose();
  return result as Tensor as Tensor<D>;
}

/**
 * How {@linkcode ternaryMatmul} computes the same product.
 *
 * @param x The activations.
 * @param weights The weights.
 * @param options Those of `ternaryMatmul()`.
 * @returns `variant`: `mma` or `dp4a`, or the vector instructions; `launch`: blocks and threads per block;
 * `reason`: the reason.
 * @throws {TypeError} As `ternaryMatmul()`.
 * @throws {RangeError} As `ternaryMatmul()`.
 *
 * @example
 * ```ts
 * import { ones } from "@gridstride/cuda/tensor";
 * import { explainTernaryMatmul, TernaryWeights } from "@gridstride/cuda/ternary";
 *
 * using weights = TernaryWeights.from(ones([64, 64]));
 * console.log(explainTernaryMatmul(ones([1, 64]), weights).reason);
 * ```
 * @category Weights
 */
export function explainTernaryMatmul(
  x: Tensor<RowDType | "int8">,
  weights: TernaryWeights,
  options: TernaryMatmulOptions = {},
): {
  readonly variant: string;
  readonly launch: { readonly grid: number; readonly block: number };
  readonly reason: string;
} {
  const { shape, variant, reason } = check("explain ternaryMatmul", x as Tensor, weights, options);
  const { grid, block } = planOf(shape, variant).size;
  return { variant, launch: { grid, block }, reason };
}
