/**
 * Rows of tokens before attention: their embedding, and the rotary embedding of queries and keys, with
 * keys and values stored in their pages.
 *
 * @module
 */

import { streamFor } from "../../memory/buffer_copy.ts";
import { cTypeOf } from "../../memory/dtype.ts";
import type { PagedKeys } from "../../tensor/attention/paged_cache.ts";
import { doubleBits } from "../../tensor/attention/rotary.ts";
import { templates } from "../../tensor/kit/expression/kernel_template.ts";
import { newTensor } from "../../tensor/kit/kernel_call.ts";
import { runTemplate } from "../../tensor/kit/templates.ts";
import type { Tensor } from "../../tensor/mod.ts";
import type { ModelConfig } from "../config.ts";
import type { Table } from "./table.ts";

/**
 * The rows of a table at tokens, as `float32`. Tokens are not checked, as those of graphs cannot be:
 * they must be rows of the table. A negative one, -1 - i, is element i of `fed`.
 */
export function embedTokens(
  { values, scale }: Table,
  tokens: Tensor<"int32">,
  fed?: Tensor<"int32">,
): Tensor {
  const { context } = values;
  const columns = values.shape[1]!;
  const stream = streamFor(context, undefined);
  const out = newTensor(context, "float32", [tokens.size, columns], stream) as Tensor;
  runTemplate({
    action: "embed tokens",
    template: templates.map,
    inputs: {
      ...{ table: values as Tensor, tokens: tokens as Tensor, fed: (fed ?? tokens) as Tensor },
      ...scale === undefined ? {} : { scale: scale as Tensor },
    },
    results: { out },
    numbers: { columns },
    body: `  map(Space<1, 1>{}, size, chunk, [=](const i64*, i64 i) {
    const int given = tokens[i / columns];
    const i64 token = given < 0 ? fed[-1 - given] : given;
    const auto value = load(table[token * columns + i % columns]);
    out[i] = ${scale === undefined ? "value" : "static_cast<float>(value) * scale[token]"};
  });`,
    size: out.size,
  }, stream);
  return out;
}

/**
 * The cosines and sines of positions, which all layers share: [positions, headSize / 2, 2]. Angles are
 * computed as `float64`.
 */
export function rotationOf(
  positions: Tensor<"int32">,
  { headSize, ropeTheta }: ModelConfig,
): Tensor<"float32"> {
  const { context } = positions;
  const stream = streamFor(context, undefined);
  const pairs = headSize / 2;
  const out = newTensor(context, "float32", [positions.size, pairs, 2], stream);
  const [low, high] = doubleBits(-2 * Math.log2(ropeTheta) / headSize);
  runTemplate({
    action: "rotation",
    template: templates.map,
    inputs: { positions: positions as Tensor },
    results: { out: out as Tensor },
    numbers: { pairs, low, high },
    body: `  const double step = __longlong_as_double(high << 32 | low);
  map(Space<1, 1>{}, size, chunk, [=](const i64*, i64 job) {
    const double factor = exp2(step * static_cast<double>(job % pairs));
    const double angle = static_cast<double>(positions[job / pairs]) * factor;
    out[2 * job] = static_cast<float>(cos(angle));
    out[2 * job + 1] = static_cast<float>(sin(angle));
  });`,
    size: positions.size * pairs,
  }, stream);
  return out;
}

/** Rows of tokens: how they are rotated, and where their keys and values belong. */
export interface RowPlaces {
  readonly rotation: Tensor<"float32">;
  /** The positions in the pages; -1 for a row that is not stored. */
  readonly slots: Tensor<"int32">;
}

/**
 * Rotates queries and keys, and stores keys and values in their pages.
 *
 * @param x [rows, (heads + 2 · keyValueHeads) · headSize]: queries, keys, values.
 * @returns The queries, in the element type of the pages: [rows, heads, headSize].
 */
export function rotateAndStore(
  x: Tensor,
  { rotation, slots }: RowPlaces,
  { keys, values }: PagedKeys,
  { heads, keyValueHeads, headSize, ropePairs }: ModelConfig,
): Tensor {
  const rows = x.shape[0]!;
  const stream = streamFor(x.context, undefined);
  const queries = newTensor(x.context, keys.dtype, [rows, heads, headSize], stream) as Tensor;
  const pairs = headSize / 2;
  const all = heads + 2 * keyValueHeads;
  const type = cTypeOf(keys.dtype);
  runTemplate({
    action: "rotate and store",
    template: templates.map,
    inputs: { x, rotation: rotation as Tensor, slots: slots as Tensor },
    results: { queries, keys, values },
    numbers: {
      ...{ heads, all, pairs, key_heads: keyValueHeads },
      apart: ropePairs === "interleaved" ? 2 : 1,
      distance: ropePairs === "interleaved" ? 1 : pairs,
    },
    body: `  map(Space<1, 1>{}, size, chunk, [=](const i64*, i64 job) {
    const i64 pair = job % pairs;
    const i64 head = job / pairs % all;
    const i64 row = job / pairs / all;
    const i64 first = pair * apart;
    const i64 second = first + distance;
    const i64 from = (row * all + head) * 2 * pairs;
    float a = load(x[from + first]);
    float b = load(x[from + second]);
    if (head < heads + key_heads) {
      const float cosine = rotation[2 * (row * pairs + pair)];
      const float sine = rotation[2 * (row * pairs + pair) + 1];
      const float turned = a * cosine - b * sine;
      b = b * cosine + a * sine;
      a = turned;
    }
    if (head >= heads && slots[row] < 0) return;
    ${type}* to = queries + (row * heads + head) * 2 * pairs;
    if (head >= heads) {
      const i64 place = slots[row] * key_heads + (head - heads) % key_heads;
      to = (head < heads + key_heads ? keys : values) + place * 2 * pairs;
    }
    to[first] = store<${type}>(a);
    to[second] = store<${type}>(b);
  });`,
    size: rows * all * pairs,
  }, stream);
  return queries;
}
