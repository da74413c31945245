/**
 * Einstein's summation convention: products of tensors with named axes, summed over those that the
 * result lacks.
 *
 * @module
 */

import { cannot, requireOptions } from "../../ffi/arguments.ts";
import { describeValue } from "../../ffi/describe_value.ts";
import { multiply } from "../elementwise.ts";
import { copyOf } from "../elementwise_kernel.ts";
import { commonType, requireTensors, type TensorOptions } from "../kit/checks.ts";
import { sizeOf } from "../kit/layout.ts";
import type { AnyTensor, CommonType } from "../manipulation.ts";
import { matmul } from "../matmul/matmul.ts";
import { sum } from "../reductions.ts";
import { TensorScope } from "../scope.ts";
import { makeTensor, storageOf, type Tensor } from "../tensor.ts";

/** A tensor with a label for each axis: a letter, or a number for an axis of an ellipsis. */
interface Labelled {
  readonly x: Tensor;
  readonly labels: readonly string[];
}

/** The labels that the result or other operands have. */
type Needed = ReadonlySet<string>;

const ACTION = "einsum";

/** Subscripts of operands. */
interface Subscripts {
  readonly operands: readonly Labelled[];
  /** The labels of the result, in order. */
  readonly result: readonly string[];
}

function refuse(subscripts: string, allowed: string, given: string): never {
  throw new RangeError(
    `${cannot(ACTION)} as subscripts must ${allowed}: in ${JSON.stringify(subscripts)} ${given}`,
  );
}

/** The letters of a term, and "..." if it has one. */
function lettersOf(term: string, subscripts: string): readonly string[] {
  const letters: readonly string[] = term.match(/\.\.\.|[\s\S]/g) ?? [];
  const wrong = letters.find((it) => !/^(?:\.\.\.|[A-Za-z])$/.test(it));
  if (wrong !== undefined) {
    const allowed = 'have only letters, "...", commas and one "->"';
    refuse(subscripts, allowed, `there is ${JSON.stringify(wrong)}`);
  }
  if (letters.indexOf("...") === letters.lastIndexOf("...")) return letters;
  return refuse(subscripts, "have one ellipsis for an operand", `${JSON.stringify(term)} has more`);
}

/** Replaces an ellipsis by numbers, which count from the last axis that it stands for. */
const expanded = (letters: readonly string[], count: number): string[] =>
  letters.flatMap((letter) =>
    letter === "..." ? Array.from({ length: count }, (_, at) => String(count - at)) : [letter]
  );

/** The labels of a result that subscripts do not name: ellipses, then letters that are there once. */
function impliedLabels(operands: readonly Labelled[], ellipsis: readonly string[]): string[] {
  const all = operands.flatMap(({ labels }) => labels).filter((it) => !ellipsis.includes(it));
  const once = all.filter((it) => all.indexOf(it) === all.lastIndexOf(it));
  return [...ellipsis, ...once.toSorted()];
}

function parse(subscripts: string, tensors: readonly Tensor[]): Subscripts {
  const [inputs, output, ...others] = subscripts.replaceAll(/\s/g, "").split("->");
  if (others.length > 0) refuse(subscripts, 'have one "->"', "there are more");
  const terms = inputs!.split(",").map((term) => lettersOf(term, subscripts));
  if (terms.length !== tensors.length) {
    const given = `there are ${terms.length}, and ${tensors.length} operands`;
    refuse(subscripts, "have a term for each operand", given);
  }
  let most = 0;
  const operands = terms.map((letters, index): Labelled => {
    const x = tensors[index]!;
    const hasEllipsis = letters.includes("...");
    const rest = x.rank - letters.length + Number(hasEllipsis);
    if (rest < 0 || (rest > 0 && !hasEllipsis)) {
      const given = `${JSON.stringify(letters.join(""))} is for one with ${x.rank}`;
      refuse(subscripts, "have a letter for each axis of an operand", given);
    }
    if (hasEllipsis) most = Math.max(most, rest);
    return { x, labels: expanded(letters, rest) };
  });
  const ellipsis = expanded(["..."], most);
  if (output === undefined) return { operands, result: impliedLabels(operands, ellipsis) };
  const letters = lettersOf(output, subscripts);
  if (most > 0 && !letters.includes("...")) {
    refuse(subscripts, "have the ellipsis of operands in the result", "it is not there");
  }
  const known = new Set(operands.flatMap(({ labels }) => labels));
  const wrong = letters.find((letter, at) =>
    letters.indexOf(letter) !== at || (letter !== "..." && !known.has(letter))
  );
  if (wrong !== undefined) {
    const allowed = "have letters of operands in the result, each once";
    refuse(subscripts, allowed, `the result has ${JSON.stringify(wrong)}`);
  }
  return { operands, result: expanded(letters, most) };
}

/** A view with the axes of a repeated letter made one: the diagonal. */
function diagonal({ x, labels }: Labelled, subscripts: string): Labelled {
  const own = [...new Set(labels)];
  if (own.length === labels.length) return { x, labels };
  const axesOf = (label: string) => [...labels.keys()].filter((axis) => labels[axis] === label);
  for (const label of own) {
    const extents = axesOf(label).map((axis) => x.shape[axis]!);
    if (new Set(extents).size === 1) continue;
    const given = `"${label}" has ${extents.join(" and ")}`;
    refuse(subscripts, "repeat a letter for axes of one extent", given);
  }
  const view = makeTensor(storageOf(x), x.dtype, {
    shape: own.map((label) => x.shape[labels.indexOf(label)]!),
    strides: own.map((label) =>
      axesOf(label).reduce((stride, axis) => stride + x.strides[axis]!, 0)
    ),
    offset: x.offset,
  });
  return { x: view, labels: own };
}

/** The extent of each label: that of its axes which are not 1. */
function extentsOf(operands: readonly Labelled[], subscripts: string): Map<string, number> {
  const extents = new Map<string, number>();
  for (const { x, labels } of operands) {
    for (const [axis, label] of labels.entries()) {
      const extent = x.shape[axis]!;
      const other = extents.get(label) ?? 1;
      if (other !== 1 && extent !== 1 && extent !== other) {
        const name = /\d/.test(label) ? `axis -${label} of "..."` : `"${label}"`;
        refuse(subscripts, "name axes of one extent", `${name} has ${other} and ${extent}`);
      }
      extents.set(label, extent === 1 ? other : extent);
    }
  }
  return extents;
}

/** Without the axes of extent 1 that stand for longer ones: they have the same element everywhere. */
function withoutBroadcast({ x, labels }: Labelled, extents: ReadonlyMap<string, number>): Labelled {
  const isRepeated = (axis: number) => x.shape[axis] === 1 && extents.get(labels[axis]!) !== 1;
  const axes = [...labels.keys()].filter(isRepeated);
  if (axes.length === 0) return { x, labels };
  return { x: x.squeeze(axes), labels: labels.filter((_, axis) => !axes.includes(axis)) };
}

/** Sums over the axes whose labels nothing else needs. */
function summed({ x, labels }: Labelled, needed: Needed, options: TensorOptions): Labelled {
  const axis = [...labels.keys()].filter((at) => !needed.has(labels[at]!));
  if (axis.length === 0) return { x, labels };
  return {
    x: sum(x, { ...options, axis, dtype: x.dtype }) as Tensor,
    labels: labels.filter((label) => needed.has(label)),
  };
}

/** The axes of groups of labels, one group after another. */
function arranged({ x, labels }: Labelled, ...groups: readonly (readonly string[])[]): Tensor {
  return x.permute(groups.flat().map((label) => labels.indexOf(label)));
}

/** The product of two operands, summed over the labels that only they have. */
function contracted(a: Labelled, b: Labelled, needed: Needed, options: TensorOptions): Labelled {
  const left = summed(a, needed.union(new Set(b.labels)), options);
  const right = summed(b, needed.union(new Set(a.labels)), options);
  const shared = left.labels.filter((label) => right.labels.includes(label));
  const batch = shared.filter((label) => needed.has(label));
  const depth = shared.filter((label) => !needed.has(label));
  const rows = left.labels.filter((label) => !shared.includes(label));
  const columns = right.labels.filter((label) => !shared.includes(label));
  const labels = [...batch, ...rows, ...columns];
  const extents = (own: Labelled, names: readonly string[]) =>
    names.map((label) => own.x.shape[own.labels.indexOf(label)]!);
  const ends = [...extents(left, rows), ...extents(right, columns)];
  const shape = [...extents(left, batch), ...ends];
  if (depth.length === 0) {
    const factor = arranged(left, batch, rows)
      .reshape([...extents(left, batch), ...extents(left, rows), ...columns.map(() => 1)]);
    const other = arranged(right, batch, columns)
      .reshape([...extents(right, batch), ...rows.map(() => 1), ...extents(right, columns)]);
    return { x: multiply(factor, other, options) as Tensor, labels };
  }
  const batches = batch.length === 0 ? [] : [sizeOf(extents(left, batch))];
  const inner = sizeOf(extents(left, depth));
  const product = matmul(
    arranged(left, batch, rows, depth).reshape([...batches, sizeOf(extents(left, rows)), inner]),
    arranged(right, batch, depth, columns)
      .reshape([...batches, inner, sizeOf(extents(right, columns))]),
    options,
  ) as Tensor;
  return { x: product.reshape(shape), labels };
}

/** The pair of operands whose product is the smallest against both: their positions. */
function nextPair(
  operands: readonly Labelled[],
  needed: (pair: readonly number[]) => Needed,
  extents: ReadonlyMap<string, number>,
): readonly [number, number] {
  let best: readonly [number, number] = [0, 1];
  let least = Infinity;
  const sizeOfAll = (labels: Iterable<string>) =>
    sizeOf([...labels].map((label) => extents.get(label)!));
  for (let i = 0; i < operands.length; i++) {
    for (let j = i + 1; j < operands.length; j++) {
      const labels = new Set([...operands[i]!.labels, ...operands[j]!.labels]);
      const growth = sizeOfAll(labels.intersection(needed([i, j]))) -
        sizeOfAll(operands[i]!.labels) - sizeOfAll(operands[j]!.labels);
      if (growth < least) [best, least] = [[i, j], growth];
    }
  }
  return best;
}

/**
 * The sum of products of tensors whose axes have letters, by Einstein's summation convention: over
 * each letter that the result lacks. `"ij,jk->ik"` is a matrix product, `"ii->i"` a diagonal,
 * `"...ij->...ji"` a transpose.
 *
 * Pairs of operands are multiplied by {@linkcode matmul}, those first whose product is small. Sums of
 * integers have the type of the operands, and wrap. The result is a view if nothing is computed.
 *
 * @param subscripts The letters of each operand, with commas, and behind `->` those of the result.
 * An ellipsis stands for further axes, which broadcast. Without `->`, the result has the ellipsis and
 * all letters that are there once, in alphabetical order.
 * @param operands The tensors, in the order of the subscripts.
 * @param options The stream.
 * @throws {RangeError} If the subscripts do not fit the operands, or extents of a letter differ.
 * @throws {TypeError} If an operand is `bool` or of 8-bit floats, or there is none.
 *
 * @example
 * ```ts
 * import { einsum, ones } from "@gridstride/cuda/tensor";
 *
 * using queries = ones([2, 4, 5, 8]);
 * using keys = ones([2, 4, 6, 8]);
 * using scores = einsum("bhqd,bhkd->bhqk", [queries, keys]);
 * console.log(scores.shape); // [ 2, 4, 5, 6 ]
 * ```
 * @category Linear algebra
 */
export function einsum<const T extends readonly AnyTensor[]>(
  subscripts: string,
  operands: T,
  options: TensorOptions = {},
): Tensor<CommonType<T>> {
  requireOptions(options, ["stream"], ACTION);
  if (typeof subscripts !== "string") {
    throw new TypeError(
      `${cannot(ACTION)} as subscripts must be text: it is ${describeValue(subscripts)}`,
    );
  }
  const tensors = requireTensors(operands, "operands", ACTION, 1);
  const wrong = tensors.findIndex(({ dtype }) => dtype === "bool" || dtype.startsWith("float8"));
  if (wrong >= 0) {
    throw new TypeError(
      `${
        cannot(ACTION)
      } as operands must be numbers, not bool or 8-bit floats: operands[${wrong}] ` +
        `is ${tensors[wrong]!.dtype}. Cast it first`,
    );
  }
  const dtype = commonType(ACTION, tensors);
  const parsed = parse(subscripts, tensors);
  using scope = new TensorScope();
  const diagonals = parsed.operands.map((operand) => diagonal(operand, subscripts));
  const extents = extentsOf(diagonals, subscripts);
  let all = diagonals.map((operand) => withoutBroadcast(operand, extents));
  const neededBy = (pair: readonly number[]): Needed =>
    new Set([
      ...parsed.result,
      ...all.flatMap(({ labels }, index) => pair.includes(index) ? [] : labels),
    ]);
  while (all.length > 1) {
    const pair = nextPair(all, neededBy, extents);
    const product = contracted(all[pair[0]]!, all[pair[1]]!, neededBy(pair), options);
    all = [...all.filter((_, index) => !pair.includes(index)), product];
  }
  const last = summed(all[0]!, new Set(parsed.result), options);
  const result = arranged(last, parsed.result);
  return scope.keep(result.dtype === dtype ? result : copyOf(result, dtype, options)) as
    & Tensor
    & Tensor<CommonType<T>>;
}
