// SHA-256 of the library is that of Web Crypto, for messages that end anywhere in a block.

import { assert, assertEquals } from "@std/assert";
import { sha256 } from "../../src/ffi/sha256.ts";
import { patternBytes } from "../support/temporary_file.ts";
import { device } from "../support/device.ts";

const { symbols } = device.context.library;

async function webDigest(message: Uint8Array<ArrayBuffer>): Promise<string> {
  return new Uint8Array(await crypto.subtle.digest("SHA-256", message)).toHex();
}

Deno.test("the digest of any message is that of Web Crypto", async () => {
  const border = 2 ** 16;
  const lengths = [border - 9, border - 1, border, border + 1, 2 ** 20 + 7];
  for (const length of [...Array(200).keys(), ...lengths]) {
    const message = patternBytes(length, length);
    const expected = await webDigest(message);
    assertEquals((await sha256(message)).toHex(), expected, `${length} bytes`);
    const digest = new Uint8Array(34).fill(7);
    const inside = digest.subarray(1, 33);
    assertEquals(symbols.gs_digest_sha256(message, length, inside), 0);
    assertEquals(digest.toHex(), `07${expected}07`, `${length} bytes in the library`);
  }
});

Deno.test("each bit of a message counts", async () => {
  const message = patternBytes(130);
  const digests = new Set([(await sha256(message)).toHex()]);
  for (let bit = 0; bit < 8 * message.length; bit++) {
    const changed = message.slice();
    changed[bit >> 3]! ^= 1 << (bit & 7);
    digests.add((await sha256(changed)).toHex());
  }
  assertEquals(digests.size, 1 + 8 * message.length);
});

Deno.test("the library refuses what is no message", () => {
  const digest = new Uint8Array(32);
  const message = new Uint8Array(64);
  for (const bytes of [-1, 0.5, NaN, 2 ** 53]) {
    assertEquals(symbols.gs_digest_sha256(message, bytes, digest), -1, String(bytes));
  }
  assertEquals(symbols.gs_digest_sha256(null, 1, digest), -1);
  assertEquals(symbols.gs_digest_sha256(message, 64, null), -1);
  assertEquals(symbols.gs_digest_sha256(null, 0, digest), 0);
  assert(digest.toHex().startsWith("e3b0c442"), "of no bytes");
});
