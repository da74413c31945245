/**
 * Values in error messages.
 *
 * @module
 */

const MAX_TEXT = 40;

function shorten(text: string): string {
  return text.length <= MAX_TEXT ? text : `${text.slice(0, MAX_TEXT - 1)}…`;
}

function describeObject(value: object): string {
  try {
    const name: unknown = Object.getPrototypeOf(value)?.constructor?.name;
    if (typeof name === "string" && name !== "") {
      return /^(?!u[ir])[aeiou]/i.test(name) ? `an ${shorten(name)}` : `a ${shorten(name)}`;
    }
  } catch {
    // A revoked proxy or a throwing getter must not hide the error message.
  }
  return "an object";
}

/** Describes any value in a few words: objects by their class. Never throws. */
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
