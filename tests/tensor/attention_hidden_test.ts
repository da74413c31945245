// What a query may not see does not reach its result, and finite masks hide nothing.

import { assertEquals } from "@std/assert";
import {
  attention,
  type AttentionOptions,
  full,
  ones,
  type Tensor,
  tensor,
} from "../../src/device/tensor.ts";
import { expectClose, numbers, reference, type Score } from "../support/attention_reference.ts";
import { forms, Grid } from "../support/tensor_forms.ts";

const BOUNDS = { float32: 4e-6, float16: 1e-3, bfloat16: 8e-3 } as const;
type Narrow = keyof typeof BOUNDS;
type Options = AttentionOptions & { readonly variant?: "mma" };

/** The kernels: of the form itself for float32 and bfloat16, and on tensor cores for float16. */
const kernels = [...forms].flatMap(([form, on]) => [
  { name: form, on, dtypes: ["float32", "bfloat16"] as const, options: {} },
  ...(form === "threads"
    ? [{ name: "mma", on, dtypes: ["float16"] as const, options: { variant: "mma" } as const }]
    : []),
]);

const [QUERIES, KEYS, SIZE] = [70, 150, 16];
const OFFSET = KEYS - QUERIES;

for (const { name, on, dtypes, options } of kernels) {
  Deno.test(`attention() gives nothing of hidden keys to a query, NaN and infinities included (${name})`, async () => {
    const [q, k, v] = [[QUERIES, 1], [KEYS, 2], [KEYS, 3]].map(([length, seed]) =>
      numbers([1, 1, length!, SIZE], seed!)
    ) as [Grid, Grid, Grid];
    // Queries from 20 on see these keys in no case, or earlier queries do not.
    const spoilt = [OFFSET + 20, OFFSET + 21, OFFSET + 40];
    const spoil = (grid: Grid) =>
      Grid.of(grid.shape, (at) => {
        const place = spoilt.indexOf(at[2]!);
        return place < 0 || at[3]! % 5 === 1 ? grid.at(at) : [NaN, Infinity, -Infinity][place]!;
      });
    const flags = Grid.of(
      [QUERIES, KEYS],
      ([i, j]) => i! >= 30 && i! < 40 || spoilt.includes(j!) || i === 3 ? 0 : 1,
    );
    const blocks = Grid.of([2, 3], ([, j]) => Number(j === 0));
    const hide = (isSeen: (i: number, j: number) => boolean): Score => (_b, _h, i, j) =>
      isSeen(i, j) ? 0 : -Infinity;
    const additive = flags.map((it) => it === 1 ? 0.5 : -Infinity);
    const cases: readonly (readonly [string, Options, (i: number, j: number) => boolean])[] = [
      ["causal", { causal: true }, (i, j) => j <= i + OFFSET],
      ["window", { window: [9, 3] }, (i, j) => Math.abs(j - i - OFFSET + 3) <= 6],
      ["bool", { mask: flags.tensor("bool", on) as Tensor }, (i, j) => flags.at([i, j]) === 1],
      [
        "added",
        { mask: additive.tensor("float32", on) as Tensor },
        (i, j) => flags.at([i, j]) === 1,
      ],
      [
        "blocks",
        { blockMask: { mask: blocks.tensor("bool", on), blockSize: 64 } },
        (_, j) => j < 64,
      ],
    ];
    await Promise.all(cases.flatMap(([what, own, isSeen]) =>
      dtypes.map(async (dtype: Narrow) => {
        const wanted = reference(q, k, v, hide(isSeen)).output;
        const sees = (i: number) => spoilt.some((j) => isSeen(i, j));
        const [tq, tk, tv] = [q, spoil(k), spoil(v)].map((it) => it.tensor(dtype, on));
        const output = attention(tq!, tk!, tv!, { ...own, ...options }) as Tensor;
        const clean = Grid.of(wanted.shape, (at) => sees(at[2]!) ? 0 : wanted.at(at));
        const values = [await output.toNested()].flat(Infinity as 1) as number[];
        const judged = new Grid(
          wanted.shape,
          values.map((it, at) => sees(Math.floor(at / SIZE)) ? 0 : it),
        );
        await expectClose(
          judged.tensor("float32", on) as Tensor,
          clean,
          `${what} ${dtype}`,
          BOUNDS[dtype],
        );
        // Queries that see the keys show it.
        const shown = values.filter((it, at) => sees(Math.floor(at / SIZE)) && it !== it);
        assertEquals(shown.length > 0, [...Array(QUERIES).keys()].some(sees), what);
      })
    ));
  });

  Deno.test(`attention() weighs infinite values that a query sees as numbers are (${name})`, async () => {
    const dtype = dtypes[0] as Narrow;
    const place = { device: on, dtype };
    const q = ones([1, 1, 3, 8], place), k = ones([1, 1, 3, 8], place);
    const column = (value: number) => Array(8).fill(value) as number[];
    const v = tensor([[[column(1), column(-Infinity), column(Infinity)]]], place);
    using y = attention(q, k, v, { causal: true, ...options }) as Tensor;
    const rows = ((await y.toNested()) as number[][][][])[0]![0]!.map((row) => row[0]);
    assertEquals(rows, [1, -Infinity, NaN]);
  });

  Deno.test(`attention() adds finite masks, however large (${name})`, async () => {
    const dtype = dtypes[0] as Narrow;
    const place = { device: on, dtype };
    const lowest = -3.4028234663852886e38;
    const column = (value: number) => Array(8).fill(value) as number[];
    const attend = async (mask: Tensor) => {
      const v = tensor([[[column(1), column(3)]]], place);
      const all = { mask, logSumExp: true, ...options } as const;
      const { output, logSumExp } = attention(
        ones([1, 1, 1, 8], place),
        ones([1, 1, 2, 8], place),
        v,
        all,
      );
      return [(await output.toArray())[0], (await logSumExp.toArray())[0]];
    };
    const masks = (values: readonly number[]) => tensor([values], { device: on }) as Tensor;
    assertEquals(await attend(full([1, 2], lowest, { device: on }) as Tensor), [2, lowest]);
    assertEquals(await attend(masks([lowest, -3e38])), [3, Math.fround(-3e38)]);
    assertEquals(await attend(masks([-lowest, lowest])), [1, -lowest]);
    assertEquals(await attend(masks([-Infinity, lowest])), [3, lowest]);
    assertEquals(await attend(masks([-Infinity, -Infinity])), [0, -Infinity]);
  });
}
