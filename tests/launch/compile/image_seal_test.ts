import { assertEquals } from "@std/assert";
import { sealedImage } from "../../../src/launch/compile/image_seal.ts";

Deno.test("a seal follows the image: its magic, its length and its CRC-32", () => {
  // The check value that descriptions of CRC-32 give for these nine characters.
  const image = new TextEncoder().encode("123456789");
  const sealed = sealedImage(image);
  assertEquals(sealed.subarray(0, 9), image);
  assertEquals(new TextDecoder().decode(sealed.subarray(9, 17)), "GSsealed");
  assertEquals([...sealed.subarray(17)], [9, 0, 0, 0, 0x26, 0x39, 0xf4, 0xcb]);
});

Deno.test("an image of nothing has a seal too", () => {
  assertEquals([...sealedImage(new Uint8Array()).subarray(8)], [0, 0, 0, 0, 0, 0, 0, 0]);
});
