/**
 * C strings across the seam: NUL-terminated UTF-8 in buffers that TypeScript owns.
 *
 * @module
 */

const decoder = new TextDecoder();
const encoder = new TextEncoder();

/** The status by which the library says that a text buffer is too small. */
const CAPACITY = -8;
const FIRST_CAPACITY = 512;
const LAST_CAPACITY = 1 << 20;

/**
 * Calls a function of the library that writes text, with ever larger buffers until it fits.
 *
 * @param call Writes at most `capacity` bytes into `text` and returns a status.
 * @returns The status of the last call and the text, which is empty unless the status is 0.
 */
export function readText(
  call: (text: Uint8Array<ArrayBuffer>, capacity: number) => number,
): { status: number; text: string } {
  for (let capacity = FIRST_CAPACITY;; capacity *= 4) {
    const bytes = new Uint8Array(capacity);
    const status = call(bytes, capacity);
    if (status === CAPACITY && capacity < LAST_CAPACITY) continue;
    if (status !== 0) return { status, text: "" };
    const end = bytes.indexOf(0);
    return { status, text: decoder.decode(bytes.subarray(0, end < 0 ? capacity : end)) };
  }
}

/** The NUL-terminated UTF-8 bytes of a text. */
export function cString(text: string): Uint8Array<ArrayBuffer> {
  if (text.includes("\0")) {
    throw new TypeError(`Cannot pass a text with a NUL character: it is ${JSON.stringify(text)}`);
  }
  return encoder.encode(text + "\0");
}
