import { assertEquals, assertThrows } from "@std/assert";
import fc from "fast-check";
import {
  type AlignmentOptions,
  calculateAlignment,
  paddedShape,
  padTo,
  pitchOf,
} from "../../../src/lab/analysis/mod.ts";

Deno.test("`calculateAlignment()` keeps small data in one sector or line", () => {
  for (let bytes = 1; bytes <= 128; bytes++) {
    const { alignment } = calculateAlignment(bytes);
    const unit = bytes <= 32 ? 32 : 128;
    for (let begin = 0; begin < 1024; begin += alignment) {
      const last = begin + bytes - 1;
      assertEquals(Math.floor(begin / unit), Math.floor(last / unit), `${bytes} at ${begin}`);
    }
  }
});

Deno.test("`calculateAlignment()` returns a line for larger data and 256 from 64 KiB on", () => {
  const alignmentOf = (bytes: number) => calculateAlignment(bytes).alignment;
  assertEquals([129, 1023, 1024, 65535].map(alignmentOf), [128, 128, 128, 128]);
  assertEquals([65536, 2 ** 40].map(alignmentOf), [256, 256]);
});

Deno.test("`calculateAlignment()` returns at least the alignment of an element", () => {
  const natural = [1, 2, 4, 8, 12, 16].map((elementBytes) =>
    calculateAlignment(elementBytes, { elementBytes }).alignment
  );
  assertEquals(natural, [1, 2, 4, 8, 4, 16]);
  assertEquals(calculateAlignment(0, { elementBytes: 16 }), {
    ...{ alignment: 16, paddedBytes: 0, waste: 0, vectorBytes: 16 },
    reason: "A single element needs no more than its type does.",
  });
  assertEquals(calculateAlignment(24, { elementBytes: 12 }).alignment, 32);
});

Deno.test("`vectorBytes` is limited by size and alignment", () => {
  const vectorOf = (bytes: number, elementBytes: number) =>
    calculateAlignment(bytes, { elementBytes }).vectorBytes;
  assertEquals(vectorOf(4096, 4), 16);
  assertEquals(vectorOf(4088, 4), 8);
  assertEquals(vectorOf(4092, 4), 4);
  assertEquals(vectorOf(4095, 1), 1);
  assertEquals(vectorOf(8, 1), 8);
  assertEquals(vectorOf(36, 12), 4);
});

Deno.test("`calculateAlignment()` follows the option `use`", () => {
  const alignmentOf = (use: NonNullable<AlignmentOptions["use"]>) =>
    calculateAlignment(100, { use }).alignment;
  assertEquals(alignmentOf("tensor-map"), 16);
  assertEquals(alignmentOf("tensor-map-shared"), 128);
  assertEquals(alignmentOf("texture"), 512);
  const { alignment, waste } = calculateAlignment(100, { use: "texture", textureAlignment: 256 });
  assertEquals([alignment, waste], [256, 156]);
});

Deno.test("`padTo()` returns the least multiple", () => {
  const size = fc.oneof(fc.nat(1000), fc.maxSafeNat());
  fc.assert(fc.property(size, fc.integer({ min: 1, max: 1000 }), (extent, multiple) => {
    if (extent > Number.MAX_SAFE_INTEGER - 1000) return;
    const padded = padTo(extent, multiple);
    assertEquals([padded % multiple, padded - extent < multiple, padded >= extent], [
      0,
      true,
      true,
    ]);
  }));
  assertEquals([padTo(0, 32), padTo(1, 32), padTo(32, 32), padTo(33, 32)], [0, 32, 32, 64]);
});

Deno.test("`paddedShape()` pads from the last extent on", () => {
  assertEquals(paddedShape([3, 100, 30], [64, 32]), {
    ...{ shape: [3, 128, 32], elements: 12288, padding: 3288, waste: 3288 / 12288 },
  });
  assertEquals(paddedShape([], []).elements, 1);
  assertEquals(paddedShape([0, 5], [4, 4]), { shape: [0, 8], elements: 0, padding: 0, waste: 0 });
});

Deno.test("`pitchOf()` agrees with cudaMallocPitch, or pads to any power of two", () => {
  assertEquals([0, 1, 512, 513].map((columns) => pitchOf(columns, 1).pitch), [0, 512, 512, 1024]);
  assertEquals(pitchOf(100, 12), { pitch: 1536, elements: 128, padding: 336, waste: 336 / 1536 });
  assertEquals(pitchOf(10, 12), { pitch: 512, elements: null, padding: 392, waste: 392 / 512 });
  assertEquals(pitchOf(0, 4).waste, 0);
  assertEquals(pitchOf(5, 4, { alignment: 16 }).elements, 8);
});

Deno.test("alignment and padding functions throw when a size is not allowed", () => {
  const refused = (make: () => unknown, message: string, kind = RangeError) =>
    assertThrows(make, kind, message);
  for (const bytes of [-1, 0.5, NaN, Infinity, 2 ** 53]) {
    refused(
      () => calculateAlignment(bytes),
      `Cannot calculate an alignment as bytes must be an integer in 0..9007199254740991: it is ${bytes}`,
    );
    refused(() => padTo(bytes, 4), `extent must be an integer in 0..9007199254740991: it is`);
    refused(() => pitchOf(bytes, 4), "columns must be an integer");
  }
  refused(() => calculateAlignment(8, { elementBytes: 3 }), "one of 1, 2, 4, 8, 12, 16: it is 3");
  refused(() => calculateAlignment(8, { textureAlignment: 48 }), "a power of two: it is 48");
  refused(() => calculateAlignment(8, { use: "tma" as never }), "one of access, tensor-map");
  refused(() => calculateAlignment(2 ** 53 - 1), "the result must be at most 9007199254740991");
  refused(() => pitchOf(4, 4, { alignment: 100 }), "a power of two: it is 100");
  refused(() => pitchOf(2 ** 52, 16), "it is 4503599627370496 × 16");
  refused(() => padTo(4, 0), "multiple must be an integer in 1..9007199254740991: it is 0");
  refused(() => paddedShape([1], [2, 2]), "multiples must be at most 1: it is 2");
  refused(() => paddedShape([2 ** 30, 2 ** 30], []), "it is 1073741824 × 1073741824");
  refused(() => paddedShape([-1], []), "shape[0] must be an integer in 0");
  refused(() => paddedShape("12" as never, []), "must be an array", TypeError);
  refused(() => padTo("4" as never, 2), "extent must be a number: it is a string", TypeError);
  refused(() => calculateAlignment(8, null as never), "options must be an object", TypeError);
  refused(
    () => calculateAlignment(8, { use: 7 as never }),
    "use must be a text: it is 7",
    TypeError,
  );
});
