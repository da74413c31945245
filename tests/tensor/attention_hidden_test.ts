// What a query may not see does not reach its result, and finite masks hide nothing. Kernels are those
// of the other tests of attention, which have been compiled then: they return the logarithms of the sums.

import { assertEquals } from "@std/assert";
import {
  attention,
  type AttentionOptions,
  attentionVariableLength,
  decodeAttention,
  full,
  ones,
  PagedCache,
  type Tensor,
  tensor,
} from "../../src/device/tensor.ts";
import { expectClose, numbers, reference } from "../support/attention_reference.ts";
import { forms, Grid, read } from "../support/tensor_forms.ts";

const BOUNDS = { float32: 4e-6, float16: 1e-3, bfloat16: 8e-3 } as const;
type Narrow = keyof typeof BOUNDS;
type Options = AttentionOptions & { readonly variant?: "mma" };

/**
 * The kernels: of the form itself for float32, and bfloat16 in the block form, whose tile registers
 * have code of their own; on tensor cores for float16.
 */
const kernels = [...forms].flatMap(([form, on]) => [
  {
    name: form,
    on,
    dtypes: form === "block" ? ["float32", "bfloat16"] as const : ["float32"] as const,
    options: {},
  },
  ...(form === "threads"
    ? [{ name: "mma", on, dtypes: ["float16"] as const, options: { variant: "mma" } as const }]
    : []),
]);

const SIZE = 32;
const SPOILS = [NaN, Infinity, -Infinity];

interface HiddenCase {
  readonly what: string;
  readonly queries: number;
  readonly keys: number;
  /** Keys and values that are NaN or infinite. */
  readonly spoilt: readonly number[];
  readonly isSeen: (query: number, key: number) => boolean;
  /** Of queries, keys and values [1, 1, length, SIZE]; the rows of the result are those of queries. */
  readonly attend: (q: Tensor, k: Tensor, v: Tensor) => Tensor;
}

/** Checks the rows that see no spoilt key, and that the others show it. */
async function expectHidden(
  { what, queries, keys, spoilt, isSeen, attend }: HiddenCase,
  dtype: Narrow,
  on: typeof kernels[number]["on"],
) {
  const [q, k, v] = [queries, keys, keys].map((length, at) =>
    numbers([1, 1, length, SIZE], at + 1)
  ) as [Grid, Grid, Grid];
  const spoil = (grid: Grid) =>
    Grid.of(grid.shape, (at) => {
      const place = spoilt.indexOf(at[2]!);
      return place < 0 || at[3]! % 5 === 1 ? grid.at(at) : SPOILS[place % 3]!;
    });
  const wanted = reference(q, k, v, (_b, _h, i, j) => isSeen(i, j) ? 0 : -Infinity).output;
  const [tq, tk, tv] = [q, spoil(k), spoil(v)].map((it) => it.tensor(dtype, on));
  const { values } = await read(attend(tq!, tk!, tv!));
  const shows = Array.from({ length: queries }, (_, i) => spoilt.some((j) => isSeen(i, j)));
  const rowOf = (at: number) => Math.floor(at / SIZE);
  const judged = values.map((it, at) => shows[rowOf(at)] ? 0 : it);
  await expectClose(
    new Grid(wanted.shape, judged).tensor("float32", on) as Tensor,
    Grid.of(wanted.shape, (at) => shows[at[2]!] ? 0 : wanted.at(at)),
    `${what} ${dtype}`,
    BOUNDS[dtype],
  );
  const shown = shows.map((_, i) => values.some((it, at) => rowOf(at) === i && it !== it));
  assertEquals(shown, shows, what);
}

for (const { name, on, dtypes, options } of kernels) {
  /** As the other tests of tensor cores call it. */
  const logSumExp = name !== "mma";

  Deno.test(`attention() gives nothing of hidden keys to a query, NaN and infinities included (${name})`, async () => {
    const [queries, keys] = [70, 150];
    const offset = keys - queries;
    const spoilt = [20, 21, 40].map((it) => it + offset);
    const flags = Grid.of(
      [queries, keys],
      ([i, j]) => i! >= 30 && i! < 40 || spoilt.includes(j!) || i === 3 ? 0 : 1,
    );
    const additive = flags.map((it) => it === 1 ? 0.5 : -Infinity);
    const isFlagged = (i: number, j: number) => flags.at([i, j]) === 1;
    const blockMask = (isVisible: (j: number) => boolean) => ({
      mask: Grid.of([2, 3], ([, j]) => Number(isVisible(j!))).tensor("bool", on),
      blockSize: 64,
    });
    const cases: readonly (readonly [string, Options, HiddenCase["isSeen"]])[] = [
      ["causal", { causal: true }, (i, j) => j <= i + offset],
      ["window", { window: [9, 3] }, (i, j) => Math.abs(j - i - offset + 3) <= 6],
      ["bool", { mask: flags.tensor("bool", on) as Tensor }, isFlagged],
      [
        "added",
        {
          mask: additive.tensor("float32", on) as Tensor,
          blockMask: blockMask((j) => j !== 0),
        },
        (i, j) => j >= 64 && isFlagged(i, j),
      ],
      ["blocks", { blockMask: blockMask((j) => j === 0) }, (_, j) => j < 64],
    ];
    await Promise.all(cases.flatMap(([what, own, isSeen]) => {
      const attend = (q: Tensor, k: Tensor, v: Tensor) =>
        attention(q as never, k as never, v as never, { ...own, ...options, logSumExp: true })
          .output as Tensor;
      const all = what === "blocks" ? dtypes.slice(0, 1) : dtypes;
      return all.map((dtype) =>
        expectHidden({ what, queries, keys, spoilt, isSeen, attend }, dtype, on)
      );
    }));
  });

  Deno.test(`attention() of parts, sequences and pages gives nothing of hidden keys to a query (${name})`, async () => {
    const outputOf = (result: Tensor | { readonly output: Tensor }) =>
      "output" in result ? result.output : result;
    const parts: HiddenCase = {
      what: "parts",
      queries: 3,
      keys: 1100,
      spoilt: [5, 1099, 1098, 300],
      isSeen: (i, j) => j <= i + 1097 && j >= i + 497,
      attend: (q, k, v) => {
        const all = { ...options, logSumExp, window: [600, 0] } as const;
        return outputOf(attention(q as never, k as never, v as never, all as never));
      },
    };
    const [queryEnds, keyEnds] = [[0, 30, 70], [0, 40, 150]] as const;
    const sequences: HiddenCase = {
      what: "sequences",
      queries: 70,
      keys: 150,
      spoilt: [39, 130, 20, 115],
      isSeen: (i, j) => i < 30 ? j <= i + 10 : j >= 40 && j - 40 <= i - 30 + 70,
      attend: (...operands) => {
        const [q, k, v] = operands.map((it) => it.at(0).permute([1, 0, 2]));
        const all = { ...options, causal: true, logSumExp } as const;
        return outputOf(
          attentionVariableLength(
            q as never,
            k as never,
            v as never,
            queryEnds,
            keyEnds,
            all as never,
          ),
        );
      },
    };
    const keys = name === "mma" ? 40 : 520;
    const pages = (dtype: Narrow): HiddenCase => ({
      what: "pages",
      queries: 2,
      keys,
      spoilt: [keys - 20, keys - 1, 3],
      isSeen: (i, j) => j <= i + keys - 2 && j >= i + keys - 11,
      attend: (q, k, v) => {
        using cache = new PagedCache({
          ...{ pages: 110, pageSize: 5, heads: 1, headSize: SIZE, device: on, dtype },
        });
        const sequence = cache.add();
        cache.append([sequence], k as never, v as never);
        const all = { ...options, window: [9, 0], logSumExp } as const;
        return outputOf(decodeAttention(q as never, cache, [sequence], all as never));
      },
    });
    await Promise.all(
      dtypes.flatMap((dtype) =>
        [parts, sequences, pages(dtype)].map((each) => expectHidden(each, dtype, on))
      ),
    );
  });

  Deno.test(`attention() weighs infinite values that a query sees as numbers are (${name})`, async () => {
    const place = { device: on, dtype: dtypes[0] as Narrow };
    const q = ones([1, 1, 17, SIZE], place), k = ones([1, 1, 3, SIZE], place);
    const row = (value: number) => [value, ...Array(SIZE - 1).fill(2)] as number[];
    const v = tensor([[[row(1), row(-Infinity), row(Infinity)]]], place);
    const all = { causal: true, logSumExp: true, ...options } as const;
    const { values } = await read(attention(q, k, v, all).output as Tensor);
    const starts = [13, 14, 15, 16].map((i) => values.slice(i * SIZE, i * SIZE + 2));
    assertEquals(starts, [[0, 0], [1, 2], [-Infinity, 2], [NaN, 2]]);
  });

  Deno.test(`attention() adds finite masks, however large (${name})`, async () => {
    const place = { device: on, dtype: dtypes[0] as Narrow };
    const lowest = -3.4028234663852886e38;
    const row = (value: number) => Array(SIZE).fill(value) as number[];
    // A tile of 64 rows, and a block that all see.
    const blockMask = { mask: tensor([[true]], { device: on }), blockSize: 64 };
    const attend = async (mask: Tensor) => {
      const v = tensor([[[row(1), row(3)]]], place);
      const all = { mask, blockMask, logSumExp: true, ...options } as const;
      const { output, logSumExp } = attention(
        ones([1, 1, 17, SIZE], place),
        ones([1, 1, 2, SIZE], place),
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
