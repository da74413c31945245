/**
 * Rotary position embedding.
 *
 * @module
 */

import { templates } from "../kit/expression/kernel_template.ts";
import { cannot, refuseOption, requireOptions } from "../../ffi/arguments.ts";
import { cTypeOf } from "../../memory/dtype.ts";
import { commonContext, requireDType, requireStored, type TensorOptions } from "../kit/checks.ts";
import { dense } from "../elementwise_kernel.ts";
import { newTensor } from "../kit/kernel_call.ts";
import type { Indices } from "../indexing.ts";
import { shapeText, sizeOf } from "../kit/layout.ts";
import { operationStream } from "../kit/storage.ts";
import { runTemplate } from "../kit/templates.ts";
import { TensorScope } from "../scope.ts";
import { storageOf, type Tensor } from "../tensor.ts";
import type { AttentionDType } from "./attention.ts";

/**
 * Options of {@linkcode rotaryEmbedding}.
 * @category Attention
 */
export interface RotaryOptions extends TensorOptions {
  /**
   * The position of the first row, 0 by default; or the positions of all rows: [length], or
   * [batch, length] with the first axis of `x` as batch.
   */
  readonly positions?: number | Indices;
  /**
   * Whether pairs are neighbours (as in RoFormer and GPT-J), not elements of both halves of a head (as
   * in GPT-NeoX and Llama), which is the default.
   */
  readonly interleaved?: boolean;
  /** The base of the frequencies; 10000 by default. */
  readonly base?: number;
}

/** Jobs of a block of the block form. */
const CHUNK = 2048;

/** The bits of a double, as two integers that kernels take. */
export function doubleBits(value: number): readonly [number, number] {
  const [low, high] = new Uint32Array(Float64Array.of(value).buffer);
  return [low!, high!];
}

/**
 * Rotates pairs of elements of each head by angles of its position: pair j of position p by
 * p · base^(−2j / headSize) (Su et al., "RoFormer: enhanced transformer with rotary position
 * embedding", 2021). Angles are computed as `float64`.
 *
 * @param x [..., length, headSize]; an even head size.
 * @param options The positions, the layout of pairs, the base, and the stream.
 * @throws {RangeError} If a shape does not fit.
 * @throws {TypeError} If the element type is not `float32`, `float16` or `bfloat16`.
 *
 * @example
 * ```ts
 * import { rotaryEmbedding, tensor } from "@gridstride/cuda/tensor";
 *
 * using x = tensor([[1, 2, 3, 4]]);
 * using y = rotaryEmbedding(x, { positions: 0 });
 * console.log(await y.toNested()); // [ [ 1, 2, 3, 4 ] ]
 * ```
 * @category Attention
 */
export function rotaryEmbedding<D extends AttentionDType>(
  x: Tensor<D>,
  options: RotaryOptions = {},
): Tensor<D> {
  const action = "rotaryEmbedding";
  requireOptions(options, ["stream", "positions", "interleaved", "base"], action);
  const { positions = 0, interleaved = false, base = 10000 } = options;
  const types = ["float32", "float16", "bfloat16"] as const;
  const whole = requireDType(requireStored(x, "x", action), "x", types, action);
  const [length = 0, size = 0] = whole.shape.slice(-2);
  if (whole.rank < 2 || size % 2 !== 0) {
    throw new RangeError(
      `${
        cannot(action)
      } as x must have a length and heads of an even size as last axes: its shape ` +
        `is ${shapeText(whole.shape)}`,
    );
  }
  if (typeof interleaved !== "boolean") {
    refuseOption(TypeError, action, "interleaved", "true or false", interleaved);
  }
  if (!(Number.isFinite(base) && base > 0)) {
    refuseOption(RangeError, action, "base", "a positive number", base);
  }
  const isFirst = typeof positions === "number";
  if (isFirst && !Number.isSafeInteger(positions)) {
    refuseOption(RangeError, action, "positions", "an integer or a tensor", positions);
  }
  const places = isFirst ? undefined : requireDType(
    requireStored(positions, "options.positions", action),
    "options.positions",
    ["int32", "int64"],
    action,
  );
  const wanted = places?.rank === 2 ? [whole.shape[0]!, length] : [length];
  const fits = places === undefined || places.rank === wanted.length &&
      places.shape.every((extent, axis) => extent === wanted[axis]) &&
      (places.rank === 1 || whole.rank > 2);
  if (!fits) {
    throw new RangeError(
      `${cannot(action)} as options.positions must have the shape ${shapeText(wanted)}: it has ${
        shapeText(places!.shape)
      }`,
    );
  }
  const operands = places === undefined ? [whole] : [whole, places];
  const context = commonContext(action, operands);
  const stream = operationStream(context, options.stream, operands.map(storageOf));
  using scope = new TensorScope();
  const result = newTensor(context, x.dtype, whole.shape, stream);
  if (result.size === 0) return scope.keep(result);
  const source = dense(whole, { stream });
  const batches = wanted.length === 2 ? wanted[0]! : 1;
  const heads = sizeOf(whole.shape.slice(0, -2)) / batches;
  const [low, high] = doubleBits(-2 * Math.log2(base) / size);
  const [outer, inner] = places === undefined ? [0, 0] : [0, ...places.strides].slice(-2);
  const type = cTypeOf(x.dtype);
  runTemplate({
    action,
    template: templates.map,
    inputs: { x: source, ...(places === undefined ? {} : { places }) },
    results: { out: result as Tensor },
    numbers: {
      ...{ heads, length, pairs: size / 2, low, high, outer: outer!, inner: inner! },
      first: isFirst ? positions : 0,
      apart: interleaved ? 2 : 1,
      distance: interleaved ? 1 : size / 2,
    },
    body: `  const double step = __longlong_as_double(high << 32 | low);
  map(Space<1, 1>{}, size, chunk, [=](const i64*, i64 job) {
    const i64 pair = job % pairs;
    const i64 row = job / pairs % length;
    const i64 batch = job / pairs / length;
    const double place = static_cast<double>(${
      places === undefined ? "first + row" : "places[batch * outer + row * inner]"
    });
    const double angle = place * exp2(step * static_cast<double>(pair));
    const float cosine = static_cast<float>(cos(angle));
    const float sine = static_cast<float>(sin(angle));
    for (i64 head = 0; head < heads; ++head) {
      const i64 at = ((batch * heads + head) * length + row) * 2 * pairs + pair * apart;
      const i64 next = at + distance;
      const float a = load(x[at]);
      const float b = load(x[next]);
      out[at] = store<${type}>(a * cosine - b * sine);
      out[next] = store<${type}>(b * cosine + a * sine);
    }
  });`,
    size: batches * length * size / 2,
    chunk: CHUNK,
  }, stream);
  return scope.keep(result);
}
