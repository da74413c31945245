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
  /** Ends the program. */
  readonly signal?: AbortSignal;
  /** Return standard output: shown on standard error meanwhile, or only if the step fails. */
  readonly capture?: "shown" | "hidden";
}

/** Thrown when a step fails. */
export class StepError extends Error {
  override name = "StepError";
}

/**
 * Announces a step, runs its program in the repository and shows what it prints.
 *
 * @returns What the program printed on standard output, when captured.
 * @throws {StepError} If the program exits with anything but 0.
 */
export async function step(
  title: string,
  command: readonly string[],
  options: StepOptions = {},
): Promise<string> {
  console.error(`\n== ${title}: ${command.join(" ")}`);
  const start = performance.now();
  const [program, ...args] = command;
  const { env, signal, capture } = options;
  const child = new Deno.Command(program === "deno" ? Deno.execPath() : program!, {
    args,
    cwd: ROOT,
    stdin: "null",
    stdout: capture === undefined ? "inherit" : "piped",
    stderr: "inherit",
    ...(env === undefined ? {} : { env }),
    ...(signal === undefined ? {} : { signal }),
  }).spawn();
  const output = capture === undefined ? "" : await read(child.stdout, capture === "shown");
  const { success, code } = await child.status;
  if (!success && capture === "hidden") console.error(output);
  const seconds = ((performance.now() - start) / 1000).toFixed(1);
  if (signal?.aborted === true) throw new StepError(`${title} ran out of time after ${seconds} s`);
  if (!success) throw new StepError(`${title} failed with exit status ${code} after ${seconds} s`);
  console.error(`== ${title}: ok, ${seconds} s`);
  return output;
}

async function read(stream: ReadableStream<Uint8Array>, show: boolean): Promise<string> {
  let text = "";
  for await (const chunk of stream.pipeThrough(new TextDecoderStream())) {
    text += chunk;
    if (show) await Deno.stderr.write(new TextEncoder().encode(chunk));
  }
  return text;
}
