/**
 * Looking at the machine: running a command, reading a file. Never prompts, never hangs, and tells
 * "not there" from "not allowed to look".
 *
 * @module
 */

/** What running a command came to. */
export type CommandOutcome =
  | {
    readonly kind: "exited";
    readonly code: number;
    readonly stdout: string;
    readonly stderr: string;
  }
  | { readonly kind: "timeout"; readonly milliseconds: number }
  | { readonly kind: "absent" }
  | { readonly kind: "denied" }
  | { readonly kind: "failed"; readonly message: string };

/** What looking at a path came to. `text` is empty for a directory. */
export type PathOutcome =
  | { readonly kind: "present"; readonly text: string }
  | { readonly kind: "absent" }
  | { readonly kind: "denied" }
  | { readonly kind: "failed"; readonly message: string };

/** How a command is run. */
export interface CommandOptions {
  /** Time after which the command is killed; {@linkcode PROBE_MILLISECONDS} by default. */
  readonly milliseconds?: number;
}

/** Looks at the machine; tests put scripted answers here. */
export interface ProbeRunner {
  /** Runs a command without a shell and without input. */
  run(command: string, args: readonly string[], options?: CommandOptions): Promise<CommandOutcome>;
  /** Reads a small text file, or finds out whether a directory is there. */
  path(path: string): Promise<PathOutcome>;
}

/** How long a probe may take: `nvidia-smi` needs over a second where no daemon keeps the GPU up. */
export const PROBE_MILLISECONDS = 10_000;

/** What is kept of each output stream in bytes; the rest is read and dropped. */
export const PROBE_OUTPUT_BYTES: number = 1 << 20;

/** Reads a stream to its end, so that the writer never blocks, and keeps the first part of it. */
async function drain(reader: ReadableStreamDefaultReader<Uint8Array>): Promise<string> {
  const decoder = new TextDecoder();
  let text = "";
  let room = PROBE_OUTPUT_BYTES;
  for (;;) {
    const { done, value } = await reader.read();
    if (done) return text + decoder.decode();
    if (room > 0) text += decoder.decode(value.subarray(0, room), { stream: true });
    room -= value.length;
  }
}

/** A promise that settles after a time, and what takes the timer back. */
function timer(milliseconds: number): { expired: Promise<"timeout">; clear: () => void } {
  const { promise, resolve } = Promise.withResolvers<"timeout">();
  const id = setTimeout(() => resolve("timeout"), milliseconds);
  return { expired: promise, clear: () => clearTimeout(id) };
}

function kill(child: Deno.ChildProcess): void {
  try {
    child.kill("SIGKILL");
  } catch (error) {
    // It may have exited between the time limit and the signal.
    if (!(error instanceof TypeError) && !(error instanceof Deno.errors.NotFound)) throw error;
  }
}

/**
 * Waits for a child with a time limit. At the limit the pipes are let go as well: a grandchild may
 * hold them open for ever.
 */
async function waitForExit(
  child: Deno.ChildProcess,
  milliseconds: number,
): Promise<CommandOutcome> {
  const readers = [child.stdout.getReader(), child.stderr.getReader()] as const;
  const output = Promise.all([child.status, drain(readers[0]), drain(readers[1])]);
  const limit = timer(milliseconds);
  try {
    const result = await Promise.race([output, limit.expired]);
    if (result !== "timeout") {
      const [status, stdout, stderr] = result;
      return { kind: "exited", code: status.code, stdout, stderr };
    }
    kill(child);
    await Promise.all(readers.map((reader) => reader.cancel()));
    await output;
    return { kind: "timeout", milliseconds };
  } finally {
    limit.clear();
  }
}

function failure(error: unknown): { kind: "failed"; message: string } {
  return { kind: "failed", message: error instanceof Error ? error.message : String(error) };
}

async function runCommand(
  command: string,
  args: readonly string[],
  { milliseconds = PROBE_MILLISECONDS }: CommandOptions = {},
): Promise<CommandOutcome> {
  const permission = await Deno.permissions.query({ name: "run", command });
  if (permission.state !== "granted") return { kind: "denied" };
  let child: Deno.ChildProcess;
  try {
    child = new Deno.Command(command, {
      args: [...args],
      stdin: "null",
      stdout: "piped",
      stderr: "piped",
    }).spawn();
  } catch (error) {
    if (error instanceof Deno.errors.NotFound) return { kind: "absent" };
    if (error instanceof Deno.errors.NotCapable) return { kind: "denied" };
    return failure(error);
  }
  return await waitForExit(child, milliseconds);
}

async function lookAt(path: string): Promise<PathOutcome> {
  const permission = await Deno.permissions.query({ name: "read", path });
  if (permission.state !== "granted") return { kind: "denied" };
  try {
    const { isDirectory } = await Deno.stat(path);
    return { kind: "present", text: isDirectory ? "" : await Deno.readTextFile(path) };
  } catch (error) {
    if (error instanceof Deno.errors.NotFound) return { kind: "absent" };
    if (error instanceof Deno.errors.NotCapable) return { kind: "denied" };
    return failure(error);
  }
}

/** Looks at the real machine. */
export const MACHINE: ProbeRunner = { run: runCommand, path: lookAt };
