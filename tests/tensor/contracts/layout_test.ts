// Views of all kinds against the rules of Python and NumPy, which are computed from positions here.
// No test runs a kernel: a view's elements are where its strides say.

import { assert, assertEquals, assertThrows } from "@std/assert";
import fc from "fast-check";
import { add, concat, type Tensor, zeros } from "../../../src/device/tensor.ts";
import { broadcastShapes, positionsOf, reshapedStrides } from "../../../src/tensor/kit/layout.ts";
import { device } from "../../support/device.ts";

/** A range of positions in Python: those that `start:stop:step` does not exclude. */
function sliced(extent: number, start?: number, stop?: number, step = 1): number[] {
  const fromEnd = (place: number) => place < 0 ? place + extent : place;
  const all = [...Array(extent).keys()];
  const order = step > 0 ? all : all.toReversed();
  const [first, last] = [start, stop].map((it) => it === undefined ? undefined : fromEnd(it));
  const isBefore = (at: number, place: number) => step > 0 ? at < place : at > place;
  return order
    .filter((at) => first === undefined || !isBefore(at, first))
    .filter((_, turn) => turn % Math.abs(step) === 0)
    .filter((at) => last === undefined || isBefore(at, last));
}

/** An array of memory positions. */
interface Model {
  readonly shape: readonly number[];
  readonly at: (index: readonly number[]) => number;
}

/** All indices of a shape in row-major order. */
function indicesOf(shape: readonly number[]): number[][] {
  return shape.reduce<number[][]>(
    (all, extent) =>
      all.flatMap((index) => Array.from({ length: extent }, (_, next) => [...index, next])),
    [[]],
  );
}

const positionsIn = ({ shape, at }: Model) => indicesOf(shape).map(at);
const sizeOf = (shape: readonly number[]) => shape.reduce((size, extent) => size * extent, 1);

/** A model with the elements of another one in row-major order. */
function reshaped(model: Model, shape: readonly number[]): Model {
  const all = positionsIn(model);
  const flat = (index: readonly number[]) =>
    index.reduce((place, at, axis) => place * shape[axis]! + at, 0);
  return { shape, at: (index) => all[flat(index)]! };
}

/** The strides of positions in row-major order, if there are any. */
function stridesOf({ shape, at }: Model): number[] | undefined {
  if (sizeOf(shape) === 0) return shape.map(() => 0);
  const zero = shape.map(() => 0);
  const strides = shape.map((extent, axis) => extent === 1 ? 0 : at(zero.with(axis, 1)) - at(zero));
  const isLinear = indicesOf(shape).every((index) =>
    at(index) === index.reduce((sum, it, axis) => sum + it * strides[axis]!, at(zero))
  );
  return isLinear ? strides : undefined;
}

/** A view and what it must be. */
type Pair = readonly [Tensor, Model];

const modulo = (value: number, n: number) => value % n;

/** Views by numbers that fast-check draws. */
const STEPS: Readonly<Record<string, (pair: Pair, draw: readonly number[]) => Pair>> = {
  slice([x, model], draw) {
    if (x.rank === 0) return [x, model];
    const axis = modulo(draw[0]!, x.rank);
    const extent = x.shape[axis]!;
    const [start, stop] = [draw[1]!, draw[2]!].map((it) =>
      it % 4 === 0 ? undefined : modulo(it, 2 * extent + 5) - extent - 2
    );
    const step = [1, 2, -1, -2, 3][modulo(draw[3]!, 5)]!;
    const range = {
      step,
      ...(start === undefined ? {} : { start }),
      ...(stop === undefined ? {} : { stop }),
    };
    const kept = sliced(extent, start, stop, step);
    return [x.slice([...Array(axis).fill({}), range]), {
      shape: model.shape.with(axis, kept.length),
      at: (index) => model.at(index.with(axis, kept[index[axis]!]!)),
    }];
  },
  at([x, model], draw) {
    if (x.rank === 0 || x.shape[0] === 0) return [x, model];
    const extent = x.shape[0]!;
    const place = modulo(draw[0]!, 2 * extent) - extent;
    return [x.at(place), {
      shape: model.shape.slice(1),
      at: (index) => model.at([(place + extent) % extent, ...index]),
    }];
  },
  permute([x, model], draw) {
    const order = [...x.shape.keys()].sort((a, b) => draw[a % 4]! - draw[b % 4]! || a - b);
    return [x.permute(order), {
      shape: order.map((axis) => model.shape[axis]!),
      at: (index) => model.at(order.map((_, axis) => index[order.indexOf(axis)]!)),
    }];
  },
  flip([x, model], draw) {
    const axes = [...x.shape.keys()].filter((axis) => draw[axis % 4]! % 2 === 0);
    return [x.flip(axes), {
      shape: model.shape,
      at: (index) =>
        model.at(index.map((it, axis) => axes.includes(axis) ? model.shape[axis]! - 1 - it : it)),
    }];
  },
  expandDims([x, model], draw) {
    if (x.rank > 4) return [x, model];
    const axis = modulo(draw[0]!, x.rank + 1);
    return [x.expandDims(axis), {
      shape: model.shape.toSpliced(axis, 0, 1),
      at: (index) => model.at(index.toSpliced(axis, 1)),
    }];
  },
  squeeze([x, model]) {
    const kept = [...x.shape.keys()].filter((axis) => x.shape[axis] !== 1);
    return [x.squeeze(), {
      shape: kept.map((axis) => model.shape[axis]!),
      at: (index) =>
        model.at(
          model.shape.map((_, axis) => kept.includes(axis) ? index[kept.indexOf(axis)]! : 0),
        ),
    }];
  },
  broadcastTo([x, model], draw) {
    if (x.rank > 4) return [x, model];
    const wide = model.shape.map((extent, axis) =>
      extent === 1 ? modulo(draw[axis % 4]!, 4) : extent
    );
    const shape = draw[3]! % 2 === 0 ? wide : [modulo(draw[2]!, 3), ...wide];
    const skipped = shape.length - model.shape.length;
    return [x.broadcastTo(shape), {
      shape,
      at: (index) =>
        model.at(index.slice(skipped).map((it, axis) => model.shape[axis] === 1 ? 0 : it)),
    }];
  },
};

Deno.test("slice() takes the positions that Python takes, at every start, stop, step and extent", () => {
  for (const extent of [0, 1, 2, 5]) {
    using x = zeros([extent], { device });
    const places = [undefined, ...Array.from({ length: 2 * extent + 7 }, (_, k) => k - extent - 3)];
    for (const step of [1, 2, 3, 7, -1, -2, -3, -7]) {
      for (const start of places) {
        for (const stop of places) {
          const range = {
            step,
            ...(start === undefined ? {} : { start }),
            ...(stop === undefined ? {} : { stop }),
          };
          using view = x.slice([range]);
          const expected = sliced(extent, start, stop, step);
          assertEquals(positionsOf(view), expected, `${start}:${stop}:${step} of ${extent}`);
        }
      }
    }
  }
});

Deno.test("A chain of views has the elements of NumPy's, also with extents of 0 and 1", () => {
  const draws = fc.array(fc.nat(99), { minLength: 4, maxLength: 4 });
  const steps = fc.array(fc.tuple(fc.constantFrom(...Object.keys(STEPS)), draws), { maxLength: 6 });
  const shapes = fc.array(fc.constantFrom(0, 1, 2, 3, 4, 5), { maxLength: 4 });
  fc.assert(
    fc.property(shapes, steps, (shape, chain) => {
      using x = zeros(shape, { device }) as Tensor;
      const dense = reshaped({ shape: [sizeOf(shape)], at: ([place]) => place! }, shape);
      let pair: Pair = [x, dense];
      for (const [name, draw] of chain) {
        pair = STEPS[name]!(pair, draw);
        const [view, model] = pair;
        assertEquals([...view.shape], [...model.shape], name);
        assertEquals(view.size, sizeOf(model.shape));
        const positions = positionsIn(model);
        assertEquals(positionsOf(view), positions, name);
        assertEquals(
          view.isDense,
          positions.every((place, index) => place === positions[0]! + index),
          `${name}: (${view.shape}) by (${view.strides})`,
        );
      }
    }),
    { numRuns: 400, seed: 20 },
  );
});

Deno.test("reshape() gives a view if strides have the elements in order, and only then", () => {
  const draws = fc.array(fc.nat(99), { minLength: 4, maxLength: 4 });
  const step = fc.tuple(fc.constantFrom("slice", "permute", "flip", "broadcastTo"), draws);
  const shapes = fc.array(fc.constantFrom(1, 2, 3, 4, 6), { minLength: 1, maxLength: 4 });
  const seen = { views: 0, copies: 0 };
  fc.assert(
    fc.property(shapes, fc.array(step, { maxLength: 3 }), draws, (shape, chain, draw) => {
      using x = zeros(shape, { device }) as Tensor;
      const dense = reshaped({ shape: [sizeOf(shape)], at: ([place]) => place! }, shape);
      const [view, model] = chain.reduce<Pair>((pair, [name, own]) => STEPS[name]!(pair, own), [
        x,
        dense,
      ]);
      const target = factors(view.size, draw);
      const wanted = reshaped(model, target);
      const strides = reshapedStrides(view, target);
      const expected = stridesOf(wanted);
      const text = `(${view.shape}) by (${view.strides}) to (${target})`;
      assertEquals(strides !== undefined, expected !== undefined, text);
      seen[strides === undefined ? "copies" : "views"]++;
      if (strides === undefined) return;
      const positions = positionsOf({ shape: target, strides, offset: view.offset });
      assertEquals(positions, positionsIn(wanted), text);
    }),
    { numRuns: 1000, seed: 21 },
  );
  assert(seen.views > 100 && seen.copies > 100, JSON.stringify(seen));
});

/** Extents with a product, in an order that numbers decide; some are 1. */
function factors(size: number, draw: readonly number[]): number[] {
  if (size === 0) return [0, draw[0]! % 3];
  const extents: number[] = [];
  let rest = size;
  for (let turn = 0; rest > 1; turn++) {
    const divisors = Array.from({ length: rest }, (_, k) => k + 1).filter((it) => rest % it === 0);
    const extent = turn > 4 ? rest : divisors[draw[turn % 4]! % divisors.length]!;
    extents.push(extent);
    rest /= extent;
  }
  return extents;
}

/** The shape of a broadcast by NumPy's rule; undefined if there is none. */
function broadcast(a: readonly number[], b: readonly number[]): number[] | undefined {
  const rank = Math.max(a.length, b.length);
  const pad = (shape: readonly number[]) => [...Array(rank - shape.length).fill(1), ...shape];
  const [x, y] = [pad(a), pad(b)];
  const isFit = x.every((extent, axis) => extent === y[axis] || [extent, y[axis]].includes(1));
  return isFit ? x.map((extent, axis) => extent === 1 ? y[axis]! : extent) : undefined;
}

Deno.test("Shapes broadcast by NumPy's rule for all pairs of extents, 0 and 1 included", () => {
  const extents = [0, 1, 2, 3];
  const pairs = extents.flatMap((a) => extents.map((b) => [a, b]));
  const shapes = [[], ...extents.map((it) => [it]), ...pairs];
  for (const a of shapes) {
    for (const b of shapes) {
      const expected = broadcast(a, b);
      const text = `(${a}) and (${b})`;
      if (expected === undefined) {
        assertThrows(() => broadcastShapes("add", a, b), RangeError, "must broadcast", text);
        continue;
      }
      assertEquals([...broadcastShapes("add", a, b)], expected, text);
      for (const c of [[1], [3, 1], [1, 0]]) {
        const all = broadcast(expected, c);
        if (all !== undefined) assertEquals([...broadcastShapes("add", a, b, c)], all, text);
      }
      // Empty results run no kernel.
      if (!expected.includes(0)) continue;
      using x = zeros(a, { device });
      using y = zeros(b, { device });
      using sum = add(x, y);
      assertEquals([[...sum.shape], sum.size], [expected, 0], text);
      using wide = x.broadcastTo(expected);
      assertEquals([...wide.shape], expected, text);
    }
  }
});

Deno.test("Options `out` refuse views that overlap an operand in another order", () => {
  using base = zeros([64], { device });
  const square = base.reshape([8, 8]);
  const [x, part] = [base.slice([{ stop: 32 }]), base.slice([{ start: 16, stop: 48 }])];
  const cases: readonly (readonly [string, Tensor, Tensor])[] = [
    ["a transpose", square, square.transpose()],
    ["a reversed view", x, x.flip()],
    ["a shifted reversed view", x, part.flip()],
    ["rows in reverse", square, square.flip(0)],
    ["columns in reverse", square, square.flip(1)],
    ["both in reverse", square, square.flip()],
    ["a reversed transpose", square.flip(0), square.transpose()],
    ["a later part", x, part],
    ["the other half of a reversed view", x.flip(), part],
    ["every second element", x, base.slice([{ step: 2 }])],
    ["a repeated row", square, square.at(3).broadcastTo([8, 8])],
    ["one element", square, base.at(63)],
    ["three dimensions", base.reshape([4, 4, 4]), base.reshape([4, 4, 4]).transpose()],
  ].map(([name, out, operand]) => [name as string, out as Tensor, operand as Tensor]);
  const refusal = "options.out must not overlap an operand";
  for (const [name, out, operand] of cases) {
    assertThrows(() => add(out, operand, { out }), RangeError, refusal, name);
    assertThrows(() => add(operand, out, { out }), RangeError, refusal, name);
  }
  // A result that repeats elements has no order of its own.
  const repeated = base.at(0).broadcastTo([4]);
  assertThrows(() => add(repeated, 1, { out: repeated }), RangeError, "must not repeat elements");
  // Views without common elements do not overlap, at either end; empty ones run no kernel.
  const none = base.slice([{ start: 8, stop: 8 }]);
  assertEquals(add(none, 1, { out: none }).size, 0);
  assertEquals(concat([none, none]).size, 0);
});
