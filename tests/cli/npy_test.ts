// Arrays in NumPy's format. NumPy 2.4 wrote the fixtures.

import {
  arrayText,
  NPY_DESCRS,
  readNpy,
  TensorFileError,
  writeNpy,
} from "../../src/device/tensor.ts";
import "../support/cache_directory.ts";
import { assert, assertEquals, assertStringIncludes, assertThrows } from "@std/assert";
import fc from "fast-check";
import { bytesPerElement, type DType, DTYPES } from "../../mod.ts";
import { bytesOfElements, elementsOf, readNpyIndices } from "../../src/cli/npy.ts";
import { patternBytes } from "../support/temporary_file.ts";

function fixture(name: string): Uint8Array<ArrayBuffer> {
  return Deno.readFileSync(new URL(`fixtures/${name}.npy`, import.meta.url));
}

function bytesOf(array: ArrayBufferView<ArrayBuffer>): Uint8Array<ArrayBuffer> {
  return new Uint8Array(array.buffer, array.byteOffset, array.byteLength);
}

/** A file with this header and zeros as data. */
function file(header: string, dataBytes: number, version = [1, 0]): Uint8Array<ArrayBuffer> {
  const text = new TextEncoder().encode(header);
  const length = version[0] === 1
    ? [text.length & 255, text.length >> 8]
    : [text.length & 255, text.length >> 8, 0, 0];
  return Uint8Array.of(
    ...[0x93, 0x4e, 0x55, 0x4d, 0x50, 0x59, ...version, ...length, ...text],
    ...new Uint8Array(dataBytes),
  );
}

function header(descr: string, shape: string, order = "False"): string {
  return `{'descr': ${descr}, 'fortran_order': ${order}, 'shape': ${shape}, }\n`;
}

function problem(bytes: Uint8Array<ArrayBuffer>): string {
  return assertThrows(() => readNpy(bytes), TensorFileError).problem;
}

Deno.test("`readNpy()` reads files of NumPy", () => {
  const expected: readonly [string, DType, number[], ArrayBufferView<ArrayBuffer>][] = [
    ["float32_vector", "float32", [5], Float32Array.of(0, 1, -2.5, 3.1415927, Infinity)],
    ["float64_big_endian", "float64", [2], Float64Array.of(1.5, -2)],
    ["float16_matrix", "float16", [2, 2], Float16Array.of(1, 2, 0.5, 65504)],
    [
      "int64_fortran",
      "int64",
      [2, 3, 4],
      BigInt64Array.from({ length: 24 }, (_, index) => BigInt(index)),
    ],
    ["bool", "bool", [3], Uint8Array.of(1, 0, 1)],
    ["uint8_scalar", "uint8", [], Uint8Array.of(200)],
    ["int32_empty", "int32", [0, 4], new Int32Array()],
    ["uint64", "uint64", [2], BigUint64Array.of(2n ** 64n - 1n, 1n)],
    ["int16_version_2", "int16", [2], Int16Array.of(-1, 2)],
    ["uint32_version_3", "uint32", [2], Uint32Array.of(1, 4294967295)],
  ];
  for (const [name, dtype, shape, elements] of expected) {
    const array = readNpy(fixture(name));
    assertEquals([array.dtypes[0], [...array.shape]], [dtype, shape], name);
    assertEquals(array.descr, NPY_DESCRS[dtype], name);
    assertEquals(array.bytes.slice(), bytesOf(elements), name);
  }
});

Deno.test("`writeNpy()` writes the same bytes as NumPy", () => {
  for (
    const [name, dtype, shape] of [
      ["float32_vector", "float32", [5]],
      ["float16_matrix", "float16", [2, 2]],
      ["bool", "bool", [3]],
      ["uint8_scalar", "uint8", []],
      ["int32_empty", "int32", [0, 4]],
    ] as const
  ) {
    assertEquals(
      writeNpy(NPY_DESCRS[dtype], shape, readNpy(fixture(name)).bytes),
      fixture(name),
      name,
    );
  }
});

Deno.test("`readNpy()` reads any array of `writeNpy()`", () => {
  const shapes = fc.array(fc.nat(4), { maxLength: 5 });
  fc.assert(fc.property(fc.constantFrom(...DTYPES), shapes, (dtype, shape) => {
    const elements = shape.reduce((product, extent) => product * extent, 1);
    const bytes = patternBytes(elements * bytesPerElement(dtype));
    const written = writeNpy(NPY_DESCRS[dtype], shape, bytes);
    assertEquals((written.length - bytes.length) % 64, 0, "the data are aligned");
    const array = readNpy(written);
    assert(array.dtypes.includes(dtype));
    assertEquals([[...array.shape], array.bytes.slice()], [shape, bytes]);
  }));
  const long = Array.from({ length: 64 }, () => 1);
  assertEquals(readNpy(writeNpy("|i1", long, new Uint8Array(1))).shape, long);
});

Deno.test("`readNpy()` converts big-endian and column-major arrays", () => {
  const shape = [3, 5, 2];
  const elements = Int16Array.from({ length: 30 }, (_, index) => 257 * index);
  const text = header("'>i2'", "(3, 5, 2)", "True");
  const bytes = file(text, 60);
  const view = new DataView(bytes.buffer, bytes.length - 60);
  for (let i = 0; i < 3; i++) {
    for (let j = 0; j < 5; j++) {
      for (let k = 0; k < 2; k++) {
        const value = elements[(i * 5 + j) * 2 + k]!;
        view.setInt16(2 * (i + 3 * (j + 5 * k)), value, false);
      }
    }
  }
  const array = readNpy(bytes);
  assertEquals([[...array.shape], array.bytes.slice()], [shape, bytesOf(elements)]);
});

Deno.test("`readNpy()` refuses files that are cut short or too long", () => {
  for (const name of ["float32_vector", "int16_version_2", "uint8_scalar"]) {
    const whole = fixture(name);
    for (let length = 0; length < whole.length; length++) problem(whole.slice(0, length));
    assertStringIncludes(problem(new Uint8Array([...whole, 0])), "too long");
  }
  assertEquals(
    problem(fixture("float32_vector").slice(0, -1)),
    "is cut short: its shape (5) needs 20 bytes and there are 19",
  );
  assertStringIncludes(problem(fixture("float32_vector").slice(0, 50)), "cut short in its header");
});

Deno.test("`readNpy()` refuses element types that kernels do not take", () => {
  assertStringIncludes(problem(fixture("structure")), "structures");
  assertStringIncludes(problem(fixture("complex")), '"<c8"');
  for (
    const descr of ["'O'", "'|O'", "'<U5'", "'|S3'", "'<f16'", "'<M8[ns]'", "''", "'f4'", "'|b2'"]
  ) {
    assertStringIncludes(problem(file(header(descr, "(1,)"), 8)), "kernels take float64, float32");
  }
});

Deno.test("`readNpy()` reads headers of other writers", () => {
  for (
    const text of [
      `{"shape": (2,), "fortran_order": False, "descr": "<f4"}`,
      `  {'shape':(2L,),'descr':'<f4','fortran_order':False}   `,
      `{'descr': '=f4', 'fortran_order': False, 'shape': [2]}`,
      `{\n'descr':\t'<f4' , 'fortran_order' : True , 'shape' : ( 2 , ) , }\n`,
    ]
  ) {
    assertEquals(readNpy(file(text, 8)).shape, [2], text);
  }
});

Deno.test("`readNpy()` refuses malformed headers", () => {
  const cases: readonly [Uint8Array<ArrayBuffer>, string][] = [
    [new Uint8Array(), "does not begin"],
    [new TextEncoder().encode("\x93NUMPY"), "does not begin"],
    [file(header("'<f4'", "(1,)"), 4, [4, 0]), "version 4.0"],
    [file(header("'<f4'", "(1,)"), 4, [0, 9]), "version 0.9"],
    [file(header("'<f4'", "(1,)"), 4, [1, 1]), "version 1.1"],
    [file("", 0), "not a Python dictionary"],
    [file("{", 0), "not a Python dictionary"],
    [file("[]", 0), "without 'descr'"],
    [file("{}", 0), "without 'descr'"],
    [file("{'descr': '<f4', 'shape': ()}", 4), "without 'fortran_order'"],
    [file(header("'<f4'", "(1,)") + "x", 4), "not a Python dictionary"],
    [file(header("'<f4'", "(-1,)"), 4), "'shape'"],
    [file(header("'<f4'", "(1.5,)"), 4), "'shape'"],
    [file(header("'<f4'", "('1',)"), 4), "'shape'"],
    [file(header("'<f4'", "4"), 4), "'shape'"],
    [file(header("'<f4'", "(1,)", "0"), 4), "'fortran_order'"],
    [file(header("'<f4'", "(99999999999999999999,)"), 4), "'shape'"],
    [file(header("'<f4'", "(9007199254740991, 9007199254740991)"), 4), "is cut short"],
    [file(header("__import__('os').system('id')", "(1,)"), 4), "not a Python dictionary"],
    [file(header("'<f4'", "(".repeat(20_000)), 4), "not a Python dictionary"],
    [file("{".repeat(65_000), 0), "not a Python dictionary"],
  ];
  for (const [bytes, message] of cases) assertStringIncludes(problem(bytes), message);
  const long = file(header("'<f4'", "(1,)"), 70_000, [2, 0]);
  new DataView(long.buffer).setUint32(8, 65_537, true);
  assertStringIncludes(problem(long), "65537 bytes");
});

Deno.test("`readNpy()` throws only a TensorFileError for any bytes", () => {
  const start = fixture("float32_vector");
  fc.assert(
    fc.property(
      fc.uint8Array({ maxLength: 300 }),
      fc.nat(80),
      fc.boolean(),
      (noise, at, keepsMagic) => {
        const bytes = keepsMagic ? start.slice() : new Uint8Array(noise);
        if (keepsMagic) bytes.set(noise.subarray(0, 40), 8 + at);
        try {
          readNpy(bytes);
        } catch (error) {
          if (!(error instanceof TensorFileError)) throw error;
        }
      },
    ),
    { numRuns: 500 },
  );
});

Deno.test("`readNpyIndices()` reads numbers of any type and byte order", () => {
  const values = [0, 1, 127, 3];
  const arrays: readonly (readonly [string, ArrayBufferView<ArrayBuffer>])[] = [
    ["|i1", Int8Array.from(values)],
    ["|u1", Uint8Array.from(values)],
    ["<i2", Int16Array.from(values)],
    ["<u2", Uint16Array.from(values)],
    ["<i4", Int32Array.from(values)],
    ["=u4", Uint32Array.from(values)],
    ["<i8", BigInt64Array.from(values, BigInt)],
    ["<u8", BigUint64Array.from(values, BigInt)],
    ["<f2", Float16Array.from(values)],
    ["<f4", Float32Array.from(values)],
    ["<f8", Float64Array.from(values)],
  ];
  const read = (descr: string, shape: string, bytes: Uint8Array) => {
    const whole = file(header(`'${descr}'`, shape, "True"), bytes.length);
    whole.set(bytes, whole.length - bytes.length);
    return Array.from<number | bigint, number>(readNpyIndices(whole), Number);
  };
  for (const [descr, array] of arrays) {
    const bytes = bytesOf(array);
    assertEquals(read(descr, "(4,)", bytes), values, descr);
    assertEquals(read(descr, "(2, 2)", bytes), [0, 127, 1, 3], `column-major ${descr}`);
    const size = bytes.length / 4;
    const reversed = Uint8Array.from(bytes, (_, i) => bytes[i - i % size + size - 1 - i % size]!);
    assertEquals(read(`>${descr.slice(1)}`, "(4,)", reversed), values, `big-endian ${descr}`);
  }
});

Deno.test("`readNpyIndices()` refuses arrays without numbers", () => {
  for (const descr of ["|b1", "|V1"]) {
    const bytes = file(header(`'${descr}'`, "(1,)"), 1);
    assertStringIncludes(
      assertThrows(() => readNpyIndices(bytes), TensorFileError).message,
      `"${descr}": indices are of type`,
    );
  }
});

Deno.test("`arrayText()` prints arrays as NumPy does", () => {
  // The texts are those of NumPy 2.4.
  const cases: readonly [DType, readonly number[], readonly (number | bigint)[], string][] = [
    ["float32", [3], [1, 3, 5.5], "[1.  3.  5.5]"],
    ["float32", [3], [1e-5, 1, NaN], "[1.e-05 1.e+00    nan]"],
    ["float64", [2], [1 / 3, -Infinity], "[0.33333333       -inf]"],
    ["float16", [2], [0.1, 3], "[0.1 3. ]"],
    ["bfloat16", [2], [0.1, -0], "[ 0.1 -0. ]"],
    ["float64", [2, 1, 2], [0, 0, 0, 0], "[[[0. 0.]]\n\n [[0. 0.]]]"],
    ["int32", [2, 2], [1, -2, 300, 4], "[[  1  -2]\n [300   4]]"],
    ["bool", [2], [1, 1], "[ True  True]"],
    ["int64", [], [7n], "7"],
    ["uint8", [0], [], "[]"],
    [
      "int32",
      [2, 1000],
      Array.from({ length: 2000 }, (_, i) => i),
      `[[   0    1    2 ...  997  998  999]
 [1000 1001 1002 ... 1997 1998 1999]]`,
    ],
    [
      "int32",
      [16],
      Array.from({ length: 16 }, (_, i) => i * 1000),
      `[    0  1000  2000  3000  4000  5000  6000  7000  8000  9000 10000 11000
 12000 13000 14000 15000]`,
    ],
  ];
  for (const [dtype, shape, values, expected] of cases) {
    assertEquals(
      arrayText(dtype, shape, elementsOf(dtype, bytesOfElements(dtype, values))),
      expected,
    );
  }
});

Deno.test("arrayText() refuses elements that do not fill the shape", () => {
  for (const count of [0, 1, 3]) {
    assertThrows(
      () => arrayText("int8", [2], Array(count).fill(0)),
      RangeError,
      `there are ${count}`,
    );
  }
});
