/**
 * Checks the values of options and arguments.
 *
 * @module
 */

import { parseByteSize } from "../lab/memory/mod.ts";
import { type Invocation, UsageError } from "./command.ts";

export function refuseOption(name: string, allowed: string, value: string): never {
  throw new UsageError(`Cannot use --${name} as it must be ${allowed}: it is "${value}"`);
}

export function requireNotBoth(command: string, first: string, second: string): never {
  const both = `both --${first} and --${second}`;
  throw new UsageError(`Cannot run gridstride ${command} with ${both}: choose one`);
}

export function textOption({ options }: Invocation, name: string): string | undefined {
  const value = options[name];
  return value === true ? undefined : value;
}

/** A number in a range, as a pattern allows it to be written. */
function numericOption(
  [invocation, name, minimum, maximum]: NumericOption,
  pattern: RegExp,
  kind: string,
): number | undefined {
  const text = textOption(invocation, name);
  if (text === undefined) return undefined;
  const value = pattern.test(text) ? Number(text) : NaN;
  if (value >= minimum && value <= maximum) return value;
  return refuseOption(name, `${kind} in ${minimum}..${maximum}`, text);
}

type NumericOption = [invocation: Invocation, name: string, minimum: number, maximum: number];

export function integerOption(...option: NumericOption): number | undefined {
  return numericOption(option, /^\d+$/, "an integer");
}

export function numberOption(...option: NumericOption): number | undefined {
  return numericOption(option, /^\d*\.?\d+(?:e-?\d+)?$/i, "a number");
}

/** A size in bytes: `0`, `4096`, `16KiB`. */
export function sizeOption(
  invocation: Invocation,
  name: string,
  maximum: number,
): number | undefined {
  const text = textOption(invocation, name);
  if (text === undefined) return undefined;
  if (/^0(?:[KMGT]i?)?B?$/.test(text)) return 0;
  try {
    const bytes = parseByteSize(text);
    if (bytes <= maximum) return bytes;
  } catch (error) {
    if (!(error instanceof RangeError)) throw error;
  }
  return refuseOption(name, `a size of at most ${maximum} bytes, such as 4096 or 16KiB`, text);
}

/** One to three extents: `8`, `8,4`, `8x4x2`. The device checks their limits. */
export function extentsOption(invocation: Invocation, name: string): number[] | undefined {
  const text = textOption(invocation, name);
  if (text === undefined) return undefined;
  const parts = text.split(/[,x]/);
  const isRight = parts.length <= 3 && parts.every((part) => /^[1-9]\d{0,9}$/.test(part));
  if (isRight) return parts.map(Number);
  return refuseOption(name, "one to three positive integers, such as 16,16", text);
}

/** Macros: `NAME=VALUE`, or `NAME` for 1. */
export function defineOptions({ lists }: Invocation): Record<string, string> {
  const macros: Record<string, string> = {};
  for (const text of lists["define"] ?? []) {
    const [, name, value = "1"] = /^([A-Za-z_]\w*)(?:=(.*))?$/s.exec(text) ?? [];
    if (name === undefined) return refuseOption("define", "NAME=VALUE", text);
    if (Object.hasOwn(macros, name)) {
      throw new UsageError(`Cannot use --define as the macro ${name} is defined twice`);
    }
    macros[name] = value;
  }
  return macros;
}

/** The option of commands that launch kernels. */
export const TIMEOUT_OPTION = {
  "--timeout <MS>": "milliseconds that a kernel of a host device may run; 10 minutes by default",
} as const;

export function timeoutOption(invocation: Invocation): { kernelTimeout?: number } {
  const kernelTimeout = integerOption(invocation, "timeout", 1, 2 ** 31 - 1);
  return kernelTimeout === undefined ? {} : { kernelTimeout };
}
