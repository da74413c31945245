/**
 * Programs that end with all that they have started: when they end, at a limit, and with this process.
 *
 * @module
 */

import { endGroup } from "../../bench/report/line_process.ts";
import { ROOT } from "../steps.ts";

/** The outcome of a program. */
export interface ProgramResult {
  /** Whether it ended by itself, with exit status 0. */
  readonly outcome: "passed" | "failed" | "hung";
  /** Its exit status; 128 + n where signal n ended it. */
  readonly code: number;
  /** Its output, standard error included, in order of arrival. */
  readonly output: string;
}

const running = new Set<number>();

/** Ends all programs that run; for a process that is itself ended. */
export function endPrograms(): void {
  for (const leader of running) endGroup(leader);
}

/**
 * Runs a program in the repository.
 *
 * @param env Environment variables in addition to those of this process.
 * @param limit Milliseconds after which the program, and all that it has started, is ended.
 */
export async function runLimited(
  [program, ...args]: readonly string[],
  env: Readonly<Record<string, string>>,
  limit: number,
): Promise<ProgramResult> {
  const child = new Deno.Command(program!, {
    ...{ args, env, stdin: "null", stdout: "piped", stderr: "piped" },
    cwd: ROOT,
    // Leads a process group.
    detached: true,
  }).spawn();
  running.add(child.pid);
  let hung = false;
  const timer = setTimeout(() => {
    hung = true;
    endGroup(child.pid);
  }, Math.max(1, limit));
  let output = "";
  const read = async (stream: ReadableStream<Uint8Array<ArrayBuffer>>) => {
    for await (const text of stream.pipeThrough(new TextDecoderStream())) output += text;
  };
  try {
    const [{ code }] = await Promise.all([
      // A program that it has left behind would hold the pipes open.
      child.status.finally(() => endGroup(child.pid)),
      read(child.stdout),
      read(child.stderr),
    ]);
    return { outcome: hung ? "hung" : code === 0 ? "passed" : "failed", code, output };
  } finally {
    clearTimeout(timer);
    running.delete(child.pid);
  }
}

/** Does something for each item, so many at a time, in order. */
export async function forEachOf<Item>(
  items: readonly Item[],
  atOnce: number,
  body: (item: Item) => Promise<void>,
): Promise<void> {
  const left = items[Symbol.iterator]();
  const work = async () => {
    for (const item of left) await body(item);
  };
  await Promise.all(Array.from({ length: Math.min(atOnce, items.length) }, work));
}
