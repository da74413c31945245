/**
 * `gridstride validate`: every kernel against a double-precision reference.
 *
 * @module
 */

import { openDevice, validate, type ValidationRow } from "../../mod.ts";
import { type Command, EXIT, printResult, requireNoArguments, showProgress } from "./command.ts";
import { textTable } from "./text_table.ts";

function describe(rows: readonly ValidationRow[]): string {
  const table = textTable(
    ["kernel", "dtype", "size", "max error", "bound", ""],
    rows.map(({ kernel, dtype, size, maxError, bound, passed }) => [
      kernel,
      dtype,
      String(size),
      maxError.toExponential(2),
      bound.toExponential(2),
      passed ? "passed" : "FAILED",
    ]),
    ["left", "left", "right", "right", "right", "left"],
  );
  const failed = rows.filter(({ passed }) => !passed).length;
  return `${table}\n\n${rows.length - failed} passed, ${failed} failed on ${rows[0]?.device}`;
}

/** The command. */
export const VALIDATE: Command = {
  name: "validate",
  summary: "run every kernel against a double-precision reference",
  help: `gridstride validate [--device DEVICE] [--json]

Runs every built-in kernel with every element type on several sizes and compares the results with
a double-precision computation in TypeScript. DEVICE is cuda, cuda:N, host or host:N; the default
is that of GRIDSTRIDE_DEVICE, else the best device.
With --json: an array of { kernel, device, dtype, size, maxError, bound, passed }.
Exit code 1 when a kernel is out of its bound.`,
  async run(invocation) {
    requireNoArguments("validate", invocation);
    using device = openDevice(invocation.device);
    const rows = await validate(device, {
      onProgress: ({ done, total, kernel }) => showProgress(`${done}/${total} ${kernel}`),
    });
    showProgress("");
    printResult(invocation, rows, () => describe(rows));
    return rows.every(({ passed }) => passed) ? EXIT.done : EXIT.failed;
  },
};
