/**
 * Options of `run` and `compile`: extents, macros, counts.
 *
 * @module
 */

import { type Invocation, UsageError } from "./command.ts";

function refuse(name: string, allowed: string, value: string): never {
  throw new UsageError(`Cannot use --${name} as it must be ${allowed}: it is "${value}"`);
}

/** The text of an option; undefined where it is not given. */
export function textOption({ options }: Invocation, name: string): string | undefined {
  const value = options[name];
  return typeof value === "string" ? value : undefined;
}

/** Extents in one to three dimensions: `8`, `8,4`, `8x4x2`. The limits are the device's to check. */
export function extentsOption(invocation: Invocation, name: string): number[] | undefined {
  const text = textOption(invocation, name);
  if (text === undefined) return undefined;
  const parts = text.split(/[,x]/);
  const isRight = parts.length <= 3 && parts.every((part) => /^[1-9]\d{0,9}$/.test(part));
  return isRight ? parts.map(Number) : refuse(name, "one to three positive integers: X,Y,Z", text);
}

/** An integer of at least `minimum`. */
export function integerOption(
  invocation: Invocation,
  name: string,
  minimum: number,
  maximum: number,
): number | undefined {
  const text = textOption(invocation, name);
  if (text === undefined) return undefined;
  const value = /^\d+$/.test(text) ? Number(text) : NaN;
  if (value >= minimum && value <= maximum) return value;
  return refuse(name, `an integer in ${minimum}..${maximum}`, text);
}

/** Macros: `NAME=VALUE`, or `NAME` for 1. */
export function defineOptions({ lists }: Invocation): Record<string, string> {
  const macros = (lists["define"] ?? []).map((text): [string, string] => {
    const [, name, value] = /^([A-Za-z_]\w*)(?:=(.*))?$/s.exec(text) ?? [];
    return name === undefined ? refuse("define", "NAME=VALUE", text) : [name, value ?? "1"];
  });
  const names = macros.map(([name]) => name);
  const twice = names.find((name, index) => names.indexOf(name) !== index);
  if (twice === undefined) return Object.fromEntries(macros);
  throw new UsageError(`Cannot use --define as each macro has one value: ${twice} is given twice`);
}
