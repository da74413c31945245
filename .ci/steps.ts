/**
 * Running the steps of a check one after the other, each announced, stopping at the first failure.
 *
 * @module
 */

/** The root of the repository. */
export const ROOT: URL = new URL("../", import.meta.url);

/** How a step's program is run. */
export interface StepOptions {
  /** Environment variables in addition to those of this process. */
  readonly env?: Readonly<Record<string, string>>;
  /** Milliseconds after which the program, and all that it has started, is ended. */
  readonly limit?: number;
  /** Return standard output: shown on standard error meanwhile, or only if the step fails. */
  readonly capture?: "shown" | "hidden";
}

/** Thrown when a step fails. */
export class StepError extends Error {
  /** The class's name, for what prints errors. */
  override name = "StepError";
  /** The standard output of the program, when captured. */
  readonly output: string;

  /** Makes the error; `message` is complete. */
  constructor(message: string, output: string) {
    super(message);
    this.output = output;
  }
}

/**
 * Announces a step, runs its program in the repository and shows its output.
 *
 * @returns The standard output of the program, when captured.
 * @throws {StepError} If the program exits with anything but 0, or takes too long.
 */
export async function step(
  title: string,
  command: readonly string[],
  options: StepOptions = {},
): Promise<string> {
  console.error(`\n== ${title}: ${command.join(" ")}`);
  const start = performance.now();
  const [program, ...args] = command;
  const { env, limit, capture } = options;
  const child = new Deno.Command(program === "deno" ? Deno.execPath() : program!, {
    args,
    cwd: ROOT,
    stdin: "null",
    stdout: capture === undefined ? "inherit" : "piped",
    stderr: "inherit",
    // Leads a process group, which ends as a whole.
    detached: limit !== undefined,
    ...(env === undefined ? {} : { env }),
  }).spawn();
  const deadline = limit === undefined ? undefined : new Deadline(child.pid, limit);
  try {
    const output = capture === undefined ? "" : await read(child.stdout, capture === "shown");
    const { success, code } = await child.status;
    if (!success && capture === "hidden") console.error(output);
    const seconds = ((performance.now() - start) / 1000).toFixed(1);
    if (deadline?.passed === true) {
      throw new StepError(`${title} ran out of time after ${seconds} s`, output);
    }
    if (!success) {
      throw new StepError(`${title} failed with exit status ${code} after ${seconds} s`, output);
    }
    console.error(`== ${title}: ok, ${seconds} s`);
    return output;
  } finally {
    deadline?.clear();
  }
}

/** Ends a group of processes when its time is over, or when this process ends. */
class Deadline {
  /** Whether the time is over. */
  passed = false;
  readonly #group: number;
  readonly #timer: ReturnType<typeof setTimeout>;
  readonly #interrupt = () => {
    this.#end();
    Deno.exit(130);
  };

  constructor(leader: number, limit: number) {
    this.#group = -leader;
    this.#timer = setTimeout(() => {
      this.passed = true;
      this.#end();
    }, limit);
    Deno.addSignalListener("SIGINT", this.#interrupt);
    Deno.addSignalListener("SIGTERM", this.#interrupt);
  }

  #end(): void {
    try {
      Deno.kill(this.#group, "SIGKILL");
    } catch (error) {
      // It has just ended.
      if (!(error instanceof Deno.errors.NotFound)) throw error;
    }
  }

  clear(): void {
    clearTimeout(this.#timer);
    Deno.removeSignalListener("SIGINT", this.#interrupt);
    Deno.removeSignalListener("SIGTERM", this.#interrupt);
  }
}

async function read(
  stream: ReadableStream<Uint8Array<ArrayBuffer>>,
  show: boolean,
): Promise<string> {
  let text = "";
  for await (const chunk of stream.pipeThrough(new TextDecoderStream())) {
    text += chunk;
    if (show) await Deno.stderr.write(new TextEncoder().encode(chunk));
  }
  return text;
}
