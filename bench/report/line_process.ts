/**
 * A process that is sent lines and answers with lines, and the processes that it starts.
 *
 * @module
 */

import { TextLineStream } from "deno-std/streams/text_line_stream.js";

/** Milliseconds that a process may take to clean up when its input ends. */
const GRACE = 3000;

/** The last characters of a process's errors that its failure quotes. */
const QUOTED = 600;

/** Ends a process and all that it has started; `child` must lead a process group. */
export function endGroup(leader: number): void {
  try {
    Deno.kill(-leader, "SIGKILL");
  } catch (error) {
    // All of them have ended.
    if (!(error instanceof Deno.errors.NotFound)) throw error;
  }
}

/**
 * The outcome of a promise.
 *
 * @param limit Milliseconds to wait for it.
 * @throws {Error} If the time has passed.
 */
export async function inTime<T>(promise: Promise<T>, limit: number): Promise<T> {
  let timer: ReturnType<typeof setTimeout> | undefined;
  const late = new Promise<never>((_, reject) => {
    const end = () => reject(new Error("it ran out of time"));
    timer = setTimeout(end, Math.max(1, limit));
  });
  try {
    return await Promise.race([promise, late]);
  } finally {
    clearTimeout(timer);
  }
}

/** The process. It ends when it is disposed, and with this process. */
export class LineProcess implements AsyncDisposable {
  readonly #child: Deno.ChildProcess;
  readonly #lines: AsyncIterator<string>;
  readonly #input: WritableStreamDefaultWriter<Uint8Array>;
  #errors = "";
  readonly #errorsRead: Promise<void>;
  #isDisposed = false;
  readonly #end = () => endGroup(this.#child.pid);

  /**
   * Starts it.
   *
   * @throws {Deno.errors.NotFound} If there is no such program.
   */
  constructor([program, ...args]: readonly string[], env: Readonly<Record<string, string>> = {}) {
    this.#child = new Deno.Command(program!, {
      ...{ args, env, stdin: "piped", stdout: "piped", stderr: "piped" },
      cwd: new URL("../../", import.meta.url),
      detached: true,
    }).spawn();
    const text = this.#child.stdout.pipeThrough(new TextDecoderStream());
    this.#lines = text.pipeThrough(new TextLineStream())[Symbol.asyncIterator]();
    this.#input = this.#child.stdin.getWriter();
    this.#errorsRead = this.#readErrors();
    globalThis.addEventListener("unload", this.#end);
  }

  async #readErrors(): Promise<void> {
    for await (const text of this.#child.stderr.pipeThrough(new TextDecoderStream())) {
      this.#errors = (this.#errors + text).slice(-QUOTED);
    }
  }

  /** Sends a line. */
  async send(line: string): Promise<void> {
    await this.#input.write(new TextEncoder().encode(`${line}\n`));
  }

  /**
   * The next line.
   *
   * @param limit Milliseconds to wait for it.
   * @throws {Error} If the process has ended, or the time has passed.
   */
  async next(limit: number): Promise<string> {
    const result = await inTime(this.#lines.next(), limit);
    if (!result.done) return result.value;
    await this.#errorsRead;
    throw new Error(`it has ended: ${this.#errors.trim()}`);
  }

  /** Ends it at once, and all that it has started. */
  kill(): void {
    this.#end();
  }

  /** Ends its input, and the process itself if that does not end it. */
  async [Symbol.asyncDispose](): Promise<void> {
    if (this.#isDisposed) return;
    this.#isDisposed = true;
    globalThis.removeEventListener("unload", this.#end);
    // The pipe breaks when the process ends before its input.
    const closed = this.#input.close().catch(() => {});
    const timer = setTimeout(this.#end, GRACE);
    await this.#child.status;
    clearTimeout(timer);
    this.#end();
    await Promise.all([closed, this.#errorsRead, this.#lines.return?.()]);
  }
}
