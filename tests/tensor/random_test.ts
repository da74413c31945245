// Random tensors against the published vectors of Philox4x32-10 and a reference in JavaScript.

import { templates } from "../../src/tensor/kit/expression/kernel_template.ts";
import { device } from "../support/device.ts";
import { assert, assertAlmostEquals, assertEquals, assertThrows } from "@std/assert";
import { signatureOf, sourceOf } from "../../src/tensor/kit/expression/kernel_text.ts";
import { normal, setSeed, type Tensor, uniform } from "../../src/device/tensor.ts";
import { runProgram } from "../support/subprocess.ts";

const place = { device };
const DTYPES = ["float64", "float32", "float16", "bfloat16"] as const;

/** Philox4x32-10 as its paper defines it. */
function philox(counter: readonly number[], key: readonly number[]): number[] {
  let [x, y, z, w] = counter.map(BigInt) as [bigint, bigint, bigint, bigint];
  let [k0, k1] = key.map(BigInt) as [bigint, bigint];
  const low = (value: bigint) => BigInt.asUintN(32, value);
  for (let round = 0; round < 10; round++) {
    const [first, second] = [0xd2511f53n * x, 0xcd9e8d57n * z];
    [x, y, z, w] = [(second >> 32n) ^ y ^ k0, low(second), (first >> 32n) ^ w ^ k1, low(first)];
    [k0, k1] = [low(k0 + 0x9e3779b9n), low(k1 + 0xbb67ae85n)];
  }
  return [x, y, z, w].map(Number);
}

/** 52 bits of two words as a number in [0, 1). */
const unit = (low: number, high: number) => (high + (low >>> 12) / 2 ** 20) / 2 ** 32;

/** The two uniform numbers of an element. */
function units(position: number, seed: bigint): [number, number] {
  const counter = [position % 2 ** 32, Math.floor(position / 2 ** 32), 0, 0];
  const key = [Number(seed & 0xffffffffn), Number(seed >> 32n)];
  const [x, y, z, w] = philox(counter, key) as [number, number, number, number];
  return [unit(x, y), unit(z, w)];
}

// "Random123" 1.14, tests/kat_vectors: counter, key, result.
const VECTORS = [
  ["00000000 00000000 00000000 00000000 00000000 00000000", "6627e8d5 e169c58d bc57ac4c 9b00dbd8"],
  ["ffffffff ffffffff ffffffff ffffffff ffffffff ffffffff", "408f276d 41c83b0e a20bc7c6 6d5451fd"],
  ["243f6a88 85a308d3 13198a2e 03707344 a4093822 299f31d0", "d16cfe09 94fdcceb 5001e420 24126ea1"],
] as const;

Deno.test("The generator has the published vectors of Philox4x32-10", async () => {
  const text = {
    name: "vectors",
    template: templates.random,
    dtypes: new Set<never>(),
    parameters: ["const unsigned int* in", "unsigned int* out"],
    body: `const random::Words words = random::philox({in[0], in[1], in[2], in[3]}, in[4], in[5]);
      out[0] = words.x; out[1] = words.y; out[2] = words.z; out[3] = words.w;`,
  } as const;
  using module = await device.compile(sourceOf(text, "threads"));
  const kernel = module.kernel(signatureOf(text) as "vectors(const unsigned int*, unsigned int*)");
  const parse = (words: string) => Uint32Array.from(words.split(" "), (word) => parseInt(word, 16));
  for (const [input, expected] of VECTORS) {
    using buffer = device.upload(parse(input));
    using out = device.allocate("uint32", 4);
    kernel.launch({ grid: 1, block: 1 }, buffer, out);
    assertEquals(await out.toArray(), parse(expected));
    assertEquals(philox([...parse(input)].slice(0, 4), [...parse(input)].slice(4)), [
      ...parse(expected),
    ]);
  }
});

Deno.test("uniform() and normal() depend on the seed and the position only", async () => {
  const seed = 0xfedcba9876543210n;
  const length = 40_000;
  using plain = uniform([length], { ...place, seed, dtype: "float64" });
  using box = uniform([20, 1000, 2], { ...place, seed, dtype: "float64", low: -3, high: 5 });
  using bells = normal([length], { ...place, seed, dtype: "float64", mean: 10, deviation: 4 });
  using standard = normal([length], { ...place, seed, dtype: "float64" });
  const [u, v, x, z] = await Promise.all([plain, box, bells, standard].map((it) => it.toArray()));
  for (const position of [0, 1, 2, 255, 256, 16_383, 16_384, 39_999]) {
    const [first, second] = units(position, seed);
    assertEquals(u![position], first);
    assertAlmostEquals(v![position]!, -3 + 8 * first, 1e-15);
    const angle = 2 * Math.PI * (0.25 - Math.abs(second - 0.5));
    const exact = Math.sqrt(-2 * Math.log1p(-first)) * Math.sin(angle);
    assert(Math.abs(z![position]! / exact - 1) < 8 * 2 ** -52, `${position}: ${z![position]}`);
    assertAlmostEquals(x![position]!, 10 + 4 * exact, 1e-13);
  }
});

Deno.test("uniform() and normal() round the same numbers to every element type", async () => {
  for (const make of [uniform, normal]) {
    using doubles = make([1000], { ...place, seed: 3, dtype: "float64" });
    for (const dtype of DTYPES.slice(1)) {
      using x = make([1000], { ...place, seed: 3, dtype });
      using rounded = doubles.astype("float32").astype(dtype);
      const [values, expected] = [await x.toArray(), await rounded.toArray()];
      // A number below 1 that would be rounded to 1 is the one before.
      if (make === normal) assertEquals(values, expected);
      else assert(values.filter((value, at) => value !== expected[at]).length < 10, dtype);
    }
  }
});

Deno.test("uniform() never returns high", async () => {
  for (const dtype of DTYPES) {
    for (const [low, high] of [[1, 2], [-2, -1], [-1, 0], [0, 0.1]] as const) {
      using x = uniform([100_000], { ...place, seed: 1, low, high, dtype });
      using rounded = x.astype("float64");
      const values = await rounded.toArray();
      assert(values.every((value) => value >= low - 1e-3 && value < high), `${dtype} ${high}`);
      const middle = values.filter((value) => value < (low + high) / 2).length;
      assert(Math.abs(middle - 50_000) < 1000, `${dtype} ${low}..${high}: ${middle}`);
    }
  }
});

Deno.test("normal() has the moments and quantiles of the distribution", async () => {
  const length = 1 << 20;
  using x = normal([length], { ...place, seed: 11, mean: 2, deviation: 3 });
  const values = Float64Array.from(await x.toArray(), (value) => (value - 2) / 3);
  const moment = (power: number) => values.reduce((sum, value) => sum + value ** power, 0) / length;
  // Six standard errors of the sample moments, whose variances are 1, 2, 15 and 96.
  for (
    const [power, expected, variance] of [[1, 0, 1], [2, 1, 2], [3, 0, 15], [4, 3, 96]] as const
  ) {
    assertAlmostEquals(moment(power), expected, 6 * Math.sqrt(variance / length));
  }
  for (const [limit, share] of [[0, 0.5], [1, 0.841345], [-2, 0.0227501], [3, 0.998650]] as const) {
    const below = values.filter((value) => value < limit).length / length;
    assertAlmostEquals(below, share, 6 * Math.sqrt(share * (1 - share) / length));
  }
  const products = values.subarray(1).map((value, at) => value * values[at]!);
  const correlation = products.reduce((sum, value) => sum + value, 0) / length;
  assertAlmostEquals(correlation, 0, 6 / Math.sqrt(length));
});

Deno.test("setSeed() repeats the numbers of calls without a seed", async () => {
  const draw = async () => {
    const tensors: Tensor[] = [uniform([5], place), uniform([5], place), normal([5], place)];
    const values = await Promise.all(tensors.map((it) => it.toArray()));
    for (const it of tensors) it.dispose();
    return values.map((it) => it.join());
  };
  const unseeded = await draw();
  setSeed(42n);
  const first = await draw();
  const later = await draw();
  setSeed(42);
  assertEquals(await draw(), first);
  assertEquals(new Set([...unseeded, ...first, ...later]).size, 9);
});

const PROGRAM = `
import { openDevice } from "@gridstride/cuda";
import { normal, uniform } from "@gridstride/cuda/tensor";
using device = openDevice(Deno.env.get("GRIDSTRIDE_DEVICE") ?? "host");
for (const dtype of ["float64", "bfloat16"]) {
  for (const make of [uniform, normal]) {
    using x = make([3, 30011], { device, seed: 2n ** 63n + 5n, dtype });
    const digest = await crypto.subtle.digest("SHA-256", await x.toArray());
    console.log(dtype, make.name, new Uint8Array(digest).toHex());
  }
}
`;

Deno.test("uniform() and normal() give the same bits in both forms of kernels", async () => {
  const [block, threads] = await Promise.all(["0", "1"].map(async (GRIDSTRIDE_SIMULATE) => {
    const { code, stdout, stderr } = await runProgram(PROGRAM, {
      environment: { GRIDSTRIDE_SIMULATE },
    });
    assertEquals([code, stderr], [0, ""]);
    return stdout.trim().split("\n");
  }));
  assertEquals(block!.length, 4);
  assertEquals(threads, block);
});

Deno.test("uniform() and normal() refuse bad options", () => {
  const cases: readonly (readonly [() => unknown, typeof TypeError, string])[] = [
    [() => uniform([2], { ...place, low: NaN }), RangeError, "options.low must be a finite number"],
    [() => uniform([2], { ...place, low: 2 }), RangeError, "high must be above low, which is 2"],
    [() => uniform([2], { ...place, low: -1e308, high: 1e308 }), RangeError, "high - options.low"],
    [() => normal([2], { ...place, deviation: -1 }), RangeError, "deviation must be at least 0"],
    [() => normal([2], { ...place, mean: "1" as never }), RangeError, "options.mean must be"],
    [
      () => normal([2], { ...place, seed: 0.5 }),
      RangeError,
      "seed must be an integer in 0..2^64-1",
    ],
    [() => setSeed(2n ** 64n), RangeError, "Cannot set the seed as seed must be an integer"],
    [() => uniform([2], { ...place, dtype: "int32" }), TypeError, 'bfloat16: it is "int32"'],
    [() => uniform([-2], place), RangeError, "shape"],
  ];
  for (const [make, Kind, message] of cases) {
    assertThrows(make, Kind, message);
  }
});
