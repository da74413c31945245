/**
 * The cost of the first calls of a process, each sample from a process of its own.
 *
 * @module
 */

import { type Figure, figureOf } from "./figure.ts";

const LAUNCHES = new URL("../programs/first_launches.ts", import.meta.url);
const ALLOCATIONS = new URL("../programs/first_allocations.ts", import.meta.url);

/** What the programs print, in nanoseconds. */
interface FirstCalls {
  readonly first: number;
  readonly following: number;
}

async function sample(
  program: URL,
  args: readonly string[],
  env: Readonly<Record<string, string>>,
): Promise<FirstCalls> {
  const { success, stdout, stderr } = await new Deno.Command(Deno.execPath(), {
    args: ["run", "-A", "--quiet", "--no-check", program.href, ...args],
    env,
    stdin: "null",
  }).output();
  const decoder = new TextDecoder();
  if (!success) throw new Error(`Cannot measure ${program.pathname}: ${decoder.decode(stderr)}`);
  return JSON.parse(decoder.decode(stdout));
}

/**
 * Measures the first allocations.
 *
 * @param processes How many processes.
 * @param env Their environment variables in addition to those of this process.
 */
export async function measureFirstAllocations(
  processes: number,
  env: Readonly<Record<string, string>> = {},
): Promise<Figure[]> {
  const samples: FirstCalls[] = [];
  for (let i = 0; i < processes; i++) samples.push(await sample(ALLOCATIONS, [], env));
  const named = { area: "pool", title: "allocate() and free()", baseline: false, bytes: null };
  return [
    figureOf(
      { ...named, group: "first thousand pairs of a process" },
      samples.map(({ following }) => following),
    ),
    figureOf(
      { ...named, group: "first pair of a process, with the pool's first growth" },
      samples.map(({ first }) => first),
    ),
  ];
}

/**
 * Measures the first launches.
 *
 * @param processes How many processes of each kind.
 * @param env Their environment variables in addition to those of this process.
 */
export async function measureFirstLaunches(
  processes: number,
  env: Readonly<Record<string, string>> = {},
): Promise<Figure[]> {
  const fromC: FirstCalls[] = [];
  const fromJavaScript: FirstCalls[] = [];
  for (let i = 0; i < processes; i++) {
    fromC.push(await sample(LAUNCHES, ["C"], env));
    fromJavaScript.push(await sample(LAUNCHES, [], env));
  }
  const following = { area: "launch", group: "first thousand launches of a process", bytes: null };
  return [
    figureOf(
      { ...following, title: "C loop", baseline: true },
      fromC.map((times) => times.following),
    ),
    figureOf(
      { ...following, title: "kernel.launch()", baseline: false },
      fromJavaScript.map((times) => times.following),
    ),
    figureOf(
      {
        ...following,
        group: "first launch of a process",
        title: "kernel.launch()",
        baseline: false,
      },
      [...fromC, ...fromJavaScript].map((times) => times.first),
    ),
  ];
}
