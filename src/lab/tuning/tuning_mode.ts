/**
 * Whether tunings time anything: what the program says.
 *
 * @module
 */

import { requireObject } from "../../ffi/arguments.ts";
import { describeValue } from "../../ffi/describe_value.ts";

/**
 * What tunings do.
 *
 * - `"tune"`: time what is not known yet.
 * - `"stored"`: time nothing; take the best that is known, else the first configuration.
 * - `"off"`: take the first configuration, and read nothing.
 */
export type TuningMode = "tune" | "stored" | "off";

/** Options of {@linkcode configureAutotuning}. */
export interface AutotuningOptions {
  /** What tunings do; `"tune"` by default. */
  readonly mode?: TuningMode;
}

const MODES: readonly unknown[] = ["tune", "stored", "off"] satisfies TuningMode[];
const ACTION = "configure autotuning";

let mode: TuningMode = "tune";

/**
 * Says what tunings do from now on, in this isolate: so that a program runs the same way every time,
 * or starts without a pause. What an option leaves out is as by default again.
 *
 * @throws {TypeError} If there is no such option or mode.
 *
 * @example
 * ```ts
 * import { configureAutotuning } from "@gridstride/cuda";
 *
 * configureAutotuning({ mode: "stored" });
 * ```
 */
export function configureAutotuning(options: AutotuningOptions = {}): void {
  requireObject(options, "options", ACTION);
  const unknown = Object.keys(options).find((name) => name !== "mode");
  if (unknown !== undefined) {
    throw new TypeError(
      `Cannot ${ACTION} as its only option is mode: there is ${describeValue(unknown)}`,
    );
  }
  const { mode: asked = "tune" } = options;
  if (!MODES.includes(asked)) {
    throw new TypeError(
      `Cannot ${ACTION} as options.mode must be "tune", "stored" or "off": it is ${
        describeValue(asked)
      }`,
    );
  }
  mode = asked;
}

/** What tunings do now. */
export function tuningMode(): TuningMode {
  return mode;
}
