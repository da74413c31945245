// attention() on tensor cores against double precision and against the other kernel.

import { assertEquals, assertLessOrEqual, assertMatch, assertThrows } from "@std/assert";
import {
  attention,
  type AttentionOptions,
  attentionVariableLength,
  concat,
  decodeAttention,
  explainAttention,
  full,
  PagedCache,
  type Tensor,
  zeros,
} from "../../src/device/tensor.ts";
import { expectClose, numbers, reference, type Score } from "../support/attention_reference.ts";
import { forms, Grid, read } from "../support/tensor_forms.ts";

const on = forms.get("threads")!;

/** Extents: batch, heads, heads of keys, queries, keys, size of heads. */
type Extents = readonly [number, number, number, number, number, number];
type Narrow = "float16" | "bfloat16";

function operands([batch, heads, keyHeads, queries, keys, size]: Extents) {
  return [
    numbers([batch, heads, queries, size], 1),
    numbers([batch, keyHeads, keys, size], 2),
    numbers([batch, keyHeads, keys, size], 3),
  ] as const;
}

/** A tensor whose heads begin at multiples of 16 bytes, with NaN behind them. */
function padded(grid: Grid, dtype: Narrow): Tensor<Narrow> {
  const size = grid.shape[3]!;
  const whole = grid.shape.with(3, Math.ceil((size + 1) / 8) * 8);
  const tensor = Grid.of(whole, (at) => at[3]! < size ? grid.at(at) : NaN).tensor(dtype, on);
  return tensor.slice([{}, {}, {}, { stop: size }]);
}

/** A tensor of one head, as that of many. */
function repeatedHeads(grid: Grid, dtype: Narrow, heads: number): Tensor<Narrow> {
  const [, , rows, width] = grid.shape as [number, number, number, number];
  return grid.tensor(dtype, on).broadcastTo([1, heads, rows, width]) as Tensor<Narrow>;
}

/** Weights are rounded to the element type, so errors are those of 2 roundings. */
const BOUNDS = { float16: 1e-3, bfloat16: 8e-3 };

async function check(
  extents: Extents,
  dtype: Narrow,
  options: AttentionOptions = {},
  score?: Score,
) {
  const grids = operands(extents);
  const [q, k, v] = grids.map((it) => padded(it, dtype)) as [Tensor<Narrow>, ...Tensor<Narrow>[]];
  const all = { ...options, logSumExp: true, variant: "mma" } as const;
  const { output, logSumExp } = attention(q, k!, v!, all);
  const wanted = reference(...grids, score);
  const text = `${extents} ${dtype} ${Object.keys(options)}`;
  await Promise.all([
    expectClose(output as Tensor, wanted.output, text, BOUNDS[dtype]),
    expectClose(logSumExp as Tensor, wanted.sums, `sums of ${text}`),
  ]);
}

const near =
  ([, , , queries, keys]: Extents, before: number, after: number): Score => (_b, _h, i, j) => {
    const distance = j - (i + keys - queries);
    return distance >= -before && distance <= after ? 0 : -Infinity;
  };

Deno.test("attention() on tensor cores is causal, windowed and grouped at any length", async () => {
  const shapes: Extents[] = [
    [2, 4, 2, 33, 131, 32],
    [1, 2, 1, 31, 63, 32],
    [1, 1, 1, 64, 64, 32],
    [1, 3, 1, 29, 65, 25],
    [1, 1, 1, 90, 50, 32],
    [1, 2, 2, 40, 1, 17],
  ];
  await Promise.all(shapes.flatMap((it) => [
    check(it, "float16"),
    check(it, "float16", { causal: true }, near(it, Infinity, 0)),
    check(it, "float16", { window: [9, 3] }, near(it, 9, 3)),
  ]));
});

Deno.test("attention() on tensor cores takes heads of every size in both types", async () => {
  const sizes = [[80, "bfloat16"], [128, "float16"], [256, "bfloat16"]] as const;
  await Promise.all(sizes.map(([size, dtype]) => {
    // Tiles of 64 rows, and of 16.
    const extents: Extents = [1, 1, 1, size < 128 ? 19 : 13, 67, size];
    return check(extents, dtype, { causal: true }, near(extents, Infinity, 0));
  }));
});

Deno.test("attention() on tensor cores takes 128 rows at once when there are many tiles", async () => {
  // All heads have the same operands. The first tile of keys is whole for all rows, and the last ones
  // are not.
  const heads = 264;
  for (const [size, dtype] of [[64, "float16"], [128, "bfloat16"]] as const) {
    const extents: Extents = [1, 1, 1, 65, 193, size];
    const grids = operands(extents);
    const wanted = reference(...grids, near(extents, Infinity, 0));
    const [q, k, v] = grids.map((it) => repeatedHeads(it, dtype, heads));
    const options = { causal: true, logSumExp: true, variant: "mma" } as const;
    assertEquals(explainAttention(q!, k!, v!, options).launch, { grid: heads, block: 128 });
    const { output, logSumExp } = attention(q!, k!, v!, options);
    const last = { start: heads - 1 };
    await expectClose(output.slice([{}, last]) as Tensor, wanted.output, dtype, BOUNDS[dtype]);
    await expectClose(logSumExp.slice([{}, last]) as Tensor, wanted.sums, `sums of ${dtype}`);
  }
});

Deno.test("attention() on tensor cores takes visible blocks with 32 rows of a warp", async () => {
  // All heads have the same operands, and there are 264 tiles of 128 rows. The last tile of keys is cut
  // off.
  const [queries, keys, keyHeads] = [193, 450, 132];
  const grids = operands([1, 1, 1, queries, keys, 16]);
  const counts = [queries, keys].map((it) => Math.ceil(it / 64)) as [number, number];
  // Tiles of 64 rows. With two heads for one of keys, tiles of 128, whose heads see other blocks.
  for (const [heads, grid, block] of [[132, 4, 64], [264, 4, 128]] as const) {
    const flags = Grid.of([2, ...counts], ([h, i, j]) => Number((h! + i! + j!) % 4 !== 1));
    const all = Grid.of([heads, ...counts], ([h, i, j]) => flags.at([h! % 2, i!, j!]));
    const blockMask = { mask: all.tensor("bool", on), blockSize: 64 };
    const [q, k, v] = grids.map((it, at) =>
      repeatedHeads(it, "float16", at === 0 ? heads : keyHeads)
    );
    const options = {
      causal: heads > keyHeads,
      blockMask,
      logSumExp: true,
      variant: "mma",
    } as const;
    const { launch } = explainAttention(q!, k!, v!, options);
    assertEquals(launch, { grid: keyHeads * grid, block });
    const { output, logSumExp } = attention(q!, k!, v!, options);
    for (const parity of [0, 1]) {
      const isSeen = (i: number, j: number) =>
        flags.at([parity, Math.floor(i / 64), Math.floor(j / 64)]) === 1 &&
        (!options.causal || j <= i + keys - queries);
      const wanted = reference(...grids, (_b, _h, i, j) => isSeen(i, j) ? 0 : -Infinity);
      const [head, text] = [{ start: heads - 2 + parity, stop: heads - 1 + parity }, `${heads}`];
      await expectClose(output.slice([{}, head]) as Tensor, wanted.output, text, BOUNDS.float16);
      await expectClose(logSumExp.slice([{}, head]) as Tensor, wanted.sums, `sums of ${text}`);
    }
  }
});

Deno.test("attention() on tensor cores looks up blocks of more than 65,536 keys", async () => {
  // So many heads that keys are not split.
  const [heads, keys] = [264, 2 * 65_536 + 200];
  const grids = operands([1, 1, 1, 64, keys, 16]);
  const [q, k, v] = grids.map((it) => repeatedHeads(it, "float16", heads));
  // The second table has none.
  const visible = [0, 5, 1023, 2050, 2051];
  const flags = Grid.of([1, Math.ceil(keys / 64)], ([, j]) => Number(visible.includes(j!)));
  const blockMask = { mask: flags.tensor("bool", on), blockSize: 64 };
  const actual = attention(q!, k!, v!, { blockMask, variant: "mma" });
  const [visibleK, visibleV] = [grids[1], grids[2]].map((grid) => {
    const whole = grid.tensor("float16", on);
    const tiles = visible.map((it) =>
      whole.slice([{}, {}, { start: 64 * it, stop: Math.min(64 * it + 64, keys) }])
    );
    return concat(tiles, { axis: 2 });
  });
  const alone = attention(grids[0].tensor("float16", on), visibleK!, visibleV!, { variant: "mma" });
  const last = actual.slice([{}, { start: heads - 1 }]);
  await expectClose(last as Tensor, await read(alone as Tensor), "blocks", BOUNDS.float16);
});

Deno.test("attention() on tensor cores takes few rows of queries with heads of any size", async () => {
  const first = (["mma", "simt"] as const).map((variant) => {
    const q = zeros([1, 8, 1, 24], { device: on, dtype: "float16" });
    return explainAttention(q, q, q, { variant }).reason;
  });
  // Heads of 24 are no multiple of 16.
  assertEquals(first.map((it) => /few rows/.test(it)), [false, true]);
  const sizes: [Extents, Narrow][] = [
    [[1, 8, 1, 1, 700, 128], "bfloat16"],
    [[2, 3, 3, 2, 129, 48], "float16"],
    [[1, 5, 1, 1, 1, 48], "float16"],
    [[1, 6, 2, 2, 300, 256], "float16"],
  ];
  for (const [extents, dtype] of sizes) {
    await check(extents, dtype, { causal: true }, near(extents, Infinity, 0));
  }
  await check([2, 3, 3, 2, 129, 48], "float16", { window: [50, 0] }, near(sizes[1]![0], 50, 0));
  // Heads that share their keys see other blocks, and a row of each sees no key.
  const added = Grid.of(
    [2, 2, 129],
    ([h, i, j]) => i === 1 ? -Infinity : numbers([2, 129], 5).at([h!, j!]),
  );
  const blocks = Grid.of([2, 1, 3], ([h, , j]) => Number(j! % 2 === h));
  const mask = added.tensor("float32", on) as Tensor;
  const blockMask = { mask: blocks.tensor("bool", on), blockSize: 64 };
  await check(
    [1, 2, 1, 2, 129, 48],
    "float16",
    { mask, blockMask },
    (_b, h, i, j) => blocks.at([h, 0, Math.floor(j / 64)]) === 1 ? added.at([h, i, j]) : -Infinity,
  );
});

Deno.test("attention() of few rows on tensor cores does not round weights to the element type", async () => {
  // Values cancel but for the difference of weights near 1, which bfloat16 holds to 2 digits.
  const one = (numbers: number[]) => new Grid([1, 1, numbers.length / 48, 48], numbers);
  const row = (first: number) => [first, ...Array<number>(47).fill(0)];
  const grids = [one(row(1)), one([...row(1), ...row(0.9375)]), one([...row(1), ...row(-1)])];
  const [q, k, v] = grids.map((it) => it.tensor("bfloat16", on));
  const y = attention(q!, k!, v!, { variant: "mma" });
  const wanted = reference(grids[0]!, grids[1]!, grids[2]!).output.at([0, 0, 0, 0]);
  const actual = (await read(y as Tensor)).at([0, 0, 0, 0]);
  assertLessOrEqual(Math.abs(actual / wanted - 1), 2 ** -8);
});

Deno.test("attention() on tensor cores takes scales that are negative or 0", async () => {
  const extents: Extents = [1, 1, 1, 33, 131, 32];
  const [q, k, v] = operands(extents).map((it) => it.tensor("float16", on));
  const grids = operands(extents);
  for (const scale of [-0.25, 0]) {
    const all = { scale, causal: true, logSumExp: true, variant: "mma" } as const;
    const { output } = attention(q!, k!, v!, all);
    const queries = grids[0].map((it) => it * scale * Math.sqrt(32));
    const wanted = reference(queries, grids[1], grids[2], near(extents, Infinity, 0));
    await expectClose(output as Tensor, wanted.output, `scale ${scale}`, BOUNDS.float16);
  }
});

Deno.test("attention() on tensor cores takes masks, and gives zeros for hidden rows", async () => {
  const extents: Extents = [1, 2, 1, 70, 200, 32];
  const flags = Grid.of([70, 200], ([i, j]) => i === 3 || (i! * 7 + j! * 5) % 3 === 0 ? 0 : 1);
  const added = numbers([2, 1, 200], 5);
  // Some rows of a head skip a block between two, the others see only one, in the middle. Heads that
  // share their keys see other blocks.
  const blocks = Grid.of(
    [2, 2, 4],
    ([h, i, j]) => i === h ? Number(j! % 2 === 0) : Number(j === 1),
  );
  const blockMask = { mask: blocks.tensor("bool", on), blockSize: 64 };
  const isSeen = (h: number, i: number, j: number) =>
    blocks.at([h, Math.floor(i / 64), Math.floor(j / 64)]) === 1;
  await Promise.all([
    check(
      extents,
      "float16",
      { mask: flags.tensor("bool", on) as Tensor },
      (_b, _h, i, j) => flags.at([i, j]) === 1 ? 0 : -Infinity,
    ),
    check(
      extents,
      "float16",
      { mask: added.tensor("float32", on) as Tensor, blockMask },
      (_b, h, i, j) => isSeen(h, i, j) ? added.at([h, 0, j]) : -Infinity,
    ),
    // The first tiles of rows see no keys at all.
    check(
      [2, 3, 3, 200, 70, 32],
      "float16",
      {
        causal: true,
        blockMask: { mask: full([4, 2], true, { dtype: "bool", device: on }), blockSize: 64 },
      },
      near([2, 3, 3, 200, 70, 32], Infinity, 0),
    ),
  ]);
});

Deno.test("attention() on tensor cores has the results of CUDA threads for parts, sequences and pages", async () => {
  const pairs: [Tensor, Tensor][] = [];
  const both = (run: (options: { variant: "mma" | "simt" }) => Tensor) =>
    pairs.push([run({ variant: "mma" }), run({ variant: "simt" })]);
  const typed = (extents: Extents) =>
    operands(extents).map((it) => it.tensor("float16", on)) as [
      Tensor<"float16">,
      ...Tensor<"float16">[],
    ];
  const [q, k, v] = typed([1, 4, 2, 3, 1100, 32]);
  both((options) => attention(q, k!, v!, { ...options, causal: true }) as Tensor);
  const packed = typed([1, 4, 2, 41, 41, 32]).map((it) => it.at(0).permute([1, 0, 2]));
  both((options) =>
    attentionVariableLength(
      packed[0]!,
      packed[1]!,
      packed[2]!,
      [0, 1, 18, 41],
      [0, 17, 17, 41],
      options,
    ) as Tensor
  );
  using cache = new PagedCache({
    ...{ device: on, dtype: "float16", pages: 40, pageSize: 5, heads: 2, headSize: 32 },
  });
  const sequence = cache.add();
  cache.append([sequence], k!.slice([{}, {}, { stop: 197 }]), v!.slice([{}, {}, { stop: 197 }]));
  both((options) => decodeAttention(q, cache, [sequence], options) as Tensor);
  await Promise.all(
    pairs.map(async ([actual, wanted], at) =>
      expectClose(actual, await read(wanted), `pair ${at}`, BOUNDS.float16)
    ),
  );
});

Deno.test("options.variant of attention() is refused where there is no such kernel, with the reason", () => {
  const q = zeros([1, 1, 2, 32], { device: on });
  const half = zeros([1, 1, 2, 33], { device: on, dtype: "float16" });
  const odd = half.slice([{}, {}, {}, { start: 1 }]);
  const cases: [() => unknown, string][] = [
    [() => attention(q, q, q, { variant: "mma" }), "the operands are float32"],
    [() => attention(odd, odd, odd, { variant: "mma" }), "begin at multiples of 16 bytes"],
    [() => attention(q, q, q, { variant: "loops" }), "kernels run as simt on"],
    [() => attention(q, q, q, { variant: "fast" as never }), "options.variant must be mma, simt"],
  ];
  for (const [call, message] of cases) assertThrows(call, Error, message);
});

Deno.test("explainAttention() names the kernel, its launch and the reason", () => {
  const q = zeros([1, 2, 70, 32], { device: on, dtype: "float16" });
  const { variant, launch, reason } = explainAttention(q, q, q, { variant: "mma" });
  assertEquals([variant, launch], ["mma", { grid: 4, block: 128 }]);
  assertEquals(reason, "tensor cores multiply float16, as requested");
  const single = zeros([1, 2, 70, 32], { device: on });
  assertMatch(explainAttention(single, single, single).reason, /not mma: .* are float32$/);
});
