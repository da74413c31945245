/**
 * The device of a file of several.
 *
 * @module
 */

import { type Invocation, UsageError } from "./command.ts";

/**
 * The ordinal that `--device` names, in a file that may be of several devices.
 *
 * @param action What the command does, as in "Cannot <action>".
 * @throws {UsageError} If it names none.
 */
export function deviceOrdinal({ device }: Invocation, action: string): number | undefined {
  if (device === undefined) return undefined;
  const match = /^(?:cuda:)?(\d{1,4})$/.exec(device);
  if (match !== null) return Number(match[1]);
  throw new UsageError(`Cannot ${action} as --device must be N or cuda:N: it is "${device}"`);
}
