// Formats of ternary weights against published bytes, an independent reading of their sources, and
// their twins on the device.

import { assertEquals, assertRejects, assertThrows } from "@std/assert";
import { crc32 } from "node:zlib";
import { fromTypedArray, full } from "../../src/device/tensor.ts";
import {
  type CodecOptions,
  convert,
  decode,
  encode,
  formatOfGguf,
  scalesOf,
  TERNARY_FORMATS,
  type TernaryFormat,
  TernaryWeights,
} from "../../src/device/ternary.ts";
import { device } from "../support/device.ts";
import { python } from "../support/python.ts";
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
  ["i2_s", [3, 64], { layout: "i2s-64" }],
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

Deno.test("encode() gives the bytes of bitnet.cpp's converter for tl1 and tl2", () => {
  // preprocess_weights_tl1() and …_tl2() of convert-hf-to-gguf-bitnet.py, microsoft/BitNet 16da220.
  const known = [
    ["tl1", [128, 256], { bm: 64, bk: 128, bmm: 64 }, 8192, "0cee4a74"],
    ["tl1", [320, 128], { bm: 160, bk: 64, bmm: 32 }, 10240, "06cc6d2e"],
    ["tl1", [1536, 1536], undefined, 589824, "b55e3d35"],
    ["tl2", [128, 352], { bm: 64, bk: 96, bmm: 32 }, 10752, "910589d4"],
    ["tl2", [64, 384], { bm: 32, bk: 192, bmm: 32 }, 5802, "61bcc142"],
    ["tl2", [1536, 1536], undefined, 507904, "f1ddd007"],
  ] as const;
  for (const [format, shape, tile, length, sum] of known) {
    const options = tile === undefined ? {} : { tile };
    const bytes = encode(weights(shape[0] * shape[1], 0.5), shape, format, options);
    assertEquals(crc(bytes.subarray(0, length)), sum, `${format} ${shape}`);
    const end = Math.ceil(length / 32) * 32;
    assertEquals(hex(bytes.subarray(end)), `0000003f${"00".repeat(28)}`);
  }
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
    // In the threads' form, one format for each way to code a byte and to keep scales.
    const isChosen = /^tq1|^ms|^tl2/.test(format);
    const devices = [...forms].filter(([form]) => form === "block" || isChosen);
    return devices.map(async ([, on]) => {
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

/** What the Python package gguf makes of elements: the bytes, and the elements of those. */
async function ofGguf(values: Float32Array, name: string): Promise<Uint8Array[] | undefined> {
  const program = `import sys, numpy as np
from gguf import quants, GGMLQuantizationType
x = np.frombuffer(bytes.fromhex(sys.argv[1]), np.float32).reshape(-1, 512)
kind = GGMLQuantizationType[sys.argv[2]]
packed = quants.quantize(x, kind)
print(packed.tobytes().hex(), quants.dequantize(packed, kind).astype(np.float32).tobytes().hex())`;
  const text = await python("gguf", program, new Uint8Array(values.buffer).toHex(), name);
  return text?.trim().split(" ").map((bytes) => Uint8Array.fromHex(bytes));
}

Deno.test("tq1_0 and tq2_0 are those of the package gguf for any elements, on the device too", async () => {
  let state = 7;
  const values = Float32Array.from({ length: 2560 }, (_, at) => {
    state = (Math.imul(state, 1664525) + 1013904223) >>> 0;
    if (at < 256) return 0; // a block of zeros
    // Blocks of any magnitude, some with ties.
    return at < 768 ? (state >>> 16) % 5 / 4 - 0.5 : (state / 2 ** 31 - 1) * 10 ** (at % 4 - 2);
  });
  const shape = [5, 512];
  using x = fromTypedArray(values, shape, { device });
  for (const format of ["tq1_0", "tq2_0"] as const) {
    const known = await ofGguf(values, format.toUpperCase());
    const bytes = encode(values, shape, format);
    using packed = encode(x, shape, format);
    assertEquals(await packed.toArray(), bytes);
    if (known === undefined) continue;
    assertEquals(hex(bytes), hex(known[0]!));
    // Zeros of either sign.
    const elements = new Float32Array(known[1]!.buffer).map((value) => value + 0);
    assertEquals(decode(bytes, shape, format).map((value) => value + 0), elements);
  }
});

Deno.test("encode() makes zeros of blocks whose scale float16 rounds to 0", async () => {
  const values = new Float32Array(512).fill(2 ** -25, 0, 256).fill(-1, 256);
  for (const format of ["tq2_0", "bn32-offset2"] as const) {
    const bytes = encode(values, [512], format);
    assertEquals(decode(bytes, [512], format), values.fill(0, 0, 256));
    using x = fromTypedArray(values.fill(2 ** -25, 0, 256), [512], { device });
    assertEquals(await encode(x, [512], format).toArray(), bytes);
  }
});

Deno.test("convert() keeps weights from any format to any other", () => {
  const shape = [32, 512];
  const values = weights(32 * 512, 0.5);
  const tile = { bm: 32, bk: 96, bmm: 32 };
  const optionsOf = (format: TernaryFormat): CodecOptions => ({
    ...(format === "tl1" ? { tile: { ...tile, bk: 128 } } : format === "tl2" ? { tile } : {}),
    ...(/^hf|^ms|^grid/.test(format) ? { scale: 0.5 } : {}),
  });
  const formats = TERNARY_FORMATS.filter((format) => format !== "bn32-twos");
  let current = encode(values, shape, "i2_s");
  formats.forEach((to, index) => {
    const from = formats[index - 1] ?? "i2_s";
    current = convert(current, shape, from, to, { from: optionsOf(from), to: optionsOf(to) });
    assertEquals(current, encode(values, shape, to, optionsOf(to)), `${from} to ${to}`);
  });
});

Deno.test("formatOfGguf() names formats, and refuses 39 without an architecture of bitnet.cpp", () => {
  const found = [34, 35, 36, 38].map((type) => formatOfGguf(type));
  assertEquals(found, ["tq1_0", "tq2_0", "i2_s", "tl1"]);
  assertEquals(formatOfGguf(39, "bitnet-b1.58"), "tl2");
  assertThrows(() => formatOfGguf(39), RangeError, "MXFP4");
  assertThrows(() => formatOfGguf(39, "gpt-oss"), RangeError, "MXFP4");
  assertThrows(() => formatOfGguf(2), RangeError, "it is 2");
});

Deno.test("encode() and decode() refuse bad shapes, options, lengths, codes and scales", () => {
  const ones = new Float32Array(128).fill(1);
  const good = encode(ones, [128], "i2_s");
  const bad = (at: number, value: number) => good.with(at, value) as Uint8Array<ArrayBuffer>;
  // 48 bytes of codes, and its scale right behind them.
  const odd = encode(new Float32Array(192).fill(1), [192], "i2_s", { layout: "i2s-64" });
  assertEquals([odd.length, hex(odd.subarray(48, 52))], [80, "0000803f"]);
  const refused: readonly (readonly [() => unknown, string])[] = [
    [() => encode(ones, [100], "i2_s"), "multiple of 128 elements: the shape (100,) has 100"],
    [() => encode(ones, [2, 128], "tq2_0"), "multiple of 256 columns"],
    [() => encode(ones, [64], "gridstride"), "64 elements of the shape (64,): it has 128"],
    [() => encode(ones, [128], "i3" as "i2_s"), "format must be one of i2_s"],
    [() => encode(ones, [128], "i2_s", { scales: "apart" }), "i2_s has no options.scales"],
    [() => encode(ones, [128], "i2_s", { layout: "x" as "i2s-64" }), "options.layout must be"],
    [
      () => encode(ones, [128], "i2_s", { Scale: 1 } as object),
      'options must be scale, stream, layout, scales, tile: there is "Scale"',
    ],
    [() => encode(ones, [1, 128], "tl1"), "kernel_config.ini"],
    [() => encode(ones, [1, 128], "tl2", { tile: { bm: 1, bk: 96, bmm: 64 } }), "bmm must be 32"],
    [() => encode(ones.with(5, 0.6), [128], "i2_s"), "element 5"],
    [() => encode(ones.with(6, NaN), [128], "i2_s"), "element 6"],
    [() => encode(ones, [128], "i2_s", { scale: 0 }), "scale 0 is 0"],
    [() => encode(ones, [128], "i2_s", { scale: -1 }), "scale 0 is -1"],
    [() => encode(ones, [128], "i2_s", { scale: NaN }), "scale 0 is NaN"],
    [() => encode(ones, [4, 32], "bn32-twos", { scale: 1 }), "must not be given"],
    [() => decode(good.subarray(1), [128], "i2_s"), "64 bytes of i2_s"],
    [() => decode(bad(3, 0xff), [128], "i2_s"), "no code for a weight in byte 3"],
    [() => decode(bad(35, 0xbf), [128], "i2_s"), "positive and finite"],
    [() => decode(bad(35, 0).with(34, 0), [128], "i2_s"), "scale 0 is 0"],
    [() => decode(good, [128], "i2_s", { scale: 2 }), "must not be given"],
    [() => encode(new Float32Array(256).fill(1e5), [256], "tq2_0"), "scale 0 is 100000"],
    [() => convert(good, [128], "i2_s", "i2_s", { scale: 1 } as object), 'there is "scale"'],
    [
      () =>
        TernaryWeights.from(bad(35, 0).with(34, 0), { format: "i2_s", shape: [1, 128], device }),
      "scale 0 is 0",
    ],
    [
      () =>
        TernaryWeights.from(good, {
          ...{ format: "i2_s", layout: "i2s-seq", shape: [2, 128], scale: 0, device },
        }),
      "scale 0 is 0",
    ],
    [() => TernaryWeights.from(good), "options.format and options.shape"],
    [() => TernaryWeights.from(good, { format: "i2_s", shape: [128], device }), "2 dimensions"],
  ];
  for (const [call, text] of refused) {
    assertThrows(call, Error, text);
  }
});

Deno.test("decode() and encode() of tensors report bad codes, elements and scales", async () => {
  for (const on of forms.values()) {
    const ones = new Float32Array(128).fill(1);
    const good = encode(ones, [128], "i2_s");
    const decoded = (bytes: Uint8Array) => {
      using source = fromTypedArray(bytes as Uint8Array<ArrayBuffer>, [64], { device: on });
      return decode(source, [128], "i2_s").toArray();
    };
    const encoded = (values: Float32Array) => {
      using x = fromTypedArray(values as Float32Array<ArrayBuffer>, [128], { device: on });
      return encode(x, [128], "i2_s").toArray();
    };
    await assertRejects(() => decoded(good.with(3, 0xff)), RangeError, "weight in byte 3");
    await assertRejects(() => decoded(good.with(35, 0xbf)), RangeError, "positive and finite");
    await assertRejects(() => encoded(ones.with(5, 0.6)), RangeError, "element 5");
    await assertRejects(() => encoded(ones.with(5, NaN)), RangeError, "Cannot call encode()");
    using large = full([256], 65_520, { device: on });
    await assertRejects(
      () => encode(large, [256], "tq2_0").toArray(),
      RangeError,
      "scale 0 is not",
    );
    assertEquals(await encoded(ones), good);
  }
});

Deno.test("decode() refuses bytes without a meaning in every format that has such", async () => {
  for (const given of CASES.filter(([format]) => format !== "tq1_0")) {
    const [format, shape, options] = given;
    const values = valuesOf(given);
    const bytes = encode(values, shape, format, options);
    // The code that is none depends on the format's code of -1.
    bytes[1] = format === "bn32-twos" ? 0xaa : /offset2|ms/.test(format) ? 0 : 0xff;
    using source = fromTypedArray(bytes, [bytes.length], { device });
    const decoding = decodeOptions(values, given);
    assertThrows(() => decode(bytes, shape, format, decoding), RangeError, "weight in byte 1");
    using decoded = decode(source, shape, format, decoding);
    await assertRejects(() => decoded.toArray(), RangeError, "weight in byte 1", nameOf(given));
  }
});
