// attention() against double precision, in both forms of kernels.

import { assertEquals, assertMatch, assertThrows } from "@std/assert";
import {
  attention,
  type AttentionOptions,
  concat,
  explainAttention,
  type Tensor,
  tensor,
  zeros,
} from "../../src/device/tensor.ts";
import { device } from "../support/device.ts";
import { expectClose, numbers, reference, type Score } from "../support/attention_reference.ts";
import { forms, Grid, read } from "../support/tensor_forms.ts";

/** Extents: batch, heads, heads of keys, queries, keys, sizes of heads of keys and of values. */
type Extents = readonly [number, number, number, number, number, number, number];

function operands([batch, heads, keyHeads, queries, keys, size, valueSize]: Extents) {
  return [
    numbers([batch, heads, queries, size], 1),
    numbers([batch, keyHeads, keys, size], 2),
    numbers([batch, keyHeads, keys, valueSize], 3),
  ] as const;
}

const BOUNDS = { float32: 4e-6, float16: 1e-3, bfloat16: 8e-3 } as const;

for (const [form, on] of forms) {
  /**
   * Runs attention with the logarithms of sums, and compares both with the reference. The block form
   * multiplies bfloat16 in tile registers, where the processor has them.
   */
  const check = (
    extents: Extents,
    options: AttentionOptions,
    score?: Score,
    dtypes: readonly (keyof typeof BOUNDS)[] = form === "block"
      ? ["float32", "bfloat16"]
      : ["float32"],
  ) => {
    const grids = operands(extents);
    const wanted = reference(...grids, score);
    return Promise.all(dtypes.flatMap((dtype) => {
      const [q, k, v] = grids.map((it) => it.tensor(dtype, on));
      const { output, logSumExp } = attention(q!, k!, v!, { ...options, logSumExp: true });
      return [
        expectClose(output as Tensor, wanted.output, `${extents} ${dtype}`, BOUNDS[dtype]),
        expectClose(logSumExp as Tensor, wanted.sums, `sums of ${extents} ${dtype}`),
      ];
    }));
  };

  Deno.test(`attention() is causal, windowed and grouped at any length (${form})`, async () => {
    const visible = (extents: Extents, before: number, after: number): Score => (_b, _h, i, j) => {
      const distance = j - (i + extents[4] - extents[3]);
      return distance >= -before && distance <= after ? 0 : -Infinity;
    };
    const shapes: Extents[] = [
      [2, 4, 2, 70, 131, 40, 33],
      [1, 6, 2, 33, 64, 64, 64],
      [1, 3, 1, 65, 65, 7, 1],
      [1, 1, 1, 90, 50, 32, 32],
      [1, 2, 2, 40, 1, 16, 5],
      // Up to 16 rows of queries have tiles of their own.
      [1, 1, 1, 15, 63, 16, 5],
      [1, 2, 1, 8, 64, 16, 5],
      [1, 1, 1, 17, 65, 16, 5],
    ];
    await Promise.all(shapes.flatMap((extents) => [
      check(extents, {}),
      check(extents, { causal: true }, visible(extents, Infinity, 0)),
      check(extents, { window: [9, 3] }, visible(extents, 9, 3)),
      check(extents, { window: [70, Infinity], causal: true }, visible(extents, 70, 0)),
    ]));
  });

  Deno.test(`attention() merges parts of the keys of few queries (${form})`, async () => {
    const extents: Extents = [1, 6, 2, 2, 1601, 24, 16];
    const causal: Score = (_b, _h, i, j) => j <= i + 1599 ? 0 : -Infinity;
    await Promise.all([
      // From 1024 keys on there are parts.
      ...[1023, 1024, 1025].map((keys) => check([1, 1, 1, 2, keys, 24, 16], {})),
      check(extents, {}),
      check(extents, { causal: true }, causal),
      check(
        extents,
        { causal: true, window: [3, 0] },
        (b, h, i, j) => j >= i + 1596 ? causal(b, h, i, j) : -Infinity,
      ),
    ]);
  });

  Deno.test(`attention() takes masks, and gives zeros for hidden rows (${form})`, async () => {
    const extents: Extents = [2, 2, 1, 70, 150, 12, 8];
    const flags = Grid.of(
      [2, 1, 70, 150],
      ([b, , i, j]) => i === 3 || (i! * 7 + j! * 5 + b!) % 3 === 0 ? 0 : 1,
    );
    const irregular = numbers([2, 1, 150], 5);
    // The largest score is always among the last keys.
    const added = Grid.of([2, 1, 150], ([h, , j]) => irregular.at([h!, 0, j!]) + j! / 4);
    // Heads that share their keys see other blocks. Both masks are views.
    const blocks = Grid.of([2, 2, 3], ([h, i, j]) => Number((i === h) === (j === 1)));
    const inBlock: Score = (_b, h, i, j) =>
      blocks.at([h, Math.floor(i / 64), Math.floor(j / 64)]) === 1 ? 0 : -Infinity;
    const view = <D extends "bool" | "float32">(grid: Grid, dtype: D, at: number) =>
      [...grid.views(dtype, on)][at]!;
    const blockMask = { mask: view(blocks, "bool", 1), blockSize: 64 };
    await Promise.all([
      check(
        extents,
        { mask: view(flags, "bool", 3) as Tensor },
        (b, _h, i, j) => flags.at([b, 0, i, j]) === 1 ? 0 : -Infinity,
      ),
      check(
        extents,
        { mask: view(added, "float32", 2) as Tensor, blockMask },
        (b, h, i, j) => added.at([h, 0, j]) + inBlock(b, h, i, j),
      ),
    ]);
  });

  Deno.test(`attention() takes views, narrow types and wide heads (${form})`, async () => {
    const grids = operands([2, 2, 2, 20, 30, 256, 200]);
    const [q, k, v] = grids.map((it) => [...it.views("bfloat16", on)]);
    const wanted = reference(...grids).output;
    await Promise.all([
      ...q!.map((view, at) =>
        expectClose(
          attention(view, k!.at(-1 - at)!, v![at]!) as Tensor,
          wanted,
          `view ${at}`,
          8e-3,
        )
      ),
      // The block form has a conversion of its own.
      ...(form === "block" ? [check([1, 1, 1, 3, 9, 20, 12], {}, undefined, ["float16"])] : []),
    ]);
  });
}

Deno.test("attention() takes few rows of queries with heads of any size", async () => {
  const on = forms.get("threads")!;
  const check = async (
    extents: Extents,
    dtype: keyof typeof BOUNDS,
    options: AttentionOptions = {},
    score?: Score,
  ) => {
    const grids = operands(extents);
    const [q, k, v] = grids.map((it) => it.tensor(dtype, on));
    // Tensor cores take more than four rows otherwise.
    const all = { ...options, logSumExp: true, variant: "simt" } as const;
    assertMatch(explainAttention(q!, k!, v!, all).reason, /few rows/);
    const { output, logSumExp } = attention(q!, k!, v!, all);
    const wanted = reference(...grids, score);
    await expectClose(output as Tensor, wanted.output, `${extents} ${dtype}`, BOUNDS[dtype]);
    await expectClose(logSumExp as Tensor, wanted.sums, `sums of ${extents} ${dtype}`);
  };
  const near = ([, , , queries, keys]: Extents, before: number): Score => (_b, _h, i, j) => {
    const distance = j - (i + keys - queries);
    return distance >= -before && distance <= 0 ? 0 : -Infinity;
  };
  for (const keys of [1, 63, 64, 65, 127, 128, 129, 600]) {
    await check([1, 2, 2, 1, keys, 64, 64], "float32");
  }
  const wide: Extents = [1, 6, 2, 1, 139, 256, 200];
  await check(wide, "float32", { causal: true, window: [100, 0] }, near(wide, 100));
  const grouped: Extents = [1, 8, 2, 2, 700, 80, 128];
  await check(grouped, "float16", { causal: true }, near(grouped, Infinity));
  // Heads that share their keys see other blocks, and a row of each sees no key.
  const masked: Extents = [1, 2, 1, 2, 200, 64, 64];
  const added = Grid.of(
    [2, 2, 200],
    ([h, i, j]) => i === 1 ? -Infinity : numbers([2, 200], 5).at([h!, j!]),
  );
  const blocks = Grid.of([2, 1, 4], ([h, , j]) => Number(j! % 2 === h));
  await check(
    masked,
    "float32",
    {
      mask: added.tensor("float32", on) as Tensor,
      blockMask: { mask: blocks.tensor("bool", on), blockSize: 64 },
    },
    (_b, h, i, j) => blocks.at([h, 0, Math.floor(j / 64)]) === 1 ? added.at([h, i, j]) : -Infinity,
  );
});

Deno.test("attention() gives each of many heads the keys that it sees, however long", async () => {
  const on = forms.get("threads")!;
  // Tiles of two heads of three alternate. A window reaches only the last keys.
  const [keys, size, seen] = [2 ** 15, 64, 100];
  const q = numbers([1, 3, 70, size], 1).tensor("float32", on);
  const k = numbers([1, 3, seen, size], 2).tensor("float32", on);
  const v = numbers([1, 3, seen, size], 3).tensor("float32", on);
  const padding = zeros([1, 3, keys - seen, size], { device: on });
  const [longK, longV] = [k, v].map((it) => concat([padding, it], { axis: 2 }));
  const options = { causal: true, window: [20, 0] } as const;
  const actual = attention(q, longK!, longV!, options);
  await expectClose(actual as Tensor, await read(attention(q, k, v, options) as Tensor), "heads");
});

Deno.test("attention() hides keys when the scale is negative", async () => {
  const [q, k, v] = operands([1, 1, 1, 9, 20, 16, 8]);
  const causal: Score = (_b, _h, i, j) => j <= i + 11 ? 0 : -Infinity;
  const wanted = reference(q.map((it) => -it), k, v, causal).output;
  for (const dtype of ["float32", "bfloat16"] as const) {
    const tensors = [q, k, v].map((it) => it.tensor(dtype, device));
    const options = { causal: true, scale: -1 / 4 };
    const output = attention(tensors[0]!, tensors[1]!, tensors[2]!, options) as Tensor;
    await expectClose(output, wanted, dtype, BOUNDS[dtype]);
  }
});

Deno.test("attention() gives zeros without keys, and nothing without queries", async () => {
  const [q, k, v] = operands([1, 2, 1, 33, 0, 4, 5]).map((it) => it.tensor("float32", device));
  const { output, logSumExp } = attention(q!, k!, v!, { logSumExp: true });
  await expectClose(output as Tensor, Grid.of([1, 2, 33, 5], () => 0), "output");
  await expectClose(logSumExp as Tensor, Grid.of([1, 2, 33], () => -Infinity), "sums");
  const empty = operands([1, 2, 1, 0, 7, 4, 5]).map((it) => it.tensor("float32", device));
  await expectClose(
    attention(empty[0]!, empty[1]!, empty[2]!) as Tensor,
    new Grid([1, 2, 0, 5], []),
    "no queries",
  );
  assertEquals(explainAttention(empty[0]!, empty[1]!, empty[2]!).launch.grid, 0);
});

Deno.test("attention() names wrong operands and options", () => {
  const [q, k, v] = operands([1, 4, 2, 3, 5, 8, 8]).map((it) => it.tensor("float32", device));
  const flags = tensor([[true]], { device });
  const [half, whole] = (["float16", "int32"] as const).map((it) =>
    zeros(k!.shape, { device, dtype: it })
  );
  const cases: [() => unknown, string][] = [
    [() => attention(q!, k!, v!.slice([{}, { stop: 1 }])), "equally many heads"],
    [() => attention(q!.slice([{}, { stop: 3 }]), k!, v!), "which divide those of q: q has 3"],
    [() => attention(q!, k!.slice([{}, {}, {}, { stop: 4 }]), v!), "one size: they have 8 and 4"],
    [() => attention(q!, k!, v!.slice([{}, {}, { stop: 4 }])), "k and v one length"],
    [() => attention(q!.at(0), k!, v!), "q must have the axes [batch, heads, length, headSize]"],
    [() => attention(q!, half as never, v!), "float32, float16, float32"],
    [() => attention(whole as never, k!, v!), "q must be float32 or float16"],
    [() => attention(q!, k!, v!, { window: [1, -1] }), "options.window must be two integers"],
    [() => attention(q!, k!, v!, { causal: 1 as never }), "options.causal must be true or false"],
    [() => attention(q!, k!, v!, { scale: NaN }), "options.scale must be a finite number"],
    [() => attention(q!, k!, v!, { mask: q as Tensor }), "must broadcast to (1, 4, 3, 5)"],
    [() => attention(q!, k!, v!, { casual: true } as never), "casual"],
    [
      () => attention(q!, k!, v!, { blockMask: { mask: flags, blockSize: 100 } as never }),
      "options.blockMask.blockSize must be a multiple of 64: it is 100",
    ],
  ];
  for (const [call, message] of cases) assertThrows(call, Error, message);
});
