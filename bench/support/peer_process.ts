/**
 * Another library in a Python process of its own, which computes on request.
 *
 * @module
 */

import { QUICK } from "./measure.ts";

/**
 * Starts a script of `bench/peers/` that prints a line when it is ready, and one for each line
 * "index calls" of its input, when it has computed the work of that index as often.
 *
 * @returns A function that computes and waits; undefined where Python or the library is
 * absent, and in short runs.
 */
export async function startPeer(
  script: string,
  work: readonly unknown[],
): Promise<((index: number, calls: number) => Promise<void>) | undefined> {
  if (QUICK) return undefined;
  const path = new URL(`../peers/${script}`, import.meta.url).pathname;
  let child: Deno.ChildProcess;
  try {
    child = new Deno.Command("python3", {
      args: [path, JSON.stringify(work)],
      ...{ stdin: "piped", stdout: "piped", stderr: "null" },
    }).spawn();
  } catch (error) {
    if (error instanceof Deno.errors.NotFound) return undefined;
    throw error;
  }
  globalThis.addEventListener("unload", () => child.kill());
  const requests = child.stdin.getWriter();
  const answers = child.stdout.pipeThrough(new TextDecoderStream()).getReader();
  // A line may come in pieces. The library is absent if there is none.
  const hasAnswered = async () => {
    for (;;) {
      const { done, value } = await answers.read();
      if (done) return false;
      if (value.includes("\n")) return true;
    }
  };
  if (!await hasAnswered()) return undefined;
  return async (index, calls) => {
    await requests.write(new TextEncoder().encode(`${index} ${calls}\n`));
    if (!await hasAnswered()) throw new Error(`Cannot measure as ${script} has ended`);
  };
}
