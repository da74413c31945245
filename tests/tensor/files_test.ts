// Files of tensors. NumPy 2.4 and safetensors 0.8 wrote the fixtures, and read files live where
// Python has them.

import { device } from "../support/device.ts";
import { python } from "../support/python.ts";
import {
  assert,
  assertEquals,
  assertRejects,
  assertStringIncludes,
  assertThrows,
} from "@std/assert";
import { type DType, DTYPES } from "../../mod.ts";
import {
  arange,
  loadNpy,
  loadNpz,
  loadSafetensors,
  readNpy,
  saveNpy,
  saveNpz,
  saveSafetensors,
  type Tensor,
  tensor,
  TensorFileError,
  writeNpy,
} from "../../src/device/tensor.ts";
import { TemporaryDirectory } from "../support/temporary_file.ts";

const place = { device };
const MIB = 2 ** 20;

function fixture(name: string): Uint8Array<ArrayBuffer> {
  return Deno.readFileSync(new URL(`fixtures/${name}`, import.meta.url));
}

async function contents(tensors: Readonly<Record<string, Tensor>>) {
  const entries = await Promise.all(
    Object.entries(tensors).map(async ([name, it]) => {
      const content = [it.dtype, [...it.shape], await it.toNested()] as const;
      it.dispose();
      return [name, content] as const;
    }),
  );
  return Object.fromEntries(entries);
}

/** Tensors of all types and of layouts with gaps, in their values. */
function samples(): Record<string, Tensor> {
  const values = [[0, 1, 0, 1], [1, 1, 0, 0], [0, 1, 1, 1]];
  const all = DTYPES.map((dtype) => {
    const rows = values.map((row) => row.map((value) => dtype === "bool" ? value === 1 : value));
    return [dtype, tensor(rows as number[][], { ...place, dtype })] as const;
  });
  const x = arange(0, 24, 1, place).reshape([2, 3, 4]);
  return {
    ...Object.fromEntries(all),
    turned: x.permute([2, 0, 1]).flip(0),
    part: x.slice([{}, { start: 1, step: 2 }]),
    scalar: tensor(7n, place),
    none: arange(0, 0, 1, place).reshape([0, 3]),
    __proto__x: tensor(true, place),
  };
}

async function rejection(load: Promise<unknown>): Promise<string> {
  return (await assertRejects(() => load, TensorFileError)).message;
}

Deno.test("`loadNpy()` reads what `saveNpy()` writes, for every type and layout", async () => {
  using folder = new TemporaryDirectory();
  for (const [name, x] of Object.entries(samples())) {
    const path = `${folder.path}/${name}.npy`;
    await saveNpy(path, x);
    const dtype = x.dtype;
    const sources = [path, new URL(`file://${path}`), Deno.readFileSync(path)];
    const [expected] = Object.values(await contents({ x }));
    for (const source of sources) {
      const again = await loadNpy(source, { ...place, dtype });
      assertEquals((await contents({ again })).again, expected, name);
    }
  }
});

Deno.test("`loadNpy()` asks for the type of raw bytes", async () => {
  const bytes = writeNpy("|V1", [2], Uint8Array.of(0x3c, 0x40));
  assertStringIncludes(await rejection(loadNpy(bytes, place)), "float8_e4m3 or float8_e5m2");
  using x = await loadNpy(bytes, { ...place, dtype: "float8_e5m2" });
  assertEquals(await x.toNested(), [1, 2]);
  const floats = writeNpy("<f4", [1], new Uint8Array(4));
  const message = await rejection(loadNpy(floats, { ...place, dtype: "float64" }));
  assertStringIncludes(
    message,
    "must be float32, and it is float64. Convert the tensor by astype()",
  );
});

Deno.test("`loadNpy()` refuses what is no source, and names a missing file", async () => {
  await assertRejects(() => loadNpy(5 as never, place), TypeError, "source must be");
  await assertRejects(() => loadNpy("/no/x.npy", place), Deno.errors.NotFound, '"/no/x.npy"');
  const deep = writeNpy("|u1", new Array(9).fill(1), new Uint8Array(1));
  assertStringIncludes(await rejection(loadNpy(deep, place)), "9 dimensions");
  using bits = await loadNpy(writeNpy("|b1", [3], Uint8Array.of(0, 1, 255)), place);
  assertEquals(await bits.toArray(), Uint8Array.of(0, 1, 1));
});

Deno.test("`loadNpz()` reads archives of NumPy", async () => {
  const x = ["float32", [2, 3], [[0, 0.25, 0.5], [0.75, 1, 1.25]]] as const;
  assertEquals(await contents(await loadNpz(fixture("stored.npz"), place)) as unknown, {
    x,
    fortran: ["float64", ...x.slice(1)],
    flags: ["bool", [2], [true, false]],
    scalar: ["int64", [], -7n],
  });
  const compressed = await contents(await loadNpz(fixture("compressed.npz"), place));
  assertEquals(compressed.x, x as never);
  assertEquals(compressed.zeros, ["int16", [40, 50], new Array(40).fill(new Array(50).fill(0))]);
});

Deno.test("`loadNpz()` reads what `saveNpz()` writes, which is reproducible", async () => {
  using folder = new TemporaryDirectory();
  const path = `${folder.path}/x.npz`;
  for (const compress of [false, true]) {
    const saved = samples();
    delete saved.float8_e4m3;
    delete saved.float8_e5m2;
    await saveNpz(path, saved, { compress });
    const first = Deno.readFileSync(path);
    await saveNpz(path, saved, { compress });
    assertEquals(Deno.readFileSync(path), first);
    assertEquals(await contents(await loadNpz(path, place)), await contents(saved));
  }
});

Deno.test("`loadNpz()` refuses an entry that inflates beyond its own header", async () => {
  const { Uint8ArrayReader, Uint8ArrayWriter, ZipWriter } = await import("@zip.js/zip.js");
  const archive = async (bytes: Uint8Array) => {
    const writer = new ZipWriter(new Uint8ArrayWriter(), { useWebWorkers: false });
    await writer.add("x.npy", new Uint8ArrayReader(bytes));
    return await writer.close() as Uint8Array<ArrayBuffer>;
  };
  const honest = writeNpy("<f8", [10], new Uint8Array(80));
  const bomb = new Uint8Array(64 * MIB);
  bomb.set(honest);
  const message = await rejection(loadNpz(await archive(bomb), place));
  assertStringIncludes(message, "to 67108864: its header declares 208");
  // A file of 3 MiB whose header and archive both declare more.
  const large = writeNpy("|u1", [3_145_600], new Uint8Array(3_145_600));
  large.set(
    new TextEncoder().encode("9999999"),
    new TextDecoder().decode(large).indexOf("3145600"),
  );
  const lying = await archive(large);
  const words = Uint32Array.of(large.length, large.length - 3_145_600 + 9_999_999);
  const [size, lie] = [new Uint8Array(words.buffer, 0, 4), new Uint8Array(words.buffer, 4)];
  for (let at = lying.length - 1; at >= 0; at--) {
    if (size.every((byte, index) => lying[at + index] === byte)) lying.set(lie, at);
  }
  assertStringIncludes(await rejection(loadNpz(lying, place)), "to 10000127: its header");
  const long = writeNpy("<f8", [10], new Uint8Array(80)).slice(0, -1);
  assertStringIncludes(await rejection(loadNpz(await archive(long), place)), "is cut short");
  assertStringIncludes(await rejection(loadNpz(await archive(new Uint8Array(9)), place)), "no");
});

Deno.test("`loadNpz()` verifies the checksum of an entry", async () => {
  const bytes = fixture("stored.npz");
  const at = bytes.findLastIndex((_, at) =>
    bytes[at] === 0x80 && bytes[at + 1] === 0x3f && bytes[at + 2] === 0
  );
  bytes[at] = 0x81;
  assertStringIncludes(await rejection(loadNpz(bytes, place)), "no sound zip file");
});

Deno.test("`loadSafetensors()` reads files of the Python library", async () => {
  const { tensors, metadata } = await loadSafetensors(fixture("python.safetensors"), place);
  assertEquals({ ...metadata }, { format: "pt", note: "é" });
  assertEquals(await contents(tensors) as unknown, {
    w: ["bfloat16", [2, 2], [[1.5, -2], [0.25, 3]]],
    e4m3: ["float8_e4m3", [3], [1.5, -448, 0]],
    e5m2: ["float8_e5m2", [2], [0.25, 57344]],
    ids: ["int64", [2], [1n, -(2n ** 62n)]],
    flag: ["bool", [], true],
    empty: ["float32", [0, 3], []],
  });
});

Deno.test("`loadSafetensors()` reads what `saveSafetensors()` writes", async () => {
  using folder = new TemporaryDirectory();
  const path = `${folder.path}/x.safetensors`;
  const saved = samples();
  await saveSafetensors(path, saved, { metadata: { made: "here" } });
  const { tensors, metadata } = await loadSafetensors(path, place);
  assertEquals({ ...metadata }, { made: "here" });
  assertEquals(await contents(tensors), await contents(saved));
  for (
    const [wrong, options, message] of [
      [null, {}, "tensors must be an object"],
      [{ x: 1 }, {}, 'tensors["x"] must be a Tensor'],
      [{}, { metadata: { x: 1 } }, "object of texts"],
    ] as const
  ) {
    const save = () => saveSafetensors(path, wrong as never, options as never);
    await assertRejects(save, TypeError, message);
  }
});

/** A safetensors file with this header and zeros as elements. */
function headed(header: unknown, dataBytes: number): Uint8Array<ArrayBuffer> {
  const text = new TextEncoder().encode(JSON.stringify(header));
  const file = new Uint8Array(8 + text.length + dataBytes);
  new DataView(file.buffer).setBigUint64(0, BigInt(text.length), true);
  file.set(text, 8);
  return file;
}

Deno.test("`loadSafetensors()` refuses headers that lie", async () => {
  const entry = (start: number, end: number, shape = [4], dtype = "U8") => ({
    dtype,
    shape,
    data_offsets: [start, end],
  });
  const huge = 2 ** 53 - 1;
  const cases: readonly (readonly [unknown, number, string])[] = [
    [{ a: entry(0, 4), b: entry(2, 6) }, 6, '"b" in the file as it overlaps'],
    [{ a: entry(0, 4), b: entry(6, 10) }, 10, "follows a gap"],
    [{ a: entry(0, 4) }, 3, "is cut short: the tensors need 4 bytes, and there are 3"],
    [{ a: entry(0, 4) }, 5, "is too long"],
    [{ a: entry(0, 4, [5]) }, 4, "needs 5 bytes, and 4 of data"],
    [{ a: entry(0, 0, [huge, huge]) }, 0, ", and 0 of data"],
    [{ a: entry(0, huge, [huge]) }, 4, "is cut short"],
    [{ a: entry(4, 0) }, 4, "two integers in order"],
    [{ a: entry(0, 4, [4], "C64") }, 4, "of type"],
    [{ a: entry(0, 4, [-4]) }, 4, "no shape"],
    [{ a: null }, 0, "of type"],
    [{ __metadata__: { a: 1 } }, 0, "no object of texts"],
    [[], 0, "no object"],
  ];
  for (const [header, dataBytes, message] of cases) {
    assertStringIncludes(
      await rejection(loadSafetensors(headed(header, dataBytes), place)),
      message,
    );
  }
  const long = headed({}, 0);
  new DataView(long.buffer).setBigUint64(0, 2n ** 63n, true);
  assertStringIncludes(await rejection(loadSafetensors(long, place)), "9223372036854775808 bytes");
});

/** mulberry32: the same mutations in every run. */
function generator(seed: number): (limit: number) => number {
  return (limit) => {
    seed = seed + 0x6d2b79f5 | 0;
    let mixed = Math.imul(seed ^ seed >>> 15, seed | 1);
    mixed ^= mixed + Math.imul(mixed ^ mixed >>> 7, mixed | 61);
    return ((mixed ^ mixed >>> 14) >>> 0) % limit;
  };
}

/** A file with some bytes replaced, inserted or removed, most of them in its first or last part. */
function mutated(file: Uint8Array<ArrayBuffer>, random: (limit: number) => number) {
  let bytes = [...file];
  for (let count = 1 + random(3); count > 0; count--) {
    const near = Math.min(bytes.length, 160);
    const at = random(4) === 0 ? bytes.length - 1 - random(near) : random(near);
    const kind = random(8);
    if (kind === 0) bytes = bytes.slice(0, random(bytes.length + 1));
    else if (kind === 1) bytes.splice(at, random(9));
    else if (kind === 2) bytes.splice(at, 0, ...bytes.slice(at, at + random(9)));
    else if (kind === 3) bytes[at] = 48 + random(10);
    else if (kind === 4) bytes.fill(255, at, at + 1 + random(8));
    else bytes[at] = random(256);
  }
  return Uint8Array.from(bytes);
}

Deno.test("Loading mutated files throws only a TensorFileError", async () => {
  const loads: readonly (readonly [string, number, (file: Uint8Array) => Promise<unknown>])[] = [
    ["../../cli/fixtures/int64_fortran.npy", 2000, (file) => loadNpy(file, place)],
    ["stored.npz", 600, (file) => loadNpz(file, place)],
    ["compressed.npz", 600, (file) => loadNpz(file, place)],
    ["python.safetensors", 2000, (file) => loadSafetensors(file, place)],
  ];
  const random = generator(1);
  const live = device.memory.memoryAllocated();
  for (const [name, count, load] of loads) {
    const file = fixture(name);
    let refused = 0;
    for (let run = 0; run < count; run++) {
      try {
        const loaded = await load(mutated(file, random)) as Record<string, Disposable> | Tensor;
        const tensors = (loaded as { tensors?: Record<string, Disposable> }).tensors ?? loaded;
        if (Symbol.dispose in tensors) (tensors as Tensor).dispose();
        else for (const it of Object.values(tensors)) it[Symbol.dispose]();
      } catch (error) {
        if (!(error instanceof TensorFileError)) throw error;
        refused++;
      }
    }
    assert(refused > count / 3 && refused < count, `${name}: ${refused} of ${count}`);
  }
  assertEquals(device.memory.memoryAllocated(), live);
});

Deno.test("NumPy and the Python library of safetensors read what is saved", async () => {
  using folder = new TemporaryDirectory();
  const saved = samples();
  const path = (name: string) => `${folder.path}/${name}`;
  await saveNpy(path("x.npy"), saved.turned!);
  await saveNpz(path("x.npz"), saved);
  await saveNpz(path("y.npz"), saved, { compress: true });
  await saveSafetensors(path("x.safetensors"), saved, { metadata: { made: "here" } });
  const text = await python(
    "numpy and safetensors",
    `import sys, json, numpy as np
from safetensors import deserialize
def show(a): return [str(a.dtype), list(a.shape), a.tobytes().hex()]
x, y = np.load("x.npz"), np.load("y.npz")
print(json.dumps([show(np.load("x.npy")), {k: show(x[k]) for k in x}, {k: show(y[k]) for k in y},
  {k: [t["dtype"], t["shape"], bytes(t["data"]).hex()] for k, t in deserialize(open("x.safetensors", "rb").read())}]))`
      .replaceAll(/"(\w+\.\w+)"/g, (_, name) => JSON.stringify(path(name))),
  );
  const bytes = await Promise.all(
    Object.entries(saved).map(async ([name, it]) => {
      const { buffer } = await it.toArray();
      return [name, [[...it.shape], new Uint8Array(buffer).toHex()]] as const;
    }),
  );
  if (text === undefined) return;
  const expected = Object.fromEntries(bytes);
  type Shown = [string, number[], string];
  const [npy, npz, compressed, safe] = JSON.parse(text) as [Shown, ...Record<string, Shown>[]];
  const untyped = (shown?: Record<string, Shown>) =>
    Object.fromEntries(Object.entries(shown!).map(([name, [, ...rest]]) => [name, rest]));
  for (const archive of [npz, compressed, safe]) assertEquals(untyped(archive), expected);
  assertEquals(npy, ["float32", ...expected.turned!]);
  for (const dtype of DTYPES.filter((it): it is DType => !/b|8_/.test(it))) {
    assertEquals([npz![dtype]![0], compressed![dtype]![0]], [dtype, dtype]);
  }
  assertEquals([safe!.bfloat16![0], safe!.float8_e4m3![0], safe!.bool![0]], [
    "BF16",
    "F8_E4M3",
    "BOOL",
  ]);
  for (const it of Object.values(saved)) it.dispose();
});

Deno.test("readNpy() refuses values that are no bytes", () => {
  for (const wrong of [null, "x.npy", Float32Array.of(1)]) {
    assertThrows(() => readNpy(wrong as never), TypeError, "file must be a Uint8Array");
  }
});
