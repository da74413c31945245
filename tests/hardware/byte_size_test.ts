// Sizes are read exactly, in powers of 1024 only, and everything else is refused.

import { assert, assertEquals, assertThrows } from "@std/assert";
import fc from "fast-check";
import { formatBytes } from "../../src/ffi/describe_value.ts";
import { matchByteSize, parseByteSize } from "../../src/hardware/byte_size.ts";

Deno.test("`parseByteSize()` reads every unit", () => {
  const table = [
    ["1", 1],
    ["4096B", 4096],
    ["3K", 3072],
    ["3KiB", 3072],
    ["512MiB", 536870912],
    ["7M", 7340032],
    ["2G", 2147483648],
    ["2GB", 2147483648],
    ["3KB", 3072],
    ["512MB", 536870912],
    ["1TB", 1099511627776],
    ["24GiB", 25769803776],
    ["1T", 1099511627776],
    ["8191TiB", 8191 * 2 ** 40],
    ["9007199254740991", Number.MAX_SAFE_INTEGER],
  ] as const;
  for (const [text, bytes] of table) assertEquals(parseByteSize(text), bytes, text);
});

Deno.test("`parseByteSize()` throws when a text is not a size", () => {
  const refused = ["", "0", "0G", "01G", "-1", "+1", "1.5G", "1e3", " 1", "1 G", "G", "1g", "1kib"];
  const beyond = ["1PiB", "1PB", "2Gb", "2gb", "9007199254740992", "8192T", "8192TB", "1GiB\n"];
  for (const text of [...refused, ...beyond]) {
    const error = assertThrows(() => parseByteSize(text), RangeError);
    assert(error.message.endsWith(`it is ${JSON.stringify(text)}`), error.message);
  }
  assertThrows(() => parseByteSize(Symbol() as never), RangeError, "it is a symbol");
});

Deno.test("`formatBytes()` throws when a size is not a number", () => {
  for (const value of [null, undefined, "x", [], Symbol()]) {
    assertThrows(() => formatBytes(value as never), TypeError, "Cannot format a size");
  }
});

Deno.test("`matchByteSize()` returns a positive safe integer or undefined", () => {
  fc.assert(fc.property(fc.string({ unit: fc.constantFrom(..."0189BKMGTi. ") }), (text) => {
    const bytes = matchByteSize(text);
    assert(bytes === undefined || (Number.isSafeInteger(bytes) && bytes > 0), text);
  }));
});
