// Quantisation in chunks, with fallback and statistics, against references in double precision.

import { device } from "../support/device.ts";
import { assert, assertEquals, assertRejects } from "@std/assert";
import { openDevice, OutOfMemoryError } from "../../mod.ts";
import { decode, DeviceAwareQuantizer, encode } from "../../src/device/ternary.ts";
import { injectFault } from "../support/fault_injection.ts";
import { shifted } from "../support/shifted_array.ts";

const small = openDevice(device.label, { memory: { maxPoolSize: "4MiB" } });

/** A row that does not fit. */
const WIDE = 2 ** 21;

/** Numbers in (−1, 1), with zeros among them. */
const numbers = (length: number) =>
  Float32Array.from({ length }, (_, at) => at % 17 === 0 ? 0 : (at * 7919 % 10007) / 5003.5 - 1);

function roundedToEven(x: number): number {
  const floor = Math.floor(x);
  if (x - floor !== 0.5) return Math.round(x);
  return floor % 2 === 0 ? floor : floor + 1;
}

/** `assertEquals()` for long arrays. */
function assertSame(actual: Float32Array | Uint8Array, expected: Float32Array | Uint8Array): void {
  assertEquals(actual.length, expected.length);
  const at = actual.findIndex((x, index) => x !== expected[index]);
  assert(at < 0, `element ${at} is ${actual[at]} in place of ${expected[at]}`);
}

/** The absolute mean, and values rounded to −1, 0 and 1 times it. */
function rounded(values: Float32Array): { scale: number; values: Float32Array } {
  const total = values.reduce((sum, x) => sum + Math.abs(x), 0);
  const scale = Math.fround(Math.max(total / values.length, 1e-5));
  const factor = Math.fround(1 / scale);
  const code = (x: number) => Math.max(-1, Math.min(1, roundedToEven(Math.fround(x * factor))));
  return { scale, values: values.map((x) => scale * code(x)) };
}

/** Formats with a shape of several parts that the small device divides. */
const CASES = [
  ["i2_s", [4096, 96], undefined],
  ["tl1", [1536, 256], { bm: 256, bk: 128, bmm: 32 }],
  ["tl2", [1536, 224], { bm: 128, bk: 192, bmm: 32 }],
  ["tq1_0", [1536, 256], undefined],
  ["tq2_0", [3, 512, 256], undefined],
] as const;

for (const [format, shape, tile] of CASES) {
  Deno.test(`quantize() and dequantize() give the bytes and values of ${format} in chunks`, async () => {
    const values = numbers(shape.reduce((product: number, extent) => product * extent, 1));
    const { scale, values: expected } = rounded(values);
    const options = tile === undefined ? {} : { tile };
    using quantizer = new DeviceAwareQuantizer({ device: small, fallback: null });
    const packed = await quantizer.quantize(shifted(values), shape, format, options);
    const given = format.startsWith("tq") ? {} : { ...options, scale };
    const bytes = encode(expected, shape, format, given);
    assertSame(packed.bytes, bytes);
    const decoded = await quantizer.dequantize({ ...packed, bytes: shifted(bytes) });
    assertSame(decoded, decode(shifted(bytes), shape, format, options));
    // Blocks of ggml have their scale in float16.
    assert(decoded.every((x, at) => Math.abs(x - expected[at]!) <= scale / 2048));
    const { byKind, fallbackCount } = quantizer.stats();
    assertEquals([byKind.quantize!.operations, byKind.dequantize!.operations], [1, 1]);
    assertEquals(fallbackCount, 0);
  });
}

Deno.test("quantize() rounds rows to int8 by their largest value, half to even, in chunks", async () => {
  using quantizer = new DeviceAwareQuantizer({ device: small, fallback: null });
  const few = Float32Array.of(127, 0.5, 1.5, 2.5, -0.5, -1.5, -2.5, -126.5);
  const { bytes, scales } = await quantizer.quantize(few, [8], "int8");
  assertEquals([...new Int8Array(bytes.buffer)], [127, 0, 2, 2, 0, -2, -2, -126]);
  assertEquals(scales, Float32Array.of(1));
  const [rows, width] = [3001, 67];
  const values = numbers(rows * width).fill(0, 67, 134);
  const none = await quantizer.quantize(new Float32Array(16), [2, 8], "int8");
  assertSame(none.bytes, new Uint8Array(16));
  for (const scale of none.scales!) assert(Math.abs(scale * 127e5 - 1) < 1e-6, `scale ${scale}`);
  const packed = await quantizer.quantize(values, [rows, width], "int8");
  const codes = new Int8Array(packed.bytes.buffer);
  const behind = { bytes: shifted(packed.bytes), scales: shifted(packed.scales!) };
  const decoded = await quantizer.dequantize({ ...packed, ...behind });
  for (let row = 0; row < rows; row++) {
    const own = values.subarray(row * width, (row + 1) * width);
    const most = own.reduce((max, x) => Math.max(max, Math.abs(x)), 1e-5);
    // The row of zeros, too, has the scale of its least magnitude.
    assertEquals(packed.scales![row], Math.fround(Math.fround(most) / 127), `scale ${row}`);
    const factor = Math.fround(127 / Math.fround(most));
    own.forEach((x, at) => {
      const index = row * width + at;
      assert(codes[index] === roundedToEven(Math.fround(x * factor)), `element ${index}`);
      assert(Math.abs(decoded[index]! - x) <= most / 253, `element ${index}`);
    });
  }
});

Deno.test("quantize() falls back for each failed operation, and statistics count it", async () => {
  const values = numbers(1024);
  using quantizer = new DeviceAwareQuantizer({ device: small, fallback: device });
  const wide = numbers(WIDE);
  const packed = await quantizer.quantize(wide, [1, WIDE], "int8");
  using alone = new DeviceAwareQuantizer({ device, fallback: null });
  assertSame(packed.bytes, (await alone.quantize(wide, [1, WIDE], "int8")).bytes);
  assertEquals([quantizer.stats().fallbackCount, alone.stats().fallbackCount], [1, 0]);
  const none = new DeviceAwareQuantizer({ device: small, fallback: null });
  await assertRejects(() => none.quantize(wide, [1, WIDE], "int8"), OutOfMemoryError);

  using launched = new DeviceAwareQuantizer({ device, fallback: small });
  const expected = await launched.quantize(values, [4, 256], "tq2_0");
  using fault = injectFault(device.context.library, "cudaLaunchKernel", 2, 701);
  assertEquals(await launched.quantize(values, [4, 256], "tq2_0"), expected);
  fault[Symbol.dispose]();
  const { fallbackCount, operations, provider } = launched.stats();
  assertEquals([fallbackCount, operations], [1, 2]);
  assertEquals(provider, launched.provider);
});

Deno.test("quantize() and dequantize() refuse wrong arguments without a fallback", async () => {
  using quantizer = new DeviceAwareQuantizer({ device, fallback: small });
  const values = new Float32Array(256).fill(1);
  const packed = await quantizer.quantize(values, [1, 256], "tq2_0");
  const bytes = packed.bytes;
  const cases: readonly (readonly [() => Promise<unknown>, typeof Error, string])[] = [
    [() => quantizer.quantize([1] as never, [1], "int8"), TypeError, "values must be"],
    [() => quantizer.quantize(values, [255], "int8"), RangeError, "must have 256 elements"],
    [() => quantizer.quantize(values, [256], "int4" as never), TypeError, "format must be one of"],
    [() => quantizer.quantize(values, [2, 128], "tq2_0"), RangeError, "multiple of 256"],
    [() => quantizer.quantize(values, [16, 16], "tl1"), TypeError, "options.tile"],
    [() => quantizer.quantize(values.map(() => NaN), [256], "i2_s"), RangeError, "finite"],
    [() => quantizer.quantize(values.map(() => Infinity), [256], "int8"), RangeError, "finite"],
    [() => quantizer.dequantize(5 as never), TypeError, "quantized must be an object"],
    [() => quantizer.dequantize({ ...packed, bytes: bytes.slice(1) }), RangeError, "66 bytes"],
    [
      () => quantizer.dequantize({ format: "int8", shape: [256], bytes: new Uint8Array(256) }),
      RangeError,
      "one scale for each of 1 rows",
    ],
    [
      () => quantizer.dequantize({ ...packed, bytes: bytes.map(() => 255) }),
      RangeError,
      "code",
    ],
  ];
  for (const [run, Kind, message] of cases) await assertRejects(run, Kind, message);
  assertEquals(quantizer.stats().fallbackCount, 0);
});
