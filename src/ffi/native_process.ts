/**
 * Child processes that end with this one.
 *
 * @module
 */

import { type StartedProgram, startProgram } from "./build/child_process.ts";
import { call, callStatus, check } from "./check.ts";
import type { NativeLibrary } from "./library.ts";

/** `GS_ERROR_UNSUPPORTED`. */
const UNSUPPORTED = -7;
/** `GS_ERROR_NOT_FOUND`: the child has ended already. */
const NOT_FOUND = -9;

/** A running child process. */
export interface TiedProcess extends Pick<StartedProgram, "withheld"> {
  readonly output: Promise<Deno.CommandOutput>;
  /** Kills the process, if it still runs, and all that it has started. Called twice, does nothing. */
  readonly end: () => void;
}

/**
 * Starts a program in a process group of its own. On Linux the group ends when this process ends in
 * any way: by `Deno.exit()`, a signal, or a crash. A signal from the terminal reaches this process
 * alone, which takes the group along. Elsewhere only `end()` kills, and only the child itself.
 */
export function spawnTied(
  library: NativeLibrary,
  program: string,
  options: Deno.CommandOptions,
): TiedProcess {
  const action = `start ${program}`;
  const opened = callStatus(library, "gs_lifeline_open", action);
  const lifeline = opened === 0 ? library.result[0] : undefined;
  if (opened !== UNSUPPORTED) check(library, opened, action);
  let isOver = false;
  let child: Deno.ChildProcess | undefined;
  const end = () => {
    if (isOver) return;
    isOver = true;
    if (lifeline !== undefined) call(library, "gs_lifeline_end", { action }, lifeline);
    if (child !== undefined) kill(child);
  };
  try {
    const started = startProgram(program, { ...options, detached: true });
    child = started.child;
    if (lifeline !== undefined) {
      const tied = callStatus(library, "gs_lifeline_tie", action, lifeline, child.pid);
      if (tied !== NOT_FOUND) check(library, tied, action);
    }
    return { output: child.output(), withheld: started.withheld, end };
  } catch (error) {
    end();
    throw error;
  }
}

function kill(child: Deno.ChildProcess): void {
  try {
    child.kill("SIGKILL");
  } catch (error) {
    // It has ended already.
    if (!(error instanceof TypeError)) throw error;
  }
}
