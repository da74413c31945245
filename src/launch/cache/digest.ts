/**
 * SHA-256 of structured data: parts that cannot run into each other, digested as one stream.
 *
 * @module
 */

import { sha256 } from "../../ffi/sha256.ts";

/** Something that a digest covers. */
export interface DigestPart {
  /** What it is: a word of the program's own, never data. */
  readonly label: string;
  /** Its content; of texts the UTF-8, which is also all that a compiler gets to see of them. */
  readonly payload: string | Uint8Array<ArrayBuffer>;
}

/** Bytes before each payload that say how many it has. */
const LENGTH_BYTES = 8;

const encoder = new TextEncoder();

/**
 * Parts that make up a list: their number, then each. Where lists of different lengths follow one
 * another this is what tells where one ends.
 */
export function listParts(
  label: string,
  payloads: readonly DigestPart["payload"][],
): DigestPart[] {
  return [
    { label: `${label} count`, payload: String(payloads.length) },
    ...payloads.map((payload) => ({ label, payload })),
  ];
}

/**
 * The parts as one stream: of each the label, the length of its payload as eight bytes with the
 * most significant first, and the payload. Who knows the order of the labels can cut the stream up
 * again, and so no two sequences of parts have one stream.
 */
export function partStream(parts: readonly DigestPart[]): Uint8Array<ArrayBuffer> {
  const pieces: Uint8Array<ArrayBuffer>[] = [];
  for (const { label, payload } of parts) {
    const bytes = typeof payload === "string" ? encoder.encode(payload) : payload;
    pieces.push(encoder.encode(label), lengthBytes(bytes.length), bytes);
  }
  return concatenate(pieces);
}

function lengthBytes(length: number): Uint8Array<ArrayBuffer> {
  const bytes = new Uint8Array(LENGTH_BYTES);
  const view = new DataView(bytes.buffer);
  view.setUint32(0, Math.floor(length / 2 ** 32));
  view.setUint32(4, length % 2 ** 32);
  return bytes;
}

/** Arrays of bytes, one behind the other. */
export function concatenate(
  pieces: readonly Uint8Array<ArrayBuffer>[],
): Uint8Array<ArrayBuffer> {
  const whole = new Uint8Array(pieces.reduce((sum, { length }) => sum + length, 0));
  let offset = 0;
  for (const piece of pieces) {
    whole.set(piece, offset);
    offset += piece.length;
  }
  return whole;
}

/** SHA-256 of the stream of some parts, as 64 hexadecimal digits. */
export async function partDigest(parts: readonly DigestPart[]): Promise<string> {
  return (await sha256(partStream(parts))).toHex();
}
