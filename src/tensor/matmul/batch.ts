/**
 * Matrix products of many pairs, several at a time.
 *
 * @module
 */

import { cannot, requireInteger, requireOptions } from "../../ffi/arguments.ts";
import { describeValue } from "../../ffi/describe_value.ts";
import type { DeviceContext } from "../../hardware/device_context.ts";
import type { DType } from "../../memory/dtype.ts";
import { isCapturing } from "../../stream/running_captures.ts";
import { type Stream, streamUntilClose, waitForStream } from "../../stream/stream.ts";
import { commonContext, type TensorOptions } from "../kit/checks.ts";
import { newTensor } from "../kit/kernel_call.ts";
import { TensorScope } from "../scope.ts";
import { storageOf, type Tensor } from "../tensor.ts";
import { type CheckedMatmul, checkMatmul, type MatmulOptions } from "./matmul.ts";
import { chooseVariant } from "./variants.ts";

const MAX_IN_FLIGHT = 64;

const lanes = new WeakMap<DeviceContext, Stream[]>();

/** Streams beside the caller's, which end with the device. */
function lanesOf(context: DeviceContext, count: number): readonly Stream[] {
  let own = lanes.get(context);
  if (own === undefined) lanes.set(context, own = []);
  while (own.length < count) own.push(streamUntilClose(context));
  return own.slice(0, count);
}

/** Positions in an order in which neighbours share the right operand, and then the shape. */
function ordered(checked: readonly CheckedMatmul[]): number[] {
  const places = new Map<unknown, number>();
  const keys = checked.map(({ problem: { b, m, n, k } }) => {
    const storage = storageOf(b.tensor);
    if (!places.has(storage)) places.set(storage, places.size);
    return [places.get(storage)!, k, n, m];
  });
  const compare = (one: readonly number[], other: readonly number[]) =>
    one.map((it, at) => it - other[at]!).find((it) => it !== 0) ?? 0;
  return [...keys.keys()].sort((one, other) => compare(keys[one]!, keys[other]!));
}

/**
 * The matrix products of pairs of any shapes, several at a time: products that share the right operand
 * run one after another, others on several streams. Worth it where single products do not fill the
 * device.
 *
 * @param pairs The operands of each product.
 * @param options `maxInFlight`: how many products run at a time, 1 to 64; 4 by default. The others as
 * of {@linkcode matmul}, for all pairs. Later work of `stream` waits for all products.
 * @returns The products in the order of the pairs.
 * @throws {TypeError} As `matmul()`, for any pair; no product is computed then.
 * @throws {RangeError} As `matmul()`.
 *
 * @example
 * ```ts
 * import { matmulBatch, tensor } from "@gridstride/cuda/tensor";
 *
 * const x = tensor([[1, 2]]);
 * const [y, z] = matmulBatch([[x, tensor([[3], [4]])], [x, tensor([[0, 1], [1, 0]])]]);
 * console.log(await y!.toNested(), await z!.toNested()); // [ [ 11 ] ] [ [ 2, 1 ] ]
 * ```
 * @category Linear algebra
 */
export function matmulBatch<R extends DType = DType>(
  pairs: readonly (readonly [Tensor, Tensor])[],
  options:
    & TensorOptions
    & Pick<MatmulOptions<R>, "activation" | "scale" | "dtype" | "precision" | "variant">
    & { readonly maxInFlight?: number } = {},
): Tensor<R>[] {
  const action = "matmulBatch";
  const names = ["maxInFlight", "activation", "scale", "dtype", "precision", "variant", "stream"];
  requireOptions(options, names, action);
  const { maxInFlight = 4, ...own } = options;
  requireInteger(maxInFlight, "options.maxInFlight", action, 1, MAX_IN_FLIGHT);
  if (!Array.isArray(pairs)) {
    throw new TypeError(
      `${cannot(action)} as pairs must be an array of pairs of tensors: it is ${
        describeValue(pairs)
      }`,
    );
  }
  const checked = pairs.map((pair, index) => {
    if (Array.isArray(pair) && pair.length === 2) {
      return checkMatmul(`${action} pair ${index}`, pair[0], pair[1], own as MatmulOptions);
    }
    throw new TypeError(
      `${cannot(action)} as pairs[${index}] must be a pair of tensors: it is ${
        describeValue(pair)
      }`,
    );
  });
  const [first] = checked;
  if (first === undefined) return [];
  const context = commonContext(action, checked.map(({ problem }) => problem.a.tensor));
  const variants = checked.map(({ problem }) => chooseVariant(problem, own.variant).variant);
  const { stream, work } = first.problem;
  const count = isCapturing() ? 1 : Math.min(maxInFlight, checked.length);
  const streams = [stream, ...lanesOf(context, count - 1)];
  using scope = new TensorScope();
  const results = new Array<Tensor>(checked.length);
  ordered(checked).forEach((index, turn) => {
    const { problem, shape, dtype, isEmpty } = checked[index]!;
    const own = streams[turn % streams.length]!;
    const result = newTensor(context, dtype, shape, own);
    if (!isEmpty) variants[index]!.launch({ ...problem, action, stream: own }, result);
    results[index] = result;
  });
  for (const lane of streams.slice(1)) {
    work.enqueue(undefined, [], [], () => waitForStream(stream, lane));
  }
  return scope.keep(results) as Tensor[] as Tensor<R>[];
}
