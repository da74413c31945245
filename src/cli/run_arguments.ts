/**
 * The arguments of `gridstride run`: numbers, files to read, arrays to write.
 *
 * @module
 */

import { type DType, DTYPES } from "../../mod.ts";
import { UsageError } from "./command.ts";

/** An argument that is passed by value. */
export interface ValueArgument {
  /** Tells it from arrays. */
  readonly kind: "value";
  /** A number, a truth value, the numbers of a vector, or the fields of a struct. */
  readonly value: RunValue;
}

/** An array that the kernel reads. */
export interface InputArgument {
  /** Tells it from others. */
  readonly kind: "in";
  /** The file that it comes from. */
  readonly input: string;
}

/** An array that the kernel writes, zeroed before. */
export interface OutputArgument {
  /** Tells it from others. */
  readonly kind: "out";
  /** Its element type. */
  readonly dtype: DType;
  /** Its extents; of a single element none. */
  readonly shape: readonly number[];
  /** The file that it goes to. */
  readonly output: string;
}

/** An array that the kernel reads and writes. */
export interface UpdateArgument {
  /** Tells it from others. */
  readonly kind: "inout";
  /** The file that it comes from. */
  readonly input: string;
  /** The file that it goes to. */
  readonly output: string;
}

/** An argument. */
export type RunArgument = ValueArgument | InputArgument | OutputArgument | UpdateArgument;

/** What can be passed by value. */
export type RunValue =
  | number
  | bigint
  | boolean
  | readonly (number | bigint)[]
  | Readonly<Record<string, unknown>>;

/** NumPy's own limit. */
const MOST_DIMENSIONS = 64;

const WORDS: ReadonlyMap<string, number | boolean> = new Map<string, number | boolean>([
  ["true", true],
  ["false", false],
  ["nan", NaN],
  ["inf", Infinity],
  ["+inf", Infinity],
  ["-inf", -Infinity],
]);

const INTEGER = /^[+-]?\d+$/;
const HEXADECIMAL = /^([+-]?)(0x[0-9a-f]+)$/i;
const DECIMAL = /^[+-]?(?:\d+\.?\d*|\.\d+)(?:e[+-]?\d+)?$/i;

/** What an argument can be, for error messages. */
const GRAMMAR = "a number, true or false, a vector such as [1,2,3], " +
  'a struct such as {"x":1}, @FILE.npy, ' +
  "out:DTYPE[SHAPE]@FILE.npy or inout:@FILE.npy@FILE.npy";

function refuse(text: string, allowed: string): never {
  throw new UsageError(`Cannot run with argument ${JSON.stringify(text)} as it must be ${allowed}`);
}

/** An integer exactly: a `number` where that can hold it. */
function integer(value: bigint): number | bigint {
  const number = Number(value);
  return Number.isSafeInteger(number) ? number : value;
}

/** The number that a text is; undefined if it is none. */
function numberIn(text: string): number | bigint | undefined {
  if (INTEGER.test(text)) {
    // Of the integers only the floating-point -0 has a sign without a value.
    return text === "-0" ? -0 : integer(BigInt(text.replace(/^\+/, "")));
  }
  const [, sign, digits] = HEXADECIMAL.exec(text) ?? [];
  if (digits !== undefined) return integer(sign === "-" ? -BigInt(digits) : BigInt(digits));
  return DECIMAL.test(text) ? Number(text) : undefined;
}

function vectorIn(text: string): RunValue {
  const parts = text.slice(1, -1).split(",").map((part) => part.trim());
  return parts.map((part) => {
    const value = numberIn(part) ?? WORDS.get(part.toLowerCase());
    return typeof value === "number" || typeof value === "bigint"
      ? value
      : refuse(text, "a vector of numbers, such as [1,2,3]");
  });
}

/** The fields of a struct, in JSON: its numbers exactly, and "nan" and "inf" for what has none. */
function structIn(text: string): RunValue {
  let value: unknown;
  try {
    value = JSON.parse(text, fieldValue as (key: string, value: unknown) => unknown);
  } catch (error) {
    // A RangeError where brackets are in each other by the ten thousand.
    if (!(error instanceof SyntaxError || error instanceof RangeError)) throw error;
    return refuse(text, 'the fields of a struct in JSON, such as {"x":1,"y":[1,2]}');
  }
  return value as Readonly<Record<string, unknown>>;
}

/** A value of JSON, of which numbers also have their text. */
function fieldValue(_key: string, value: unknown, context: { readonly source?: string }): unknown {
  if (typeof value === "number") return numberIn(context.source ?? "") ?? value;
  const word = typeof value === "string" ? WORDS.get(value.toLowerCase()) : undefined;
  return typeof word === "number" ? word : value;
}

function shapeIn(text: string, extents: string): number[] {
  const shape = extents.trim() === "" ? [] : extents.split(",").map((extent) => {
    const value = /^\s*\d+\s*$/.test(extent) ? Number(extent) : NaN;
    if (Number.isSafeInteger(value)) return value;
    return refuse(text, "out:DTYPE[SHAPE]@FILE.npy with a SHAPE of integers, such as [8,4]");
  });
  if (shape.length <= MOST_DIMENSIONS) return shape;
  return refuse(text, `an array of at most ${MOST_DIMENSIONS} dimensions`);
}

function outputIn(text: string): OutputArgument {
  const match = /^out:([^[\]@]*)\[([^\]]*)\]@(.+)$/s.exec(text);
  if (match === null) refuse(text, "out:DTYPE[SHAPE]@FILE.npy, such as out:float32[1000]@y.npy");
  const [, dtype, extents, output] = match as unknown as [string, string, string, string];
  if (!(DTYPES as readonly string[]).includes(dtype)) {
    refuse(text, `out:DTYPE[SHAPE]@FILE.npy with a DTYPE of ${DTYPES.join(", ")}`);
  }
  return { kind: "out", dtype: dtype as DType, shape: shapeIn(text, extents), output };
}

function updateIn(text: string): UpdateArgument {
  const [head, input, output, extra] = text.split("@");
  const isComplete = head === "inout:" && input && output && extra === undefined;
  if (!isComplete) {
    refuse(text, "inout:@FILE.npy@FILE.npy: what is read, and where the result is written");
  }
  return { kind: "inout", input, output };
}

/**
 * Reads an argument.
 *
 * @throws {UsageError} If it is none.
 */
export function parseRunArgument(text: string): RunArgument {
  if (text.startsWith("inout:")) return updateIn(text);
  if (text.startsWith("out:")) return outputIn(text);
  if (text.startsWith("@")) {
    return text.length > 1 ? { kind: "in", input: text.slice(1) } : refuse(text, "@FILE.npy");
  }
  if (text.startsWith("{")) return { kind: "value", value: structIn(text) };
  if (text.startsWith("[") && text.endsWith("]")) return { kind: "value", value: vectorIn(text) };
  const value = numberIn(text) ?? WORDS.get(text.toLowerCase());
  return value === undefined ? refuse(text, GRAMMAR) : { kind: "value", value };
}
