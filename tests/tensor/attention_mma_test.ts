// attention() on tensor cores against double precision and against the other kernel.

import { assertEquals, assertMatch, assertThrows } from "@std/assert";
import {
  attention,
  type AttentionOptions,
  attentionVariableLength,
  decodeAttention,
  explainAttention,
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
    const [q, k, v] = grids.map((it) => {
      const [, , rows, width] = it.shape as [number, number, number, number];
      return it.tensor(dtype, on).broadcastTo([1, heads, rows, width]) as Tensor<Narrow>;
    });
    const options = { causal: true, logSumExp: true, variant: "mma" } as const;
    assertEquals(explainAttention(q!, k!, v!, options).launch, { grid: heads, block: 128 });
    const { output, logSumExp } = attention(q!, k!, v!, options);
    const last = { start: heads - 1 };
    await expectClose(output.slice([{}, last]) as Tensor, wanted.output, dtype, BOUNDS[dtype]);
    await expectClose(logSumExp.slice([{}, last]) as Tensor, wanted.sums, `sums of ${dtype}`);
  }
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
