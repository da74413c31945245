/**
 * The table of the work that matters most on a GPU: ours, the fastest other library, the physical limit
 * and the goal. Times are the fastest samples: other work on the machine only ever adds to a time.
 *
 * @module
 */

import type { Peaks } from "./data_sheets.ts";
import { type Figure, peersOf } from "./figure.ts";
import {
  ROW_LENGTHS,
  ROW_LENGTHS_OF_HALVES,
  rowTitle,
  SMALL_TITLES,
  tensorGroup,
} from "./tensor_goals.ts";

/** A goal: nanoseconds on an H200, or a time by that of the fastest peer, the limit or another title. */
type Goal =
  | { readonly h200: number }
  | { readonly byPeer: number }
  | { readonly byLimit: number }
  | { readonly by: string; readonly times: number };

/** A work of the table. */
interface Work {
  readonly area: string;
  readonly group: string;
  readonly title: string;
  /** The title that a peer stands beside, if not this one. */
  readonly beside?: string;
  readonly goal: Goal;
}

/** A row of the table. */
export interface SpeedRow {
  /** The group and title of the work; on other devices those of the same work in another size. */
  readonly name: string;
  /** Our time in nanoseconds; `null` if it was not measured. */
  readonly ours: number | null;
  /** The fastest other library; `null` if none did it. */
  readonly peer: { readonly name: string; readonly nanoseconds: number } | null;
  /** The nanoseconds below which the data sheet's peaks do not allow it; `null` without them. */
  readonly limit: number | null;
  /** The goal in nanoseconds; `null` if it depends on what was not measured, or is another device's. */
  readonly goal: number | null;
}

const µs = (microseconds: number): Goal => ({ h200: microseconds * 1e3 });
/** A peer's time, with what two runs of the same work differ by. */
const PEER: Goal = { byPeer: 1.02 };

const LARGE_GOALS: Readonly<Record<string, number>> = {
  ...{ add: 190, multiply: 190, exp: 131, tanh: 131, "fused chain": 194 },
  ...{ sum: 67, mean: 67, max: 67, transpose: 142, softmax: 135, layerNorm: 133 },
};

const tensors = (
  group: string,
  goalOf: (title: string) => Goal,
  titles = Object.keys(LARGE_GOALS),
): Work[] => titles.map((title) => ({ area: "tensor", group, title, goal: goalOf(title) }));

/** Reductions and row operations on rows of other lengths. */
const rowsOf = (group: string, lengths: readonly number[]): Work[] =>
  lengths.flatMap((columns) =>
    tensors(
      group,
      () => PEER,
      ["sum along axis 1", "softmax", "layerNorm"].map((title) => rowTitle(title, columns)),
    )
  );

const product = (m: number, edge: number, rest: string, goal: Goal, title = "matmul()"): Work => ({
  ...{
    area: "matmul",
    group: `product of ${m} x ${edge} and ${edge} x ${edge}${rest}`,
    title,
    goal,
  },
});

const attention = (what: string, goal: Goal): Work => ({
  ...{ area: "attention", group: `attention of ${what}`, title: "attention()", goal },
});

const ternary = (m: number, edge: number, goal: Goal): Work => ({
  ...{ area: "ternary", group: `ternary ${m} × ${edge} × ${edge}`, title: "ternaryMatmul", goal },
});

const MODULE_LAUNCH = "launch of a module's kernel with four arguments";
const launch = (group: string, goal: Goal, title = "kernel.launch()"): Work => ({
  ...{ area: "launch", group, title, goal },
});

const builtIn = (title: string, goal: Goal): Work => ({
  ...{ area: "kernel", group: "kernels on buffers of 256 MiB", title: `${title} float32`, goal },
});

const WORK: readonly Work[] = [
  ...tensors(tensorGroup(26), (title) => µs(LARGE_GOALS[title]!)),
  ...tensors(tensorGroup(26), () => PEER, ["sum along axis 0", "add a row"]),
  ...rowsOf(tensorGroup(26), ROW_LENGTHS),
  ...tensors(tensorGroup(20), () => PEER),
  ...["float16", "bfloat16"].flatMap((dtype) => [
    ...tensors(tensorGroup(26, dtype), () => PEER),
    ...rowsOf(tensorGroup(26, dtype), ROW_LENGTHS_OF_HALVES),
    ...tensors(tensorGroup(20, dtype), () => PEER, [...SMALL_TITLES]),
  ]),
  product(1, 4096, " float32", µs(20)),
  product(1, 4096, " transposed float32", µs(20)),
  product(1024, 1024, " float16", µs(11)),
  product(16, 2048, " float32", µs(13)),
  product(8192, 8192, " float16", µs(2400), "own kernel"),
  product(8192, 8192, " int8", µs(1000)),
  attention("8192 queries, heads of 128, bfloat16", { byPeer: 1 / 0.6 }),
  attention("8192 queries, heads of 128, causal, bfloat16", { byPeer: 1 / 0.6 }),
  attention("a query and 65536 keys, heads of 128, bfloat16", { byLimit: 1 / 0.85 }),
  ternary(1, 16384, µs(22)),
  ternary(16, 2560, µs(6)),
  ternary(512, 2560, µs(13)),
  {
    ...{ area: "copy", group: "device to host, 256 MiB", title: "await copyTo() an array" },
    ...{ beside: "copyToSync() an array", goal: µs(22_000) },
  },
  launch(MODULE_LAUNCH, { by: "C loop", times: 1.08 }),
  launch("launch of a module's kernel with a vector", µs(4.9)),
  launch("launch of a module's kernel with a struct", µs(4.9)),
  launch(MODULE_LAUNCH, µs(5), "kernel.launch(), cooperative"),
  builtIn("scale", µs(132)),
  builtIn("moments", µs(68)),
  builtIn("histogram", µs(70)),
];

/** A size in the name of a group: a number, but those of single rows, heads and types are kinds. */
const SIZE = /(?<![\w.]|heads of )(?!1 [x×])\d+(?:\^\d+)?(?: [KMG]iB)?/g;

const isSimilar = (group: string, other: string) =>
  group.replaceAll(SIZE, "") === other.replaceAll(SIZE, "");

/** The nanoseconds that the peaks allow: of bytes and of operations, the longer. */
function limitOf({ bytes, operations, arithmetic, clock }: Figure, peaks: Peaks | null) {
  // Memory of the host has no data sheet.
  if (peaks === null || clock !== "device") return null;
  const rate = arithmetic === undefined ? null : peaks.operations[arithmetic];
  const times = [
    ...(bytes === null || peaks.bandwidth === null ? [] : [bytes / peaks.bandwidth]),
    ...(operations === undefined || rate === null ? [] : [operations / rate]),
  ];
  return times.length === 0 ? null : Math.max(...times) * 1e9;
}

/** The table: a row for each work, also for what was not measured. Work in one size has one row. */
export function speedTable(
  figures: readonly Figure[],
  deviceName: string,
  peaks: Peaks | null,
): SpeedRow[] {
  const own = figures.filter(({ library }) => library === undefined);
  const rows = WORK.map(({ area, group, title, beside = title, goal }): SpeedRow => {
    const candidates = own.filter((figure) => figure.area === area && figure.title === title);
    const exact = candidates.find((figure) => figure.group === group);
    const figure = exact ?? candidates.find((figure) => isSimilar(figure.group, group));
    if (figure === undefined) {
      return { name: `${group}: ${title}`, ours: null, peer: null, limit: null, goal: null };
    }
    const [fastest] = peersOf(figures, { ...figure, title: beside })
      .toSorted((a, b) => a.fastest - b.fastest);
    const peer = fastest === undefined
      ? null
      : { name: fastest.title, nanoseconds: fastest.fastest };
    const limit = limitOf(figure, peaks);
    const timeOf = (): number | null => {
      if (exact === undefined) return null;
      if ("h200" in goal) return isH200(deviceName) ? goal.h200 : null;
      if ("byPeer" in goal) return peer === null ? null : peer.nanoseconds * goal.byPeer;
      if ("byLimit" in goal) return limit === null ? null : limit * goal.byLimit;
      const other = own.find((it) => it.group === figure.group && it.title === goal.by);
      return other === undefined ? null : other.fastest * goal.times;
    };
    const name = `${figure.group}: ${title}`;
    return { name, ours: figure.fastest, peer, limit, goal: timeOf() };
  });
  return rows.filter(({ name }, at) => rows.findIndex((row) => row.name === name) === at);
}

const isH200 = (name: string) => /\bH200\b/.test(name);
