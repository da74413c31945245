/**
 * The cost of the first launches of a process, each sample from a process of its own.
 *
 * @module
 */

import { type Figure, figureOf } from "./figure.ts";

const PROGRAM = new URL("../programs/first_launches.ts", import.meta.url);

/** What the program prints, in nanoseconds. */
interface FirstLaunches {
  readonly first: number;
  readonly following: number;
}

async function sample(
  args: readonly string[],
  env: Readonly<Record<string, string>>,
): Promise<FirstLaunches> {
  const { success, stdout, stderr } = await new Deno.Command(Deno.execPath(), {
    args: ["run", "-A", "--quiet", "--no-check", PROGRAM.href, ...args],
    env,
    stdin: "null",
  }).output();
  const decoder = new TextDecoder();
  if (!success) throw new Error(`Cannot measure first launches: ${decoder.decode(stderr)}`);
  return JSON.parse(decoder.decode(stdout));
}

/**
 * Measures them.
 *
 * @param processes How many processes of each kind.
 * @param env Their environment variables in addition to those of this process.
 */
export async function measureFirstLaunches(
  processes: number,
  env: Readonly<Record<string, string>> = {},
): Promise<Figure[]> {
  const fromC: FirstLaunches[] = [];
  const fromJavaScript: FirstLaunches[] = [];
  for (let i = 0; i < processes; i++) {
    fromC.push(await sample(["C"], env));
    fromJavaScript.push(await sample([], env));
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
