/**
 * Probes of the machine, commands and files, and the evidence that they give. A probe never prompts,
 * never hangs, and distinguishes a missing file from a missing permission.
 *
 * @module
 */

import { startProgram } from "../ffi/build/child_process.ts";

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

/** The outcome of reading a path. `text` is empty for a directory. */
export type PathOutcome =
  | { readonly kind: "present"; readonly text: string }
  | { readonly kind: "absent" }
  | { readonly kind: "denied" }
  | { readonly kind: "failed"; readonly message: string };

/** Probes the machine; tests use scripted outcomes. */
export interface ProbeRunner {
  /** Runs a command without a shell and without input; kills it at the time limit. */
  run(
    command: string,
    args: readonly string[],
    options?: { readonly milliseconds?: number },
  ): Promise<CommandOutcome>;
  /** Reads a small text file, or checks for a directory. */
  path(path: string): Promise<PathOutcome>;
}

/** The default time limit: `nvidia-smi` takes over a second if no daemon keeps the GPU up. */
const PROBE_MILLISECONDS = 10_000;

/** The most bytes kept of each output stream; the rest is read and dropped. */
export const PROBE_OUTPUT_BYTES: number = 1 << 20;

/** Reads a stream to its end, because a full pipe blocks its writer, and keeps the first part. */
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

/** A promise that settles after a time, and a function that cancels it. */
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
 * Waits for a child with a time limit. At the limit the pipes are closed as well: a grandchild may
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
  { milliseconds = PROBE_MILLISECONDS }: { readonly milliseconds?: number } = {},
): Promise<CommandOutcome> {
  const permission = await Deno.permissions.query({ name: "run", command });
  if (permission.state !== "granted") return { kind: "denied" };
  let child: Deno.ChildProcess;
  try {
    ({ child } = startProgram(command, {
      args: [...args],
      stdin: "null",
      stdout: "piped",
      stderr: "piped",
    }));
  } catch (error) {
    if (error instanceof Deno.errors.NotFound) return { kind: "absent" };
    if (error instanceof Deno.errors.NotCapable) return { kind: "denied" };
    return failure(error);
  }
  return await waitForExit(child, milliseconds);
}

async function readPath(path: string): Promise<PathOutcome> {
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

/** Probes the real machine. */
export const MACHINE: ProbeRunner = { run: runCommand, path: readPath };

/**
 * The report on one backend.
 * @category Detection and diagnosis
 */
export interface BackendReport {
  /** The backend. */
  readonly backend: "cuda" | "rocm" | "metal" | "webgpu";
  /** Whether a GPU can be used through it. */
  readonly available: boolean;
  /** Whether `GRIDSTRIDE_FAKE` replaces detection. */
  readonly fake: boolean;
  /** Its version: for CUDA that of the driver. Absent if unknown. */
  readonly version?: string;
  /** For CUDA, the version of the toolkit, which may differ from the driver's. */
  readonly toolkitVersion?: string;
  /** The GPUs that were found, by name. */
  readonly devices: readonly string[];
  /** The probes and their outcomes. */
  readonly evidence: readonly {
    /** The command, path or interface, such as `"nvcc --version"`. */
    readonly probe: string;
    /** `denied` is a missing permission, `failed` an error or a time limit. */
    readonly outcome: "found" | "not-found" | "denied" | "failed" | "skipped";
    /** The output, or the reason for none. */
    readonly detail: string;
  }[];
}

export type Evidence = BackendReport["evidence"][number];

/** The outcome of a probe that lists GPUs. */
export interface Finding {
  readonly evidence: Evidence;
  readonly devices: readonly string[];
}

/** The first line of an output that is not blank, shortened to fit a report. */
function firstLine(text: string): string {
  const line = text.split("\n").map((line) => line.trim()).find((line) => line !== "") ?? "";
  return line.length > 200 ? `${line.slice(0, 197)}...` : line;
}

/**
 * The output of a command that succeeded, else the evidence of its failure.
 *
 * @param probe The command line, as the evidence names it.
 */
export function commandOutput(
  probe: string,
  result: CommandOutcome,
): { readonly output: string } | { readonly evidence: Evidence } {
  const evidence = (outcome: Evidence["outcome"], detail: string) => ({
    evidence: { probe, outcome, detail },
  });
  switch (result.kind) {
    case "exited": {
      if (result.code === 0) return { output: result.stdout };
      const said = firstLine(result.stderr) || firstLine(result.stdout) || "said nothing";
      return evidence("failed", `exited with ${result.code}: ${said}`);
    }
    case "timeout":
      return evidence("failed", `gave no answer within ${result.milliseconds} ms and was killed`);
    case "absent":
      return evidence("not-found", "the command is not installed or not in PATH");
    case "denied":
      return evidence("denied", `needs --allow-run=${probe.split(" ")[0]}`);
    case "failed":
      return evidence("failed", result.message);
  }
}

export function pathEvidence(path: string, result: PathOutcome): Evidence {
  switch (result.kind) {
    case "present":
      return { probe: path, outcome: "found", detail: firstLine(result.text) || "is there" };
    case "absent":
      return { probe: path, outcome: "not-found", detail: "is not there" };
    case "denied":
      return { probe: path, outcome: "denied", detail: `needs --allow-read=${path}` };
    case "failed":
      return { probe: path, outcome: "failed", detail: result.message };
  }
}

/** The finding of a probe that lists GPUs by name. */
export function listing(
  probe: string,
  devices: readonly string[],
  detail: string = devices.join(", "),
): Finding {
  return devices.length === 0
    ? { evidence: { probe, outcome: "not-found", detail: "lists no GPU" }, devices }
    : { evidence: { probe, outcome: "found", detail }, devices };
}
