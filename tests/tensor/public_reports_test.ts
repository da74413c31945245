// Public reports of wrong results in other libraries, tried here. Expected values are NumPy's.

import { assertEquals, assertRejects, assertThrows } from "@std/assert";
import {
  argmax,
  argmin,
  cumulativeSum,
  decodeAttention,
  full,
  linspace,
  loadSafetensors,
  matmul,
  normal,
  ones,
  PagedCache,
  saveSafetensors,
  type Tensor,
  tensor,
  zeros,
} from "../../src/device/tensor.ts";
import { device } from "../support/device.ts";
import { TemporaryDirectory } from "../support/temporary_file.ts";

const place = { device } as const;
const numbers = async (x: Tensor) => Array.from(await x.toArray() as ArrayLike<number>, Number);

Deno.test("argmin() and argmax() of arrays full of the identity give 0 (cupynumeric 987)", async () => {
  const [most, int64] = [Infinity, { ...place, dtype: "int64" } as const];
  const places = [
    argmin(full([5], most, place)),
    argmax(full([5], -most, place)),
    argmin(full([5], 2n ** 63n - 1n, int64)),
    argmax(full([5], -(2n ** 63n), int64)),
  ];
  assertEquals(await Promise.all(places.map((it) => it.item())), places.map(() => 0n));
});

Deno.test("argmax() finds its element anywhere in a long axis (cupy 8031)", async () => {
  const length = 2 ** 22 + 3;
  for (const place of [0, 2 ** 20 + 1, 2 ** 22, length - 1]) {
    using x = zeros([length], { device, dtype: "float32" });
    x.set([place], 1);
    assertEquals(await argmax(x).item(), BigInt(place));
  }
});

Deno.test("matmul() over an empty axis gives zeros and its epilogue (pytorch 31421, 33467, 63352)", async () => {
  using x = zeros([3, 0], place);
  using y = zeros([0, 2], place);
  using bias = tensor([-1, 2], place);
  assertEquals(await matmul(x, y).toNested(), [[0, 0], [0, 0], [0, 0]]);
  const shifted = matmul(x, y, { bias, activation: "relu" });
  assertEquals(await shifted.toNested(), [[0, 2], [0, 2], [0, 2]]);
  const nothing = matmul(zeros([3, 0, 5], place), zeros([3, 5, 0], place));
  assertEquals(nothing.shape, [3, 0, 0]);
});

Deno.test("decodeAttention() reads nothing of unused slots of a page (flashinfer 941)", async () => {
  const k = normal([1, 1, 5, 32], { ...place, seed: 1 });
  const q = normal([1, 1, 1, 32], { ...place, seed: 2 });
  const results = [];
  for (const fill of [NaN, 0]) {
    using cache = new PagedCache({ ...place, pages: 2, pageSize: 16, heads: 1, headSize: 32 });
    for (const memory of [cache.keys, cache.values]) memory.set([], fill);
    const sequence = cache.add();
    cache.append([sequence], k, k);
    results.push(await numbers(decodeAttention(q, cache, [sequence]) as Tensor));
  }
  assertEquals(results[0], results[1]);
});

Deno.test("mean() of float16 does not overflow (pytorch 44350, 91597)", async () => {
  const half = { ...place, dtype: "float16" } as const;
  assertEquals(await full([3], 40000, half).mean().item(), 40000);
  assertEquals(await ones([100_000], half).mean().item(), 1);
});

Deno.test("Booleans, integer powers and cumulative sums have the types and values of NumPy (cupy 2864, 692, 2189, cupynumeric 1076, numpy 26483, 20455)", async () => {
  const flags = full([300], true, { ...place, dtype: "bool" });
  assertThrows(() => flags.subtract(flags as never), TypeError, "bool");
  assertThrows(() => flags.negative(), TypeError, "bool");
  const total = flags.sum();
  assertEquals([total.dtype, await total.item()], ["int64", 300n]);
  const bytes = (values: number[], dtype: "uint8" | "int8") => tensor(values, { ...place, dtype });
  const product = bytes([1, 2], "uint8").multiply(bytes([-1], "int8"));
  assertEquals([product.dtype, await numbers(product)], ["int16", [-1, -2]]);
  assertThrows(() => bytes([1], "uint8").multiply(-1), TypeError, "it is -1");
  assertEquals(await numbers(bytes([7], "int8").pow(bytes([3], "int8"))), [87]); // 343 - 256
  const sums = cumulativeSum(bytes([200, 100], "uint8"));
  assertEquals([sums.dtype, await numbers(sums)], ["uint64", [200, 300]]);
  const counts = cumulativeSum(flags.slice([{ stop: 2 }]));
  assertEquals([counts.dtype, await numbers(counts)], ["int64", [1, 2]]);
});

Deno.test("tensor() keeps 64-bit integers, and refuses numbers that are none (deno 12212)", async () => {
  const wide = [2n ** 64n - 1n, 2n ** 53n + 1n];
  assertEquals(await tensor(wide, { ...place, dtype: "uint64" }).toNested(), wide);
  assertThrows(
    () => tensor([2 ** 53], { ...place, dtype: "uint64" }),
    RangeError,
    "9007199254740992",
  );
});

Deno.test("linspace() beyond the largest difference is that of NumPy (array-api-tests 153)", async () => {
  const most = Number.MAX_VALUE;
  const double = { ...place, dtype: "float64" } as const;
  assertEquals(await numbers(linspace(-most, most, 3, double)), [NaN, Infinity, most]);
});

Deno.test("loadSafetensors() takes headers of every length, and tensors of no or one element (safetensors 231, ComfyUI 15602)", async () => {
  using folder = new TemporaryDirectory();
  const path = `${folder.path}/x.safetensors`;
  const scalar = tensor(7, place);
  for (let length = 1; length <= 8; length++) {
    const names = [`a${"_".repeat(length)}`, "empty", "scalar"] as const;
    const values = [tensor([1.5, -2], place), zeros([0, 3], place), scalar];
    await saveSafetensors(path, Object.fromEntries(names.map((name, at) => [name, values[at]!])));
    const { tensors } = await loadSafetensors(path, place);
    assertEquals(await tensors[names[0]]!.toNested(), [1.5, -2]);
    assertEquals([tensors.empty!.shape, await tensors.scalar!.item()], [[0, 3], 7]);
  }
  await Deno.writeFile(path, new Uint8Array(3), { append: true });
  await assertRejects(() => loadSafetensors(path, place), Error, "is too long");
});
