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

const MODES: readonly unknown[] = ["tune", "stored", "off"] satisfies TuningMode[];
const ACTION = "configure tuning";

let mode: TuningMode = "tune";

/**
 * Sets the mode of tunings in this isolate. A program that times nothing runs the same way every
 * time and starts without a pause.
 *
 * @param options `mode` is `"tune"` by default.
 * @throws {TypeError} If there is no such option or mode.
 *
 * @example
 * ```ts
 * import { configureTuning } from "@gridstride/cuda/tuning";
 *
 * configureTuning({ mode: "stored" });
 * ```
 */
export function configureTuning(options: { readonly mode?: TuningMode } = {}): void {
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
