/**
 * The seal at the end of machine code for the host device.
 *
 * The system's loader trusts what it is given, and a kernel runs in the program's own process: one
 * damaged byte would end it. The host library therefore compares an image with its seal before it
 * loads it; `csrc/host/module/image_seal.h`.
 *
 * @module
 */

import { crc32 } from "node:zlib";

const MAGIC = new TextEncoder().encode("GSsealed");

/** Machine code followed by its seal, which loaders do not look at. */
export function sealedImage(image: Uint8Array): Uint8Array<ArrayBuffer> {
  const sealed = new Uint8Array(image.length + MAGIC.length + 8);
  sealed.set(image);
  sealed.set(MAGIC, image.length);
  const numbers = new DataView(sealed.buffer, image.length + MAGIC.length);
  numbers.setUint32(0, image.length, true);
  numbers.setUint32(4, crc32(image), true);
  return sealed;
}
