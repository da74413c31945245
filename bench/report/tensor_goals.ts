/**
 * The goals of tensor operations and their measured values, by the fastest samples: other work on the
 * machine only ever adds to a time.
 *
 * @module
 */

import { type Figure, figureOf, peersOf } from "./figure.ts";
import { type GoalOutcome, leastGoal, timeGoal } from "./goals.ts";
import { runBenchProgram } from "./program.ts";

const AREA = "tensor";
/** The elements of tensors on the host device, as powers of two. */
export const TENSOR_POWERS: readonly number[] = [16, 18, 20, 22, 24];
/** The elements on a GPU, likewise. */
export const TENSOR_POWERS_ON_GPU: readonly number[] = [26, 20];
const GPU_TENSOR_POWER = 26;

/** Elements of the rows of the largest tensors, besides 1,024; of 16-bit types there is one length. */
export const ROW_LENGTHS: readonly number[] = [128, 8192, 10_001, 65_536];
export const ROW_LENGTHS_OF_HALVES: readonly number[] = [8192];
/** The operations on 2^20 elements of 16-bit types. */
export const SMALL_TITLES: readonly string[] = ["add", "exp", "sum"];

/** The title of an operation on rows of other than 1,024 elements. */
export function rowTitle(title: string, columns: number): string {
  return `${title} of ${columns} columns`;
}

/** The group of the benchmarks of a size. */
export function tensorGroup(power: number, dtype = "float32"): string {
  return `tensors of 2^${power} ${dtype}`;
}

/** What a peer may be faster at any size, and on average of all sizes. */
const LEAST = 0.8;
const LEAST_MEAN = 1;
/** How many times as long NumPy must take for five operations. */
const CHAIN = "fused chain";
const LEAST_CHAIN = 3;
/** What an operation may take over its launch. */
const OWN_NANOSECONDS = 5e3;
/** What the first use of an expression may take. */
const COMPILED_NANOSECONDS = 0.3e9;
const CACHED_NANOSECONDS = 10e6;
/** What share of a GPU's copy they must reach. */
const OF_COPY = 0.98;
const TRANSPOSE_OF_COPY = 0.93;

const WORK = ["add", "multiply", "exp", "tanh", "sum", "mean", "transpose"] as const;
/** Work on rows, which has goals of its own on GPUs. */
const ROW_WORK = ["softmax", "layerNorm"] as const;
const LEAST_ON_GPU = 1.05;

/**
 * Compares figures with the goals; empty where nothing of it was measured.
 *
 * @param figures All figures of a run, those of other libraries too.
 */
export function tensorGoals(figures: readonly Figure[]): GoalOutcome[] {
  const measured = figures.filter(({ area }) => area === AREA);
  const find = (group: string, title: string) =>
    measured.find((figure) => figure.group === group && figure.title === title);
  const peers = (ours: Figure) => peersOf(measured, ours);
  const numpy = (ours: Figure) => peers(ours).filter(({ library }) => library?.name === "NumPy");
  return [
    ...[...WORK, ...ROW_WORK].flatMap((title) => peerGoals(title, find, peers)),
    ...ROW_WORK.flatMap((title) =>
      speedups(title, find, peers, [GPU_TENSOR_POWER]).map((it) =>
        leastGoal(`${title} by the fastest peer, 256 MiB`, it.speedup, LEAST_ON_GPU)
      )
    ),
    ...chainGoals(find, numpy),
    ...[...WORK, CHAIN].flatMap((title) => copyGoals(title, find)),
    ...ownTimeGoals(find),
    ...[[COMPILED, COMPILED_NANOSECONDS], [CACHED, CACHED_NANOSECONDS]].flatMap(([title, most]) =>
      measured.filter((figure) => figure.group === FIRST && figure.title === title)
        .map(({ fastest }) => timeGoal(`${FIRST}, ${title}`, fastest, most as number))
    ),
  ];
}

type Find = (group: string, title: string) => Figure | undefined;
type FindPeers = (ours: Figure) => readonly Figure[];

/** Each size with the time of the fastest peer by ours. */
function speedups(title: string, find: Find, peers: FindPeers, powers = TENSOR_POWERS) {
  return powers.flatMap((power) => {
    const ours = find(tensorGroup(power), title);
    if (ours === undefined) return [];
    const theirs = Math.min(...peers(ours).map(({ fastest }) => fastest));
    return theirs === Infinity ? [] : [{ power, speedup: theirs / ours.fastest }];
  });
}

function peerGoals(title: string, find: Find, peers: FindPeers): GoalOutcome[] {
  const all = speedups(title, find, peers);
  if (all.length === 0) return [];
  const worst = all.reduce((least, it) => it.speedup < least.speedup ? it : least);
  const logarithms = all.map(({ speedup }) => Math.log(speedup));
  const mean = Math.exp(logarithms.reduce((sum, it) => sum + it) / all.length);
  return [
    leastGoal(`${title} by the faster peer, worst at 2^${worst.power}`, worst.speedup, LEAST),
    leastGoal(`${title}, mean of all sizes`, mean, LEAST_MEAN),
  ];
}

function chainGoals(find: Find, peers: FindPeers): GoalOutcome[] {
  const all = speedups(CHAIN, find, peers);
  return all.map((it) =>
    leastGoal(`five fused operations by NumPy, 2^${it.power}`, it.speedup, LEAST_CHAIN)
  );
}

/** Where buffers of 256 MiB were measured, which is on GPUs, a copy is the limit. */
function copyGoals(title: string, find: Find): GoalOutcome[] {
  const [ours, copy] = [
    find(tensorGroup(GPU_TENSOR_POWER), title),
    find(tensorGroup(GPU_TENSOR_POWER), "copy"),
  ];
  if (ours === undefined || copy === undefined) return [];
  const share = (ours.bytes! / ours.fastest) / (copy.bytes! / copy.fastest);
  const least = title === "transpose" ? TRANSPOSE_OF_COPY : OF_COPY;
  return [leastGoal(`bandwidth of ${title} by a copy's, 256 MiB`, share, least)];
}

function ownTimeGoals(find: Find): GoalOutcome[] {
  const group = "tensors of 1 000 float32, enqueueing";
  const launch = find(group, "kernel.launch()");
  return ["add", "new add", CHAIN].flatMap((title) => {
    const call = find(group, title);
    if (call === undefined || launch === undefined) return [];
    const own = Math.max(0, call.fastest - launch.fastest);
    return [timeGoal(`own time of ${title}, 1 000 elements`, own, OWN_NANOSECONDS)];
  });
}

const FIRST = "first use of an expression";
const COMPILED = "compiled";
const CACHED = "out of the compile cache";

/** What `first_tensor.ts` prints: nanoseconds of the first expression of a process, and of another. */
interface FirstUses {
  readonly first: number;
  readonly next: number;
}

/**
 * Measures the first use of expressions, compiled and out of the cache.
 *
 * @param processes How many processes of each kind.
 * @param env Their environment variables in addition to those of this process.
 */
export async function measureFirstTensor(
  processes: number,
  env: Readonly<Record<string, string>> = {},
): Promise<Figure[]> {
  const compiled: FirstUses[] = [];
  const cached: FirstUses[] = [];
  for (let i = 0; i < processes; i++) {
    const directory = await Deno.makeTempDir({ prefix: "gridstride-bench-" });
    const own = { env: { ...env, GRIDSTRIDE_CACHE_DIR: directory } };
    try {
      for (const uses of [compiled, cached]) {
        uses.push(await runBenchProgram<FirstUses>("first_tensor", own));
      }
    } finally {
      await Deno.remove(directory, { recursive: true });
    }
  }
  const named = { area: AREA, group: FIRST, bytes: null, baseline: false };
  const first = (uses: readonly FirstUses[]) => uses.map(({ first }) => first);
  const next = cached.map(({ next }) => next);
  return [
    figureOf({ ...named, title: COMPILED, baseline: true }, first(compiled)),
    figureOf({ ...named, title: CACHED }, next),
    figureOf({ ...named, title: `${CACHED}, the first of a process` }, first(cached)),
  ];
}
