/**
 * The work of the benchmarks in other libraries, each in a process of its own: `bench/peers/serve.py`.
 *
 * @module
 */

import type { Clock, PeerWork } from "../support/measure.ts";
import { randomValues } from "../support/random_values.ts";
import type { AreaBench, Library, Sample } from "./figure.ts";
import { LineProcess } from "./line_process.ts";

/** The libraries: the one that takes a second for each work, which it compiles, is the last. */
export const PEER_NAMES = [
  "PyTorch",
  "NumPy",
  "CuPy",
  "Triton",
  "numba",
  "cuda.core",
  "RMM",
  "compiled PyTorch",
] as const;

/** Milliseconds that a library may take to load, and for one work, which it may compile first. */
const LOADING_LIMIT = 60_000;
const WORK_LIMIT = 60_000;

/** An answer of `serve.py`. */
interface Answer {
  readonly version?: string;
  readonly skipped?: string;
  readonly clock?: Clock;
  readonly samples?: readonly Sample[];
  readonly host?: readonly number[];
}

/** A library's process. */
class PeerProcess implements AsyncDisposable {
  readonly name: string;
  readonly #process: LineProcess;
  /** The library, or the reason for its absence. */
  readonly loaded: Promise<Library | string>;

  constructor(command: readonly string[], name: string, env: Readonly<Record<string, string>>) {
    this.name = name;
    this.#process = new LineProcess(command, env);
    this.loaded = this.#next(LOADING_LIMIT).then(
      ({ version, skipped }) => version === undefined ? skipped! : { name, version },
      (error: Error) => `${name}: ${error.message}`,
    );
  }

  async #next(limit: number): Promise<Answer> {
    return JSON.parse(await this.#process.next(limit));
  }

  /** Does some work. */
  async answer(work: PeerWork, limit: number): Promise<Answer> {
    await this.#process.send(JSON.stringify(work));
    return await this.#next(Math.min(limit, WORK_LIMIT));
  }

  /** Ends it at once. */
  kill(): void {
    this.#process.kill();
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.#process[Symbol.asyncDispose]();
  }
}

/** Results of other libraries. */
export interface PeerPass {
  /** The same work as some benchmarks. */
  readonly benches: AreaBench[];
  /** Work that a library could not do, each with the reason. */
  readonly skipped: string[];
}

/** The processes of the libraries. They load at once and work on request, one at a time. */
export class Peers implements AsyncDisposable {
  readonly #processes: PeerProcess[];
  readonly #loaded: readonly Promise<Library | string>[];
  readonly #values = Deno.makeTempFileSync({ prefix: "gridstride-values-" });

  /**
   * Starts them.
   *
   * @param python The interpreter.
   * @param isShort Whether each work is only to show that it runs.
   * @param env Environment variables in addition to those of this process.
   */
  constructor(
    python: string,
    isShort: boolean,
    env: Readonly<Record<string, string>> = {},
    names: readonly string[] = PEER_NAMES,
  ) {
    Deno.writeFileSync(this.#values, new Uint8Array(randomValues(isShort).buffer));
    const script = new URL("../peers/serve.py", import.meta.url).pathname;
    this.#processes = names.map((name) => {
      const args = [name, isShort ? "quick" : "full", this.#values];
      return new PeerProcess([python, "-B", script, ...args], name, env);
    });
    this.#loaded = this.#processes.map(({ loaded }) => loaded);
  }

  /** The libraries that were there at the start, and the reasons for the absence of the others. */
  async load(): Promise<{ readonly libraries: Library[]; readonly skipped: string[] }> {
    const loaded = await Promise.all(this.#loaded);
    return {
      libraries: loaded.filter((library) => typeof library !== "string"),
      skipped: loaded.filter((library) => typeof library === "string"),
    };
  }

  /**
   * Does the work of benchmarks, in their order, one library after the other. Each may take half of the
   * time that is left, and the last one all. A library that ends, or takes too long, does no more work.
   *
   * @param limit Milliseconds it may take.
   * @param onEnd Called with each work when it ends.
   */
  async run(
    benches: readonly AreaBench[],
    limit: number,
    onEnd: (bench: AreaBench) => void = () => {},
  ): Promise<PeerPass> {
    const pass: PeerPass = { benches: [], skipped: [] };
    const end = performance.now() + limit;
    const loaded: [PeerProcess, Library][] = [];
    for (const process of [...this.#processes]) {
      const library = await process.loaded;
      if (typeof library === "string") await this.#end(process);
      else loaded.push([process, library]);
    }
    for (const [index, [process, library]] of loaded.entries()) {
      const rest = end - performance.now();
      const ownEnd = index === loaded.length - 1 ? end : end - rest / 2;
      for (const { peer, ...bench } of benches) {
        if (peer === undefined) continue;
        const left = ownEnd - performance.now();
        if (left <= 0) {
          pass.skipped.push(`${library.name}: no time is left for ${bench.group}`);
          break;
        }
        try {
          const times = bench.samples.map(({ nanoseconds }) => nanoseconds);
          const ours = Math.min(Number.MAX_VALUE, ...times);
          const work = { ...peer, clock: bench.clock, calls: bench.calls, ours };
          const { skipped, samples, host, clock } = await process.answer(work, left);
          if (skipped !== undefined) {
            pass.skipped.push(`${bench.group}: ${bench.title}: ${skipped}`);
          }
          if (samples === undefined) continue;
          const done: AreaBench = {
            ...{
              ...bench,
              ...peer.different,
              title: library.name,
              baseline: false,
              clock: clock!,
              samples,
              host: host!,
            },
            ...{ library, beside: bench.title },
          };
          pass.benches.push(done);
          onEnd(done);
        } catch (error) {
          if (!(error instanceof Error)) throw error;
          pass.skipped.push(`${library.name}: ${bench.group}: ${bench.title}: ${error.message}`);
          process.kill();
          await this.#end(process);
          break;
        }
      }
    }
    return pass;
  }

  async #end(process: PeerProcess): Promise<void> {
    await process[Symbol.asyncDispose]();
    this.#processes.splice(this.#processes.indexOf(process), 1);
  }

  /** Ends them. */
  async [Symbol.asyncDispose](): Promise<void> {
    await Promise.all(this.#processes.map((process) => process[Symbol.asyncDispose]()));
    Deno.removeSync(this.#values);
  }
}
