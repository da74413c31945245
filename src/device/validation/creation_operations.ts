/**
 * Tensors that are made, random numbers and files of tensors, with references.
 *
 * @module
 */

import { type DType, isFloatDType } from "../../memory/dtype.ts";
import {
  arange,
  fromTypedArray,
  full,
  linspace,
  ones,
  tensor,
  zeros,
} from "../../tensor/creation.ts";
import { loadNpy, npyBytesOf } from "../../tensor/files/npy.ts";
import { loadNpz } from "../../tensor/files/npz.ts";
import { loadSafetensors, safetensorsName } from "../../tensor/files/safetensors.ts";
import { bytesOf } from "../../tensor/files/tensor_file.ts";
import { eye } from "../../tensor/manipulation.ts";
import { normal, uniform } from "../../tensor/random.ts";
import type { Tensor } from "../../tensor/tensor.ts";
import { exact, FLOATS, type Matrix, type MatrixOperation } from "./matrix_operations.ts";
import { rounded } from "./tensor_references.ts";

const SEED = 0x0123456789abcdefn;

/** Philox4x32-10 of a position and a key (Salmon, Moraes, Dror and Shaw 2011). */
function philox(position: number, seed: bigint): readonly bigint[] {
  const low = (value: bigint) => BigInt.asUintN(32, value);
  let [x, y, z, w] = [BigInt(position), 0n, 0n, 0n];
  let [k0, k1] = [low(seed), seed >> 32n];
  for (let round = 0; round < 10; round++) {
    const [first, second] = [0xd2511f53n * x, 0xcd9e8d57n * z];
    [x, y, z, w] = [(second >> 32n) ^ y ^ k0, low(second), (first >> 32n) ^ w ^ k1, low(first)];
    [k0, k1] = [low(k0 + 0x9e3779b9n), low(k1 + 0xbb67ae85n)];
  }
  return [x, y, z, w];
}

/** The two numbers of an element in [0, 1), of 52 bits each. */
function units(position: number): readonly [number, number] {
  const [x, y, z, w] = philox(position, SEED) as [bigint, bigint, bigint, bigint];
  return [Number((y << 20n) | (x >> 12n)) / 2 ** 52, Number((w << 20n) | (z >> 12n)) / 2 ** 52];
}

function bell(position: number): number {
  const [u, v] = units(position);
  return Math.sqrt(-2 * Math.log(1 - u)) * Math.sin(2 * Math.PI * (0.25 - Math.abs(v - 0.5)));
}

/** Uniform numbers are the same bits; the largest element below 1 replaces a 1. */
function uniformAt(position: number, dtype: DType): number {
  const [value] = units(position);
  if (rounded(dtype, value) < 1) return rounded(dtype, value);
  return 1 -
    {
      float64: 2 ** -53,
      float32: 2 ** -24,
      float16: 2 ** -11,
      bfloat16: 2 ** -8,
    }[dtype as "float32"]!;
}

const positionsOf = (x: Matrix) => x.map((row, at) => row.map((_, k) => at * row.length + k));

/** The place and type of an operand, for a tensor that is made. */
const like = (x: Tensor) => ({ device: x, dtype: x.dtype });

/** An integer as an element of a type. */
const element = ({ dtype }: Tensor, value: number) =>
  (dtype === "bool" ? value !== 0 : dtype.endsWith("int64") ? BigInt(value) : value) as never;

/** A number as an element: integers are rounded down. */
const stored = (dtype: DType, value: number) =>
  dtype === "bool"
    ? Number(value !== 0)
    : isFloatDType(dtype)
    ? rounded(dtype, value)
    : Math.floor(value);

const made = (run: (x: Tensor) => Tensor, at: (row: number, column: number) => number) =>
  exact(run, (x, dtype) => x.map((row, i) => row.map((_, k) => stored(dtype, at(i, k)))));

/** A tensor of the positions in the first row. */
const counting = (run: (x: Tensor, length: number) => Tensor, at: (k: number) => number) =>
  exact((x) => run(x, x.shape[1]!), (x, dtype) => [x[0]!.map((_, k) => stored(dtype, at(k)))]);

/** A tensor that goes to JavaScript or into the bytes of a file, and comes back. */
const returned = (run: (x: Tensor) => Promise<Tensor>) => exact(run, (x) => x);

/** An archive with one array. */
async function npzOf(x: Tensor): Promise<Uint8Array> {
  const { Uint8ArrayReader, Uint8ArrayWriter, ZipWriter } = await import("@zip.js/zip.js");
  const zip = new ZipWriter(new Uint8ArrayWriter(), { useWebWorkers: false });
  await zip.add("x.npy", new Uint8ArrayReader(await npyBytesOf(x)));
  return await zip.close();
}

/** A safetensors file with one tensor. */
async function safetensorsOf(x: Tensor): Promise<Uint8Array> {
  const bytes = await bytesOf(x);
  const entry = { dtype: safetensorsName(x.dtype), shape: x.shape };
  const header = JSON.stringify({ x: { ...entry, data_offsets: [0, bytes.length] } });
  const text = new TextEncoder().encode(header.padEnd(Math.ceil(header.length / 8) * 8));
  const length = new Uint8Array(BigUint64Array.of(BigInt(text.length)).buffer);
  return Uint8Array.from([...length, ...text, ...bytes]);
}

/** The operations by name; a word after the name is the variant. */
export const CREATION_OPERATIONS: Readonly<Record<string, MatrixOperation>> = {
  zeros: made((x) => zeros(x.shape, like(x)), () => 0),
  ones: made((x) => ones(x.shape, like(x)), () => 1),
  full: made((x) => full(x.shape, element(x, 40), like(x)), () => 40),
  eye: made(
    (x) => eye(x.shape[0]!, x.shape[1], { ...like(x), k: 1 }),
    (i, k) => Number(k === i + 1),
  ),
  arange: counting((x, length) => arange(3, 3 + length, 1, like(x)), (k) => 3 + k),
  "arange down": counting((x) => arange(100, 100 - x.shape[1]!, -1, like(x)), (k) => 100 - k),
  linspace: counting(
    (x, length) => linspace(1, (length + 1) / 2, length, like(x)),
    (k) => 1 + k / 2,
  ),
  tensor: exact((x) => tensor([[1, 0], [0, 1]], like(x)), () => [[1, 0], [0, 1]]),
  fromTypedArray: returned(async (x) =>
    fromTypedArray(await x.toArray() as never, x.shape, like(x))
  ),
  loadNpy: returned(async (x) => await loadNpy(await npyBytesOf(x), like(x))),
  loadNpz: returned(async (x) => (await loadNpz(await npzOf(x), like(x))).x!),
  loadSafetensors: returned(async (x) =>
    (await loadSafetensors(await safetensorsOf(x), { device: x })).tensors.x!
  ),
  uniform: {
    ...{ dtypes: FLOATS, bound: 0 },
    run: (x) => uniform(x.shape, { ...like(x), seed: SEED }),
    reference: (x, dtype) => positionsOf(x).map((row) => row.map((it) => uniformAt(it, dtype))),
  },
  normal: {
    // Besides 4 ULP of ours, those of the reference.
    ...{ dtypes: ["float64"], bound: 8 },
    run: (x) => normal(x.shape, { ...like(x), seed: SEED }),
    reference: (x) => positionsOf(x).map((row) => row.map(bell)),
  },
  "normal rounded": {
    ...{ dtypes: FLOATS.slice(1), bound: 0.51 },
    run: (x) => normal(x.shape, { ...like(x), seed: SEED }),
    reference: (x) => positionsOf(x).map((row) => row.map(bell)),
  },
};
