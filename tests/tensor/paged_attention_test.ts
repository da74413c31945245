// Attention of sequences of several lengths, of cached keys, and rotary embedding.

import { assertEquals, assertThrows } from "@std/assert";
import {
  attentionVariableLength,
  decodeAttention,
  PagedCache,
  rotaryEmbedding,
  type Tensor,
  tensor,
  zeros,
} from "../../src/device/tensor.ts";
import { device } from "../support/device.ts";
import { expectClose, numbers, reference } from "../support/attention_reference.ts";
import { forms, Grid } from "../support/tensor_forms.ts";

/** Rows of a packed grid [length, heads, size] as [1, heads, rows, size]. */
const rowsOf = (packed: Grid, begin: number, end: number) =>
  Grid.of(
    [1, packed.shape[1]!, end - begin, packed.shape[2]!],
    ([, h, i, c]) => packed.at([begin + i!, h!, c!]),
  );

/** The element types of a form: the block form has kernels of its own for bfloat16. */
const bounds = (form: string) =>
  [["float32", 4e-6], ["bfloat16", 8e-3]].slice(0, form === "block" ? 2 : 1) as [
    "float32" | "bfloat16",
    number,
  ][];

for (const [form, on] of forms) {
  Deno.test(`attentionVariableLength() keeps sequences apart (${form})`, async () => {
    const [queryEnds, keyEnds] = [[0, 5, 5, 75, 76], [0, 9, 20, 90, 90]];
    const [q, k, v] = [
      numbers([76, 4, 24], 1),
      numbers([90, 2, 24], 2),
      numbers([90, 2, 10], 3),
    ] as const;
    const parts = queryEnds.slice(1).map((end, at) => {
      const rows = [queryEnds[at]!, end] as const;
      const [from, to] = [keyEnds[at]!, keyEnds[at + 1]!];
      const hidden = (to - from) - (end - queryEnds[at]!);
      return reference(
        rowsOf(q, ...rows),
        rowsOf(k, from, to),
        rowsOf(v, from, to),
        (_b, _h, i, j) => j <= i + hidden ? 0 : -Infinity,
      );
    });
    const place = (i: number) => {
      const part = queryEnds.findLastIndex((end) => end <= i);
      return [parts[part]!, i - queryEnds[part]!] as const;
    };
    const outputs = Grid.of([76, 4, 10], ([i, h, c]) => {
      const [part, row] = place(i!);
      return part.output.at([0, h!, row, c!]);
    });
    const sums = Grid.of([76, 4], ([i, h]) => {
      const [part, row] = place(i!);
      return part.sums.at([0, h!, row]);
    });
    for (const [dtype, bound] of bounds(form)) {
      const [tq, tk, tv] = [q, k, v].map((it, at) => [...it.views(dtype, on)][at + 1]!);
      const options = { causal: true, logSumExp: true } as const;
      const result = attentionVariableLength(tq!, tk!, tv!, queryEnds, keyEnds, options);
      await expectClose(result.output as Tensor, outputs, `output ${dtype}`, bound);
      await expectClose(result.logSumExp as Tensor, sums, `sums ${dtype}`);
    }
  });

  const decodes = async (dtype: "float32" | "bfloat16", bound?: number) => {
    using cache = new PagedCache({
      ...{ pages: 110, pageSize: 12, heads: 2, headSize: 16, valueSize: 24, device: on, dtype },
    });
    const other = cache.add();
    const [first, second] = [cache.add(), cache.add()];
    const grids = { k: numbers([2, 2, 620, 16], 2), v: numbers([2, 2, 620, 24], 3) };
    const append = (sequences: number[], begin: number, end: number) => {
      const batch = { start: sequences[0]! - 1, stop: sequences.at(-1)! };
      const [k, v] = Object.values(grids).map((it) =>
        // Views with gaps or backwards, and as they lie.
        [...it.views(dtype, on)][begin % 4]!.slice([batch, {}, { start: begin, stop: end }])
      );
      cache.append(sequences, k!, v!);
    };
    append([first], 0, 7);
    append([second], 0, 7);
    cache.append(
      [other],
      zeros([1, 2, 30, 16], { device: on, dtype }),
      zeros([1, 2, 30, 24], { device: on, dtype }),
    );
    append([first, second], 7, 601);
    cache.remove(other);
    append([second], 601, 620);
    assertEquals([cache.lengthOf(first), cache.lengthOf(second), cache.freePages], [601, 620, 7]);
    const q = numbers([2, 4, 2, 16], 1);
    // The other sequence is shorter, and its queries are beside its own last keys.
    const wanted = reference(
      q,
      grids.k,
      grids.v,
      (b, _h, i, j) => j <= i + [599, 618][b]! ? 0 : -Infinity,
    );
    const { output, logSumExp } = decodeAttention(
      [...q.views(dtype, on)][3]!,
      cache,
      [first, second],
      { logSumExp: true },
    );
    await expectClose(output as Tensor, wanted.output, `output ${dtype}`, bound);
    await expectClose(logSumExp as Tensor, wanted.sums, `sums ${dtype}`);
  };

  Deno.test(`decodeAttention() sees the keys that were appended (${form})`, async () => {
    for (const [dtype, bound] of bounds(form)) await decodes(dtype, bound);
  });

  Deno.test(`rotaryEmbedding() rotates halves and neighbours (${form})`, async () => {
    const row = new Grid([1, 4], [1, 2, 3, 4]);
    // Of the definition, in double precision, with base 500000.
    const halves = new Grid([1, 4], [-1.413353, 1.983011, -2.828857, 4.008449]);
    const neighbours = new Grid([1, 4], [-1.272233, -1.838865, 2.983002, 4.012692]);
    const x = row.tensor("float32", on);
    const base = 500_000;
    const grid = numbers([2, 3, 5, 6], 4);
    const places = Grid.of([2, 5], ([b, l]) => 100_000 * b! + 7 * l!);
    const wanted = Grid.of(grid.shape, ([b, h, l, c]) => {
      const pair = c! % 3;
      const angle = places.at([b!, l!]) * base ** (-2 * pair / 6);
      const [low, high] = [pair, pair + 3].map((at) => grid.at([b!, h!, l!, at]));
      return c! < 3
        ? low! * Math.cos(angle) - high! * Math.sin(angle)
        : high! * Math.cos(angle) + low! * Math.sin(angle);
    });
    const positions = [...places.views("int32", on)];
    // The rows of a batch at once have the positions of one.
    const [last] = positions.map((it) => it.at(1)).slice(2);
    await Promise.all([
      expectClose(rotaryEmbedding(x, { positions: 3, base }) as Tensor, halves, "halves", 1e-6),
      expectClose(
        rotaryEmbedding(x, { positions: 3, interleaved: true, base }) as Tensor,
        neighbours,
        "neighbours",
        1e-6,
      ),
      ...[...grid.views("float32", on)].map((view, at) =>
        expectClose(
          rotaryEmbedding(view, { positions: positions[3 - at]!, base }) as Tensor,
          wanted,
          `view ${at}`,
        )
      ),
      expectClose(
        rotaryEmbedding(grid.tensor("float32", on).at(1), { positions: last!, base }) as Tensor,
        Grid.of([3, 5, 6], (at) => wanted.at([1, ...at])),
        "positions of one axis",
      ),
    ]);
  });
}

Deno.test("PagedCache.append() adds nothing when it refuses", () => {
  using cache = new PagedCache({ pages: 2, pageSize: 4, heads: 1, headSize: 2, device });
  const [a, b] = [cache.add(), cache.add()];
  const rows = (count: number, tokens: number) => zeros([count, 1, tokens, 2], { device });
  const [few, many] = [rows(1, 3), rows(2, 5)];
  const cases: [() => unknown, string][] = [
    [() => cache.append([a, b], many, many), "it needs 4 of 2"],
    [() => cache.append([a], few, rows(1, 2)), "v must have the shape (1, 1, 3, 2)"],
    [() => cache.append([a, a], many, many), "different numbers"],
    [() => cache.append([7], few, few), "numbers that add() returned: one is 7"],
    [() => cache.lengthOf(9), "numbers that add() returned: one is 9"],
    [() => decodeAttention(few, cache, []), "as many as the batches of q: they are 0 and 1"],
    [() => decodeAttention(few, {} as never, [a]), "cache must be a PagedCache"],
    [() => new PagedCache({ pages: 0, heads: 1, headSize: 2 }), "options.pages"],
    [() => new PagedCache({ pages: 1, heads: 1, headSize: 300 }), "options.headSize"],
    [
      () => attentionVariableLength(few.at(0), few.at(0), few.at(0), [0, 2], [0, 1]),
      "queryEnds must be ascending integers from 0 to 1",
    ],
    [() => rotaryEmbedding(zeros([2, 3], { device })), "an even size"],
    [() => rotaryEmbedding(few, { base: -1 }), "options.base must be a positive number"],
    [
      () => rotaryEmbedding(few, { positions: tensor([1, 2], { device, dtype: "int32" }) }),
      "options.positions must have the shape (3,): it has (2,)",
    ],
  ];
  for (const [call, message] of cases) assertThrows(call, Error, message);
  assertEquals([cache.lengthOf(a), cache.freePages], [0, 2]);
});
