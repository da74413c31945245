/**
 * The bytes of a pickle: what follows an opcode.
 *
 * @module
 */

import { describeValue } from "../../../ffi/describe_value.ts";

/** Texts shorter than this are put together here, since calling the decoder takes longer. */
const SHORT_TEXT = 48;

/** Most bytes of a whole number: 2^8192 is far above any size, and reading takes quadratic time. */
const LONGEST_INTEGER = 1024;

/** Integers of so many bytes are exact in floating-point arithmetic. */
const EXACT_BYTES = 6;

const NEWLINE = 10;

/** Reads arguments, one after the other. */
export class PickleBytes {
  readonly #bytes: Uint8Array;
  readonly #view: DataView;
  readonly #refuse: (offence: string) => never;
  // Python writes lone surrogates, which file names can hold, as if they were characters; the
  // decoder makes replacement characters of them rather than refusing a whole file for its name.
  readonly #decoder = new TextDecoder("utf-8", { ignoreBOM: true });
  /** Where the next byte to read is. */
  position = 0;

  /** Reads from the first byte on; `refuse` throws the error for the current opcode. */
  constructor(bytes: Uint8Array, refuse: (offence: string) => never) {
    this.#bytes = bytes;
    this.#view = new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength);
    this.#refuse = refuse;
  }

  /** How many bytes are left. */
  get left(): number {
    return this.#bytes.length - this.position;
  }

  /** The next byte. */
  uint8(): number {
    return this.#view.getUint8(this.#take(1));
  }

  /** The next 2 bytes as an unsigned number. */
  uint16(): number {
    return this.#view.getUint16(this.#take(2), true);
  }

  /** The next 4 bytes as an unsigned number. */
  uint32(): number {
    return this.#view.getUint32(this.#take(4), true);
  }

  /** The next 4 bytes as a signed number. */
  int32(): number {
    return this.#view.getInt32(this.#take(4), true);
  }

  /** The next 8 bytes as a length: no more than 2^53, so no more than a file can have. */
  length8(): number {
    const length = this.#view.getBigUint64(this.#take(8), true);
    return length <= BigInt(this.left) ? Number(length) : this.#cutShort(`${length} bytes`);
  }

  /** The next 8 bytes as a floating-point number, in big-endian order as Python writes it. */
  float64(): number {
    return this.#view.getFloat64(this.#take(8), false);
  }

  /** The next bytes, copied, so that a value does not keep the file. */
  bytes(length: number): Uint8Array<ArrayBuffer> {
    const start = this.#take(length);
    return this.#bytes.slice(start, start + length) as Uint8Array<ArrayBuffer>;
  }

  /** The next bytes as UTF-8. */
  text(length: number): string {
    const start = this.#take(length);
    if (length < SHORT_TEXT) {
      let text = "";
      let at = start;
      for (; at < start + length; at++) {
        const code = this.#bytes[at]!;
        if (code > 127) break;
        text += String.fromCharCode(code);
      }
      if (at === start + length) return text;
    }
    return this.#decoder.decode(this.#bytes.subarray(start, start + length));
  }

  /** The bytes up to the next newline, each a character of its own, without the newline. */
  line(): string {
    const end = this.#bytes.indexOf(NEWLINE, this.position);
    if (end < 0) this.#cutShort("a newline");
    const pieces: string[] = [];
    // A call takes so many arguments and no more.
    for (let at = this.position; at < end; at += 4096) {
      pieces.push(String.fromCharCode(...this.#bytes.subarray(at, Math.min(end, at + 4096))));
    }
    this.position = end + 1;
    return pieces.join("");
  }

  /** The next bytes as a whole number in two's complement. */
  integer(length: number): number | bigint {
    this.#checkLength(length);
    const start = this.#take(length);
    if (length <= EXACT_BYTES) return this.#smallInteger(start, length);
    let value = 0n;
    for (let at = start + length - 1; at >= start; at--) {
      value = (value << 8n) | BigInt(this.#bytes[at]!);
    }
    return plainInteger(BigInt.asIntN(length * 8, value));
  }

  /** Decimal digits as a whole number. */
  decimal(digits: string): number | bigint {
    this.#checkLength(digits.length);
    if (/^[+-]?\d+$/.test(digits)) return plainInteger(BigInt(digits));
    this.#refuse(`must be followed by a whole number: it is ${describeValue(digits)}`);
  }

  #smallInteger(start: number, length: number): number {
    let value = 0;
    for (let at = start + length - 1; at >= start; at--) value = value * 256 + this.#bytes[at]!;
    const negative = length > 0 && this.#bytes[start + length - 1]! >= 128;
    return negative ? value - 256 ** length : value;
  }

  #checkLength(length: number): void {
    if (length > LONGEST_INTEGER) {
      this.#refuse(
        `must have a whole number of at most ${LONGEST_INTEGER} bytes: it has ${length}`,
      );
    }
  }

  #take(length: number): number {
    const start = this.position;
    if (length > this.left) this.#cutShort(`${length} bytes`);
    this.position += length;
    return start;
  }

  #cutShort(what: string): never {
    this.#refuse(`needs ${what} and the file has ${this.left} left: it was cut short`);
  }
}

/** A number where it is exact, so that equal integers are equal values. */
function plainInteger(value: bigint): number | bigint {
  const number = Number(value);
  return Number.isSafeInteger(number) ? number : value;
}
