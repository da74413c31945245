// Formats of ternary weights against published bytes, an independent reading of their sources, and
// their twins on the device.

import { assertEquals } from "@std/assert";
import { crc32 } from "node:zlib";
import { fromTypedArray } from "../../src/device/tensor.ts";
import {
  type CodecOptions,
  decode,
  encode,
  scalesOf,
  TERNARY_FORMATS,
  type TernaryFormat,
} from "../../src/device/ternary.ts";
import { forms } from "../support/tensor_forms.ts";

/** Weights -1, 0 and 1 in an irregular order, times a scale. */
function weights(length: number, scale = 1): Float32Array {
  let state = 1;
  return Float32Array.from({ length }, () => {
    state = (Math.imul(state, 1664525) + 1013904223) >>> 0;
    return ((state >>> 24) % 3 - 1) * scale;
  });
}

const hex = (bytes: Uint8Array) => bytes.toHex();
const crc = (bytes: Uint8Array) => (crc32(bytes) >>> 0).toString(16).padStart(8, "0");

/** A shape for each format, and options. */
const CASES: readonly (readonly [TernaryFormat, readonly number[], CodecOptions?])[] = [
  ["i2_s", [3, 256]],
  ["i2_s", [2, 96], { layout: "i2s-64" }],
  ["i2_s", [5, 28], { layout: "i2s-seq" }],
  ["bn32-twos", [3, 64]],
  ["bn32-twos", [3, 32], { scales: "apart" }],
  ["bn32-offset2", [2, 96]],
  ["tl1", [128, 256], { tile: { bm: 64, bk: 128, bmm: 64 } }],
  ["tl1", [320, 128], { tile: { bm: 160, bk: 64, bmm: 32 } }],
  ["tl2", [128, 352], { tile: { bm: 64, bk: 96, bmm: 32 } }],
  ["tl2", [64, 384], { tile: { bm: 32, bk: 192, bmm: 32 } }],
  ["tq1_0", [2, 512]],
  ["tq2_0", [2, 512]],
  ["hf-quarters", [12, 7]],
  ["ms-w2a8", [48, 96]],
  ["gridstride", [5, 131]],
];

/** Decoding needs the scales that a format does not store. */
function decodeOptions(values: Float32Array, [format, shape, options]: typeof CASES[number]) {
  const isApart = /^hf|^ms|^grid/.test(format) || options?.scales === "apart" ||
    options?.layout === "i2s-seq";
  return isApart ? { ...options, scale: scalesOf(values, shape, format, options) } : options;
}

const nameOf = ([format, shape, options]: typeof CASES[number]) =>
  `${format} ${shape} ${JSON.stringify(options ?? {})}`;
const valuesOf = ([, shape]: typeof CASES[number]) =>
  weights(shape.reduce((product, extent) => product * extent), 0.75);

Deno.test("encode() gives the bytes of ggml's and bitnet.cpp's quantisers for 256 weights", () => {
  const [half, whole] = [weights(128, 0.5), weights(256, 0.5)];
  const data = "19660a25226428666146442956660aa950960a5548a12909206498414a295209";
  assertEquals(hex(encode(half, [1, 128], "i2_s")), `${data}0000003f${"00".repeat(28)}`);
  const longer = encode(whole, [256], "i2_s");
  assertEquals([longer.length, crc(longer.subarray(0, 64))], [96, "553a5c52"]);
  assertEquals(
    hex(encode(half, [128], "i2_s", { layout: "i2s-64" }).subarray(0, 32)),
    "15690019186a0a484a526118544a1188845aaa552841a169045860856a698aa5",
  );
  assertEquals(
    hex(encode(half, [128], "i2_s", { layout: "i2s-seq" })),
    "044415854909641189aa828945281a18666494a564a2248a6982496a68544066",
  );
  assertEquals(crc(encode(whole, [1, 256], "tq2_0")), "8d92f4b9");
  assertEquals(
    hex(encode(whole, [1, 256], "tq1_0")),
    "35a01c4841984ca19268615183a01bfc73da1a7f6ae951193999db596f507a194e818759b000bd09e27e080c0375" +
      "04ff407c30170038",
  );
});

Deno.test("encode() gives the bytes of BitNet.rs, transformers and the GPU kernels of BitNet", () => {
  const ramp = Float32Array.from({ length: 32 }, (_, i) => (i - 16) / 8);
  const twos = encode(ramp, [32], "bn32-twos", { scales: "apart" });
  assertEquals(hex(twos), "ffff3f0000505555");
  assertEquals([...scalesOf(ramp, [32], "bn32-twos")], [Math.fround(4 / 3)]);
  assertEquals(hex(encode(ramp, [32], "bn32-offset2")), "5555a9aaaaaaffff0040");
  assertEquals(hex(encode(weights(32), [8, 4], "hf-quarters")), "1465845054254009");
  const tile = encode(weights(512), [16, 32], "ms-w2a8");
  assertEquals(hex(tile.subarray(0, 16)), "a5aa65d9bedf5dff97aaeffaeef7d7ae");
  assertEquals(crc(tile), "2433c429");
  assertEquals(crc(encode(weights(2048), [32, 64], "ms-w2a8")), "36580831");
});

Deno.test("decode() gives back what encode() takes, and its twin on the device does too", async () => {
  const checks = CASES.flatMap((given) => {
    const [format, shape, options] = given;
    const values = valuesOf(given);
    const bytes = encode(values, shape, format, options);
    const decoding = decodeOptions(values, given);
    // Its scale is two thirds of the largest magnitude.
    const expected = format === "bn32-twos" ? values.map((value) => value / 1.5) : values;
    assertEquals(decode(bytes, shape, format, decoding), expected, nameOf(given));
    return [...forms.values()].map(async (on) => {
      using x = fromTypedArray(values, shape, { device: on });
      using packed = encode(x, shape, format, options);
      using restored = decode(packed, shape, format, decoding);
      assertEquals(await packed.toArray(), bytes, nameOf(given));
      assertEquals(await restored.toArray(), expected, nameOf(given));
    });
  });
  assertEquals(new Set(CASES.map(([format]) => format)), new Set(TERNARY_FORMATS));
  await Promise.all(checks);
});
