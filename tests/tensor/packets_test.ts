// Elementwise kernels at the ends of packets, blocks and rows, and where packets are not aligned.

import { assertEquals } from "@std/assert";
import { add, fuse, less, type Tensor, tensor, where } from "../../src/device/tensor.ts";
import { expect, forms, Grid } from "../support/tensor_forms.ts";

/** Around packets of 4 elements, and blocks of 256 threads with one, two and four packets. */
const SIZES = [0, 1, 3, 4, 5, 1023, 1024, 1025, 2047, 2049, 4099];

/** The first elements of the operands and of the result in their memory. */
const OFFSETS = [[0, 0, 0], [1, 1, 1], [1, 0, 0], [4, 8, 2], [3, 2, 4]] as const;

for (const [form, on] of forms) {
  /** A tensor that begins somewhere in its memory, and its elements. */
  const part = (size: number, offset: number, seed: number) => {
    const whole = Grid.mixed([size + offset + 3], 50 + seed);
    const view = whole.tensor("float32", on).slice([{ start: offset, stop: offset + size }]);
    return [view, whole.values.slice(offset, offset + size)] as const;
  };

  Deno.test(`add() has the right elements, and no others, at every offset (${form})`, async () => {
    for (const size of SIZES) {
      for (const offsets of OFFSETS) {
        const [x, xs] = part(size, offsets[0], 1);
        const [y, ys] = part(size, offsets[1], 2);
        const memory = tensor(Array(size + 16).fill(-1), { device: on });
        const start = offsets[2];
        add(x, y, { out: memory.slice([{ start, stop: start + size }]) });
        const expected = Array(size + 16).fill(-1);
        xs.forEach((it, i) => expected[start + i] = it + ys[i]!);
        assertEquals([...await memory.toArray()], expected, `${size} from ${offsets}`);
      }
    }
  });

  Deno.test(`add() may write to an operand, at every offset (${form})`, async () => {
    for (const offset of [0, 1, 4]) {
      const [x, xs] = part(4099, offset, 1);
      const [y, ys] = part(4099, 0, 2);
      for (let turn = 0; turn < 3; turn++) add(x, y, { out: x });
      assertEquals([...await x.toArray()], xs.map((it, i) => it + 3 * ys[i]!));
    }
  });

  Deno.test(`add() repeats rows, columns and numbers in rows of every length (${form})`, async () => {
    for (const [height, width] of [[5, 1], [5, 3], [70, 64], [70, 65], [5, 1028]] as const) {
      const shape = [height, width];
      const [x, row, column, one] = [shape, [width], [height, 1], [1, 1]].map((it) =>
        Grid.mixed(it)
      );
      const of = (grid: Grid) => grid.tensor("float32", on);
      const sums = (other: (at: number[]) => number) =>
        Grid.of(shape, (at) => x!.at(at) + other(at));
      await expect(add(of(x!), of(row!)), sums(([, i]) => row!.at([i!])), `row of ${width}`);
      await expect(add(of(x!), of(column!)), sums(([r]) => column!.at([r!, 0])), `${width}`);
      await expect(add(of(x!), of(one!)), sums(() => one!.values[0]!), `number, ${width}`);
    }
  });

  Deno.test(`add() takes parts of rows, steps and reversed views (${form})`, async () => {
    const whole = Grid.mixed([30, 6, 96]);
    const x = whole.tensor("float32", on);
    // Aligned rows, rows that begin one element later, and rows of no whole packets.
    for (const [start, stop] of [[0, 32], [4, 68], [1, 33], [0, 31]] as const) {
      const [one, other] = [0, 3].map((from) =>
        x.slice([{}, { start: from, stop: from + 3 }, { start, stop }])
      );
      const grid = Grid.of(
        [30, 3, stop - start],
        ([a, b, i]) => whole.at([a!, b!, start + i!]) + whole.at([a!, b! + 3, start + i!]),
      );
      await expect(add(one!, other!), grid, `${start}..${stop}`);
    }
    // Rows of no whole packets that are aligned in all operands and in the result.
    const memory = Grid.mixed([30, 6, 96]).tensor("float32", on);
    const columns = [{}, {}, { stop: 63 }];
    add(x.slice(columns), x.slice(columns), { out: memory.slice(columns) });
    const doubled = Grid.of([30, 6, 96], (at) => whole.at(at) * (at[2]! < 63 ? 2 : 1));
    await expect(memory, doubled, "a result with gaps");
    const stepped = x.slice([{}, {}, { step: 3 }]);
    const backwards = x.slice([{}, {}, { stop: 32 }]).flip(2);
    const expected = Grid.of(
      [30, 6, 32],
      ([a, b, i]) => whole.at([a!, b!, 3 * i!]) + whole.at([a!, b!, 31 - i!]),
    );
    await expect(add(stepped, backwards), expected, "steps");
  });

  Deno.test(`Transposed operands have the right elements around edges of tiles (${form})`, async () => {
    const flipped = (x: Grid) => Grid.of(x.shape.toReversed(), (at) => x.at(at.toReversed()));
    const sum = (x: Grid, y: Grid) => new Grid(x.shape, x.values.map((it, i) => it + y.values[i]!));
    for (const shape of [[7, 9], [8, 8], [63, 65], [64, 64], [65, 128], [68, 132]]) {
      const [x, y] = [Grid.mixed(shape, 50), Grid.mixed(shape.toReversed(), 31)];
      const [left, right] = [x, y].map((it) => it.tensor("float32", on));
      const total = sum(flipped(x), y);
      await expect(left!.transpose().astype("float16"), flipped(x), `${shape}`);
      await expect(add(left!.transpose(), right!), total, `sum of ${shape}`);
      // The result crosses, or runs along memory as the operands do.
      const out = tensor(Array(x.values.length).fill(-1), { device: on }).reshape(shape);
      add(left!.transpose(), right!, { out: out.transpose() });
      await expect(out, flipped(total), `result of ${shape}`);
    }
  });

  Deno.test(`Tiles are cut from tensors of three dimensions and from parts (${form})`, async () => {
    const whole = Grid.mixed([5, 70, 96], 50);
    const x = whole.tensor("float32", on);
    for (const order of [[0, 2, 1], [2, 0, 1], [2, 1, 0], [1, 2, 0]]) {
      const shape = order.map((axis) => whole.shape[axis]!);
      const expected = Grid.of(shape, (at) => whole.at(order.map((_, i) => at[order.indexOf(i)]!)));
      await expect(x.permute(order).astype("float16"), expected, `${order}`);
    }
    const part = x.slice([{ stop: 2 }, { start: 1, stop: 66 }, { start: 1, stop: 65 }]);
    const rows = Grid.of([2, 64, 65], ([a, b, c]) => whole.at([a!, c! + 1, 64 - b!]));
    await expect(part.permute([0, 2, 1]).flip(1).astype("float16"), rows, "columns backwards");
    const columns = Grid.of([2, 64, 65], ([a, b, c]) => whole.at([a!, 65 - c!, b! + 1]));
    await expect(part.permute([0, 2, 1]).flip(2).astype("float16"), columns, "rows backwards");
  });
}

Deno.test("Tiles hold elements of all sizes, and several operands (threads)", async () => {
  const on = forms.get("threads")!;
  const [x, y] = [Grid.mixed([150, 130], 50), Grid.mixed([150, 130], 31)];
  const flip = (f: (at: number[]) => number) =>
    Grid.of([130, 150], ([row, column]) => f([column!, row!]));
  for (const dtype of ["int8", "float64"] as const) {
    const [left, right] = [x, y].map((it) => it.tensor(dtype, on).transpose());
    await expect(add(left!, 0), flip((at) => x.at(at)), dtype);
    // Two tiles of 64-bit elements fill less than a block's shared memory.
    const own = add(left!, right!, {
      out: tensor(Array(19500).fill(0), { device: on, dtype }).reshape([130, 150]),
    });
    await expect(own, flip((at) => x.at(at) + y.at(at)), `sum, ${dtype}`);
  }
});

Deno.test("Elements of all sizes have packets of their own (threads)", async () => {
  const on = forms.get("threads")!;
  const choose = fuse((c: Tensor<"bool">, x: Tensor<"float64">, y: Tensor<"int8">) =>
    where(c, x, y)
  );
  // Packets of 16, 8, 2 and 4 elements.
  for (const size of [1, 17, 8191, 8193]) {
    const [x, y, c] = [Grid.mixed([size], 50), Grid.mixed([size], 31), Grid.mixed([size], 2)];
    const pairs = (f: (a: number, b: number) => number) =>
      new Grid([size], x.values.map((it, i) => f(it, y.values[i]!)));
    const [bytes, others] = [x, y].map((it) => it.tensor("int8", on));
    await expect(add(bytes!, others!), pairs((a, b) => a + b), `int8, ${size}`);
    const [doubles, more] = [x, y].map((it) => it.tensor("float64", on));
    await expect(less(doubles!, more!), pairs((a, b) => Number(a < b)), `bool, ${size}`);
    const chosen = new Grid([size], c.values.map((it, i) => (it ? x : y).values[i]!));
    await expect(choose(c.tensor("bool", on), doubles!, others!), chosen, `mixed, ${size}`);
    await expect(x.tensor("float16", on).astype("float32"), x, `float16 to float32, ${size}`);
  }
});
