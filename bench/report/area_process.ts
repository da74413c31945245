/**
 * Runs the benchmarks of an area in a process of its own, on request and in either order.
 *
 * @module
 */

import { inTime, LineProcess } from "./line_process.ts";
import type { AreaBench } from "./figure.ts";

/** How an area is run. */
export interface AreaOptions {
  /** Environment variables in addition to those of this process. */
  readonly env?: Readonly<Record<string, string>>;
  /** A regular expression of the wanted groups and titles. */
  readonly filter?: string;
}

/** Milliseconds that loading the benchmarks, and compiling their kernels, may take. */
const LOADING_LIMIT = 600_000;

/** A line of `bench/support/run_area.ts`. */
type AreaLine =
  | { readonly figure: AreaBench }
  | { readonly failed: string }
  | { readonly end: true }
  | { readonly ready: true };

/** What a pass of an area found. */
export interface AreaPass {
  /** The benchmarks that came to their end. */
  readonly benches: AreaBench[];
  /** The others, each with its reason. */
  readonly failures: string[];
}

/** The process of an area. It loads the benchmarks at once and times them on request. */
export class AreaProcess implements AsyncDisposable {
  readonly #process: LineProcess;
  readonly #name: string;
  #ready: Promise<unknown> | undefined;
  #hasRun = false;

  /** Starts it. */
  constructor(area: string, { env = {}, filter = "" }: AreaOptions = {}) {
    this.#name = area;
    const program = new URL("../support/run_area.ts", import.meta.url).pathname;
    const args = ["run", "-A", "--no-check", program, area, filter];
    this.#process = new LineProcess([Deno.execPath(), ...args], env);
  }

  #load(): Promise<unknown> {
    return this.#ready ??= this.#process.next(LOADING_LIMIT);
  }

  /**
   * Compiles the kernels of the benchmarks, unless a run does it. A failure is that of the next run.
   */
  async prepare(): Promise<void> {
    if (this.#hasRun) return;
    const loaded = this.#load();
    this.#ready = (async () => {
      await loaded;
      await this.#process.send("prepare");
      await this.#process.next(LOADING_LIMIT);
    })();
    await this.#ready.catch(() => {});
  }

  /**
   * Runs the benchmarks once. A process that ends, or does not end in time, is a failure: the
   * benchmarks before it count.
   *
   * @param limit Milliseconds it may take.
   * @param onEnd Called with each benchmark when it ends.
   */
  async run(
    order: "forward" | "reverse",
    limit: number,
    onEnd: (bench: AreaBench) => void = () => {},
  ): Promise<AreaPass> {
    this.#hasRun = true;
    const pass: AreaPass = { benches: [], failures: [] };
    const end = performance.now() + limit;
    const next = async () => {
      const line = await this.#process.next(end - performance.now());
      return JSON.parse(line) as AreaLine;
    };
    try {
      await inTime(this.#load(), limit);
      await this.#process.send(order);
      for (let line = await next(); !("end" in line); line = await next()) {
        if ("figure" in line) {
          pass.benches.push(line.figure);
          onEnd(line.figure);
        }
        if ("failed" in line) pass.failures.push(line.failed);
      }
    } catch (error) {
      if (!(error instanceof Error)) throw error;
      pass.failures.push(`${this.#name}: ${error.message}`);
      // A process that is late may never end by itself.
      this.#process.kill();
      await this[Symbol.asyncDispose]();
    }
    return pass;
  }

  /** Ends the process. */
  async [Symbol.asyncDispose](): Promise<void> {
    await this.#process[Symbol.asyncDispose]();
  }
}
