/**
 * The goals of matrix products, ternary products and attention, by the fastest samples: other work on
 * the machine only ever adds to a time.
 *
 * @module
 */

import { type Figure, groupFigures } from "./figure.ts";
import { type GoalOutcome, speedGoal } from "./goals.ts";

interface ProductGoal {
  readonly area: "attention" | "matmul" | "ternary";
  readonly group: RegExp;
  /** The measured work of a group. */
  readonly ours: RegExp;
  /** The work or limit it is compared with. */
  readonly theirs: RegExp;
  /** The compared rate. */
  readonly by: "bytes" | "operations";
  /** The least part of the other's rate. */
  readonly least: number;
}

const MATMUL = { area: "matmul", ours: /^matmul/, theirs: /^PyTorch/ } as const;
const TERNARY = { area: "ternary", ours: /^ternaryMatmul/, theirs: /^PyTorch/ } as const;
const ATTENTION = { area: "attention", ours: /^attention\(\)$/, theirs: /^PyTorch/ } as const;
const PROMPT = /queries/;
const QUERY = /of a query/;

const HOST_GOALS: readonly ProductGoal[] = [
  {
    ...{ ...MATMUL, group: /^product of (512|1024|2048) x .*float32$/, theirs: /^NumPy/ },
    ...{ by: "operations", least: 0.7 },
  },
  { ...MATMUL, group: /int8$/, theirs: /in registers/, by: "operations", least: 0.6 },
  { ...TERNARY, group: /^ternary (?!1 )/, theirs: /in registers/, by: "operations", least: 0.6 },
  { ...TERNARY, group: /^ternary 1 /, theirs: /^read/, by: "bytes", least: 0.7 },
  { ...ATTENTION, group: PROMPT, by: "operations", least: 0.8 },
  { ...ATTENTION, group: QUERY, by: "bytes", least: 0.8 },
];

const GPU_GOALS: readonly ProductGoal[] = [
  // A time of at most 1.05.
  { ...MATMUL, group: /^product of (?!1 ).*float(16|32)$/, by: "operations", least: 1 / 1.05 },
  { ...MATMUL, group: /^product of 1 /, by: "operations", least: 1.05 },
  {
    ...{ ...MATMUL, ours: /^own kernel/, theirs: /^matmul/ },
    ...{ group: /^product of 4096 x .*float16$/, by: "operations", least: 0.65 },
  },
  { ...TERNARY, group: /^ternary 1 /, by: "operations", least: 6 },
  { ...TERNARY, group: /^ternary 1 /, theirs: /^copy/, by: "bytes", least: 0.65 },
  { ...TERNARY, group: /^ternary 16 /, by: "operations", least: 4 },
  { ...TERNARY, group: /^ternary 512 /, by: "operations", least: 1.4 },
  { ...ATTENTION, group: PROMPT, by: "operations", least: 1 },
  { ...ATTENTION, group: QUERY, theirs: /^copy/, by: "bytes", least: 0.88 },
  {
    ...{ ...ATTENTION, ours: /a block of/, theirs: ATTENTION.ours },
    ...{ group: PROMPT, by: "operations", least: 0.9 },
  },
];

/**
 * Compares figures with the goals; empty where nothing of it was measured.
 *
 * @param figures All figures of a run.
 * @param kind The device's kind, which decides the goals.
 */
export function productGoals(
  figures: readonly Figure[],
  kind: "cuda" | "host",
): GoalOutcome[] {
  const goals = kind === "host" ? HOST_GOALS : GPU_GOALS;
  return goals.flatMap(({ area, group, ours, theirs, by, least }) =>
    groupFigures(figures.filter((it) => it.area === area && group.test(it.group))).flatMap(
      (own) => {
        const [mine, other] = [ours, theirs].map((title) => own.find((it) => title.test(it.title)));
        if (mine === undefined || other === undefined) return [];
        const time = (figure: Figure) => figure.fastest / figure[by]!;
        const name = `${mine.group}: ${mine.title} by ${other.title}`;
        return [speedGoal(name, time(other), time(mine), least)];
      },
    )
  );
}
