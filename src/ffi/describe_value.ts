/**
 * Values and sizes in messages.
 *
 * @module
 */

const MAX_TEXT = 40;
const MAX_ITEMS = 8;

function shorten(text: string): string {
  return text.length <= MAX_TEXT ? text : `${text.slice(0, MAX_TEXT - 1)}…`;
}

const isPlain = (value: unknown) => Object(value) !== value;

function describeObject(value: object): string {
  try {
    if (Array.isArray(value) && value.length <= MAX_ITEMS && value.every(isPlain)) {
      return shorten(`[${value.map(describeValue).join(", ")}]`);
    }
    const name: unknown = Object.getPrototypeOf(value)?.constructor?.name;
    if (typeof name === "string" && name !== "") {
      return /^(?!u[ir])[aeiou]/i.test(name) ? `an ${shorten(name)}` : `a ${shorten(name)}`;
    }
  } catch {
    // A revoked proxy or a throwing getter must not hide the error message.
  }
  return "an object";
}

/** Describes any value in a few words: short arrays by their items, objects by their class. Never throws. */
export function describeValue(value: unknown): string {
  switch (typeof value) {
    case "number":
      return Object.is(value, -0) ? "-0" : String(value);
    case "bigint":
      // Printing a huge one takes quadratic time.
      return value === BigInt.asIntN(256, value) ? `${value}n` : "a bigint of more than 256 bits";
    case "string":
      return JSON.stringify(shorten(value));
    case "symbol":
      return "a symbol";
    case "function":
      return "a function";
    case "object":
      return value === null ? "null" : describeObject(value);
    default:
      return String(value);
  }
}

/**
 * Formats a size in binary units with at most one decimal: `23.7 GiB`.
 *
 * The script of memory pages contains the text of this function, so it refers to nothing else.
 *
 * @param bytes The size.
 * @throws {TypeError} If the size is no number.
 *
 * @example
 * ```ts
 * import { formatBytes } from "@gridstride/cuda/memory";
 *
 * console.log(formatBytes(10_486_272)); // 10.0 MiB
 * ```
 * @category Sizes
 */
export function formatBytes(bytes: number): string {
  if (typeof bytes !== "number") {
    throw new TypeError(`Cannot format a size as it must be a number: it is a ${typeof bytes}`);
  }
  const units = ["B", "KiB", "MiB", "GiB", "TiB"];
  let value = bytes;
  let unit = 0;
  // Larger values would round to 1024.0.
  while (value >= 1023.95 && unit < units.length - 1) {
    value /= 1024;
    unit++;
  }
  return `${Number.isInteger(value) ? value : value.toFixed(1)} ${units[unit]}`;
}
