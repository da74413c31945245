import { assert, assertEquals } from "@std/assert";
import type { Peaks } from "../../bench/report/data_sheets.ts";
import { type Figure, figureOf } from "../../bench/report/figure.ts";
import { type SpeedRow, speedTable } from "../../bench/report/speed_table.ts";

const PEAKS: Peaks = {
  ...{ source: "data sheet", bandwidth: 4e12 },
  operations: {
    ...{ float64: 1e12, float32: 1e12, tfloat32: null, float16: 1e15, bfloat16: 1e15 },
    ...{ float8: null, int8: 2e15 },
  },
};

const NAMED = { baseline: false, bytes: null };
const LIBRARY = { name: "PyTorch", version: "2" };

function figure(
  area: string,
  group: string,
  title: string,
  microseconds: number,
  more: Partial<Figure> = {},
): Figure {
  const { library, beside, clock = "device", ...work } = more;
  const options = { clock, ...(library && { library }), ...(beside && { beside }) };
  return figureOf({ ...NAMED, area, group, title, ...work }, [microseconds * 1000], options);
}

function rowOf(rows: readonly SpeedRow[], name: string): SpeedRow {
  const found = rows.filter((row) => row.name === name);
  assertEquals(found.length, 1, name);
  return found[0]!;
}

const GROUP = "tensors of 2^26 float32";
const beside = (title: string) => ({ library: LIBRARY, beside: title });

Deno.test("speedTable() has ours, the fastest peer, the limit and the goal of each work", () => {
  const attention = "attention of 8192 queries, heads of 128, bfloat16";
  const copies = "device to host, 256 MiB";
  const launches = "launch of a module's kernel with four arguments";
  const rows = speedTable(
    [
      figure("tensor", GROUP, "add", 189, { bytes: 400e6 }),
      figure("tensor", GROUP, "PyTorch", 188, beside("add")),
      figure("tensor", GROUP, "NumPy", 9000, beside("add")),
      figure("tensor", GROUP, "exp", 180, { bytes: 400 }),
      figure("attention", attention, "attention()", 20, {
        operations: 1e10,
        arithmetic: "bfloat16",
      }),
      figure("attention", attention, "PyTorch", 15, beside("attention()")),
      figure("copy", copies, "await copyTo() an array", 21e3, { clock: "total", bytes: 2 ** 28 }),
      figure("copy", copies, "PyTorch", 22e3, beside("copyToSync() an array")),
      figure("launch", launches, "C loop", 3, { clock: "host" }),
      figure("launch", launches, "kernel.launch()", 3.1, { clock: "host" }),
    ],
    "NVIDIA H200",
    PEAKS,
  );
  const row = (name: string) => {
    const { ours, peer, limit, goal } = rowOf(rows, name);
    return [ours, peer?.nanoseconds ?? null, limit, goal].map((it) => it && Math.round(it));
  };
  assertEquals(row(`${GROUP}: add`), [189_000, 188_000, 100_000, 190_000]);
  assertEquals(row(`${GROUP}: exp`), [180_000, null, 0, 131_000]);
  assertEquals(row(`${attention}: attention()`), [20_000, 15_000, 10_000, 25_000]);
  assertEquals(row(`${copies}: await copyTo() an array`), [21e6, 22e6, null, 22e6]);
  assertEquals(row(`${launches}: kernel.launch()`), [3100, null, null, 3240]);
  assertEquals(row("ternary 512 × 2560 × 2560: ternaryMatmul"), [null, null, null, null]);
});

Deno.test("speedTable() has rows of several lengths, and 16-bit types of two sizes", () => {
  const [large, small] = ["tensors of 2^26 bfloat16", "tensors of 2^20 float16"];
  const softmax = "softmax of 8192 columns";
  const figures = [
    figure("tensor", large, softmax, 70),
    figure("tensor", large, "PyTorch", 100, beside(softmax)),
    figure("tensor", small, "exp", 4),
  ];
  const rows = speedTable(figures, "NVIDIA H200", PEAKS);
  const { ours, goal } = rowOf(rows, `${large}: ${softmax}`);
  assertEquals([ours, goal], [70_000, 102_000]);
  assertEquals(rowOf(rows, `${small}: exp`).ours, 4000);
  for (const columns of [128, 8192, 10_001, 65_536]) {
    for (const title of ["sum along axis 1", "softmax", "layerNorm"]) {
      rowOf(rows, `${GROUP}: ${title} of ${columns} columns`);
    }
  }
});

Deno.test("speedTable() takes the same work in another size, without the goal of a GPU", () => {
  const figures = [
    figure("tensor", "tensors of 2^16 float32", "add", 50, { bytes: 4 }),
    figure("matmul", "product of 32 x 32 and 32 x 32 float32", "matmul()", 9),
    figure("matmul", "product of 1 x 32 and 32 x 32 float32", "matmul()", 5),
    figure("kernel", "kernels on buffers of 64 KiB", "scale float32", 7),
  ];
  const rows = speedTable(figures, "Host device", null);
  const measured = rows.filter(({ ours }) => ours !== null);
  assertEquals(measured.map(({ name, ours }) => [name, ours]), [
    ["tensors of 2^16 float32: add", 50_000],
    ["product of 1 x 32 and 32 x 32 float32: matmul()", 5000],
    ["product of 32 x 32 and 32 x 32 float32: matmul()", 9000],
    ["kernels on buffers of 64 KiB: scale float32", 7000],
  ]);
  assert(measured.every(({ goal, limit }) => goal === null && limit === null));
  // A goal in microseconds is one GPU's.
  const other = speedTable([figure("tensor", GROUP, "add", 50)], "NVIDIA L4", PEAKS);
  assertEquals(rowOf(other, `${GROUP}: add`).goal, null);
});
