/**
 * The trace that `run` writes.
 *
 * @module
 */

import type { Device } from "../../mod.ts";
import { DeviceTrace, saveTrace } from "../lab/trace/mod.ts";
import type { Invocation } from "./command.ts";
import { FileProblem, isAboutFile } from "./file_problem.ts";
import { textOption } from "./run_options.ts";

/** A trace under way, and where it goes. */
export class RunTrace implements Disposable {
  readonly #path: string;
  readonly #trace: DeviceTrace;

  /** Begins one if the invocation asks for it. */
  static of(invocation: Invocation, device: Device): RunTrace | undefined {
    const path = textOption(invocation, "trace");
    return path === undefined ? undefined : new RunTrace(path, new DeviceTrace(device));
  }

  private constructor(path: string, trace: DeviceTrace) {
    this.#path = path;
    this.#trace = trace;
  }

  /** Ends the trace and writes it. */
  async write(): Promise<void> {
    const recording = await this.#trace.stop();
    try {
      await saveTrace(this.#path, [recording]);
    } catch (error) {
      if (!isAboutFile(error)) throw error;
      throw new FileProblem(error.message);
    }
  }

  /** Ends the trace. */
  [Symbol.dispose](): void {
    this.#trace[Symbol.dispose]();
  }
}
