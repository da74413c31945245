// curand_kernel.h against the published vectors of Philox4x32-10, a reference in big integers, and
// values that NVIDIA's own header (cuRAND 10.4) gives on a CPU, where it calls sinf, cosf and logf. In a
// kernel of a GPU it calls their approximations.

import { assertAlmostEquals, assertEquals } from "@std/assert";
import fc from "fast-check";
import { device } from "../support/device.ts";

const SOURCE = `
  #include <curand_kernel.h>

  __global__ void words(unsigned long long seed, unsigned long long subsequence,
                        unsigned long long offset, unsigned long long skip, int skips,
                        unsigned int* out, int n) {
    curandStatePhilox4_32_10_t state;
    curand_init(seed, subsequence, offset, &state);
    for (int i = 0; i < skips; i++) skipahead(skip, &state);
    for (int i = 0; i < n; i++) {
      const uint4 four = i % 3 == 2 ? curand4(&state) : uint4{curand(&state), 0, 0, 0};
      *out++ = four.x;
      if (i % 3 == 2) *out++ = four.y, *out++ = four.z, *out++ = four.w;
    }
  }

  __global__ void numbers(double* out) {
    curandStatePhilox4_32_10_t state;
    curand_init(1234, 5, 16, &state);
    *out++ = curand_uniform(&state);
    *out++ = curand_uniform_double(&state);
    const auto two = [&](auto pair) { *out++ = pair.x, *out++ = pair.y; };
    const auto four = [&](auto all) { *out++ = all.x, *out++ = all.y, *out++ = all.z, *out++ = all.w; };
    two(curand_uniform2_double(&state));
    four(curand_uniform4(&state));
    for (int i = 0; i < 3; i++) *out++ = curand_normal(&state);
    two(curand_normal2(&state));
    four(curand_normal4(&state));
    for (int i = 0; i < 2; i++) *out++ = curand_normal_double(&state);
    two(curand_normal2_double(&state));
    skipahead(6, &state);
    *out++ = curand(&state);
    *out++ = sizeof(state);
  }
`;

const module = await device.compile(SOURCE, { name: "random.cu" });
globalThis.addEventListener("unload", () => module[Symbol.dispose]());

const WORDS = module.kernel(
  "words(unsigned long long seed, unsigned long long subsequence, unsigned long long offset, " +
    "unsigned long long skip, int skips, unsigned int* out, int n)",
);

/** The first words after `skips` skips; every third draw is one of four. */
async function wordsOf(
  count: number,
  [seed, subsequence, offset, skip]: readonly [bigint, bigint, bigint, bigint],
  skips: number,
): Promise<number[]> {
  using out = device.allocate("uint32", 2 * count);
  const draws = Math.floor(count / 6) * 3 + 3;
  WORDS.launch({ grid: 1, block: 1 }, seed, subsequence, offset, skip, skips, out, draws);
  return [...await out.toArray()].slice(0, count);
}

const LOW = 0xffffffffn;

/** Philox4x32-10 as its authors define it: the word at a place of the sequence. */
function philoxWord(key: bigint, counter: bigint, place: number): number {
  let [a, b, c, d] = [0n, 32n, 64n, 96n].map((shift) => counter >> shift & LOW) as [
    bigint,
    bigint,
    bigint,
    bigint,
  ];
  let [k, l] = [key & LOW, key >> 32n];
  for (let round = 0; round < 10; round++) {
    const [p, q] = [a * 0xd2511f53n, c * 0xcd9e8d57n];
    [a, b, c, d] = [(q >> 32n) ^ b ^ k, q & LOW, (p >> 32n) ^ d ^ l, p & LOW];
    [k, l] = [k + 0x9e3779b9n & LOW, l + 0xbb67ae85n & LOW];
  }
  return Number([a, b, c, d][place]);
}

Deno.test("curand() gives the published vectors of Philox4x32-10", async () => {
  const pi = [0x299f31d0a4093822n, 0x0370734413198a2en, 0n, 0x85a308d3243f6a88n] as const;
  const hex = (words: number[]) => words.map((word) => word.toString(16).padStart(8, "0"));
  assertEquals(hex(await wordsOf(4, [0n, 0n, 0n, 0n], 0)), [
    ..."6627e8d5 e169c58d bc57ac4c 9b00dbd8".split(" "),
  ]);
  assertEquals(hex(await wordsOf(4, pi, 4)), [..."d16cfe09 94fdcceb 5001e420 24126ea1".split(" ")]);
  // Four skips of 2^64 - 4 words are 2^64 - 4 blocks, and the offset three more.
  const most = 2n ** 64n - 1n;
  assertEquals(hex(await wordsOf(4, [most, most, 12n, most - 3n], 4)), [
    ..."408f276d 41c83b0e a20bc7c6 6d5451fd".split(" "),
  ]);
});

Deno.test("curand_init() and skipahead() address the words of the 128-bit counter", async () => {
  const word = fc.bigInt(0n, 2n ** 64n - 1n);
  const near = fc.oneof(word, fc.bigInt(0n, 9n), fc.bigInt(2n ** 64n - 9n, 2n ** 64n - 1n));
  await fc.assert(
    fc.asyncProperty(near, near, near, near, async (seed, subsequence, offset, skip) => {
      const first = offset + 3n * skip;
      const expected = Array.from({ length: 30 }, (_, index) => {
        const at = first + BigInt(index);
        const counter = (subsequence << 64n) + (at >> 2n) & (2n ** 128n - 1n);
        return philoxWord(seed, counter, Number(at & 3n));
      });
      assertEquals(await wordsOf(30, [seed, subsequence, offset, skip], 3), expected);
    }),
    { numRuns: 50 },
  );
});

Deno.test("the distributions of curand_kernel.h give NVIDIA's values", async () => {
  using out = device.allocate("float64", 23);
  module.kernel("numbers(double* out)").launch({ grid: 1, block: 1 }, out);
  const uniform = [0.99461495876312256, 0.6175000905059278, 0.34729651108975818];
  uniform.push(0.1718000821496139, 0.68869876861572266, 0.79550027847290039);
  uniform.push(0.59209299087524414, 0.71566158533096313);
  const actual = [...await out.toArray()];
  assertEquals(actual.slice(0, uniform.length), uniform);
  const normal = [-0.46225071, 1.63483357, -0.462273926, 0.0308637321, -2.01831365];
  normal.push(0.396541506, 0.707728088, -0.509884596, -1.1119256);
  const double = [-0.25815012790878777, -1.4896000376977074];
  double.push(-0.10462912279237643, 0.46827663877274067);
  const expected = [...uniform, ...normal, ...double];
  const isDouble = (index: number) => index >= 17;
  for (const [index, value] of expected.entries()) {
    // Sines and logarithms may differ in their last places. __sincosf() has an absolute error of
    // 2^-21.19 within -π..π (CUDA C++ Programming Guide), which the radius of a normal value enlarges.
    const tolerance = isDouble(index) ? 1e-15 : device.info.kind === "host" ? 4e-7 : 1e-5;
    assertAlmostEquals(actual[index]!, value, tolerance, `value ${index}`);
  }
  assertEquals(actual.slice(expected.length, expected.length + 2), [3347046105, 64]);
});
