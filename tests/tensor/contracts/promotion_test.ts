// Element types of results, from tables. Tensors without elements have them, and run no kernel.

import { assertEquals, assertThrows } from "@std/assert";
import type { DType } from "../../../mod.ts";
import * as tensors from "../../../src/device/tensor.ts";
import { concat, type Tensor, where, zeros } from "../../../src/device/tensor.ts";
import { type Promote, promote } from "../../../src/tensor/kit/promotion.ts";
import { device } from "../../support/device.ts";

const SHORT = {
  b: "bool",
  u1: "uint8",
  u2: "uint16",
  u4: "uint32",
  u8: "uint64",
  i1: "int8",
  i2: "int16",
  i4: "int32",
  i8: "int64",
  f2: "float16",
  bf: "bfloat16",
  f4: "float32",
  f8: "float64",
  e4: "float8_e4m3",
  e5: "float8_e5m2",
} as const satisfies Readonly<Record<string, DType>>;

type Short = keyof typeof SHORT;
/** The types of the table's columns. */
const NAMES = [
  "b",
  "u1",
  "u2",
  "u4",
  "u8",
  "i1",
  "i2",
  "i4",
  "i8",
  "f2",
  "bf",
  "f4",
  "f8",
  "e4",
  "e5",
] as const;

/** What the table has for two types, as the compiler promotes them. */
type Cell<A extends Short, B extends Short> = {
  [S in Short]: (typeof SHORT)[S] extends Promote<(typeof SHORT)[A], (typeof SHORT)[B]> ? S : never;
}[Short] extends infer S ? [S] extends [never] ? "." : S : never;

type Row<A extends Short, Columns extends readonly Short[]> = {
  readonly [At in keyof Columns]: Cell<A, Columns[At]>;
};

/**
 * The common types. Those of NumPy 2 and the array API standard are `np.promote_types()` of NumPy;
 * `bfloat16` contains 8-bit integers, as `float16` does, and joins that in `float32`. A dot stands for
 * none.
 */
const COMMON = {
  b: ["b", "u1", "u2", "u4", "u8", "i1", "i2", "i4", "i8", "f2", "bf", "f4", "f8", ".", "."],
  u1: ["u1", "u1", "u2", "u4", "u8", "i2", "i2", "i4", "i8", "f2", "bf", "f4", "f8", ".", "."],
  u2: ["u2", "u2", "u2", "u4", "u8", "i4", "i4", "i4", "i8", "f4", "f4", "f4", "f8", ".", "."],
  u4: ["u4", "u4", "u4", "u4", "u8", "i8", "i8", "i8", "i8", "f8", "f8", "f8", "f8", ".", "."],
  u8: ["u8", "u8", "u8", "u8", "u8", "f8", "f8", "f8", "f8", "f8", "f8", "f8", "f8", ".", "."],
  i1: ["i1", "i2", "i4", "i8", "f8", "i1", "i2", "i4", "i8", "f2", "bf", "f4", "f8", ".", "."],
  i2: ["i2", "i2", "i4", "i8", "f8", "i2", "i2", "i4", "i8", "f4", "f4", "f4", "f8", ".", "."],
  i4: ["i4", "i4", "i4", "i8", "f8", "i4", "i4", "i4", "i8", "f8", "f8", "f8", "f8", ".", "."],
  i8: ["i8", "i8", "i8", "i8", "f8", "i8", "i8", "i8", "i8", "f8", "f8", "f8", "f8", ".", "."],
  f2: ["f2", "f2", "f4", "f8", "f8", "f2", "f4", "f8", "f8", "f2", "f4", "f4", "f8", ".", "."],
  bf: ["bf", "bf", "f4", "f8", "f8", "bf", "f4", "f8", "f8", "f4", "bf", "f4", "f8", ".", "."],
  f4: ["f4", "f4", "f4", "f8", "f8", "f4", "f4", "f8", "f8", "f4", "f4", "f4", "f8", ".", "."],
  f8: ["f8", "f8", "f8", "f8", "f8", "f8", "f8", "f8", "f8", "f8", "f8", "f8", "f8", ".", "."],
  e4: [".", ".", ".", ".", ".", ".", ".", ".", ".", ".", ".", ".", ".", "e4", "."],
  e5: [".", ".", ".", ".", ".", ".", ".", ".", ".", ".", ".", ".", ".", ".", "e5"],
} as const satisfies {
  readonly [A in Short]: Row<A, typeof NAMES>;
};

const typeOf = (short: string | undefined) => SHORT[short as Short] as DType;

/** The pairs of the table with their common type. */
const PAIRS = Object.entries(COMMON).flatMap(([row, cells]) =>
  cells.map((cell, at): [DType, DType, DType | undefined] => [
    typeOf(row),
    typeOf(NAMES[at]),
    cell === "." ? undefined : typeOf(cell),
  ])
);

const empty = (dtype: DType) => zeros([0], { device, dtype }) as Tensor;

Deno.test("Two element types have NumPy's common one, for all pairs", () => {
  assertEquals(PAIRS.length, 15 * 15);
  const condition = empty("bool") as Tensor<"bool">;
  for (const [a, b, expected] of PAIRS) {
    const text = `${a} and ${b}`;
    assertEquals(promote(a, b), expected, text);
    const [x, y] = [empty(a), empty(b)];
    if (expected === undefined) {
      for (const run of [() => concat([x, y]), () => where(condition, x, y)]) {
        assertThrows(run, TypeError, "must have a common one", text);
      }
      continue;
    }
    assertEquals(concat([x, y]).dtype, expected, text);
    assertEquals(where(condition, x, y).dtype, expected, text);
    if (expected.startsWith("float8")) continue;
    assertEquals(tensors.equal(x, y).dtype, "bool", text);
    if (expected !== "bool") assertEquals(tensors.maximum(x, y).dtype, expected, text);
  }
});

Deno.test("Three element types are promoted from the left", () => {
  for (const [a, b, expected] of PAIRS) {
    if (expected === undefined) continue;
    for (const c of Object.values(SHORT)) {
      const last = PAIRS.find(([x, y]) => x === expected && y === c)![2];
      assertEquals(promote(a, b, c), last, `${a}, ${b} and ${c}`);
    }
  }
});

/** Results of functions without integer results, sums and means of each type. */
const RESULTS: {
  readonly [S in Exclude<Short, `e${string}`>]: readonly [
    float: Short | undefined,
    sum: Short,
    mean: Short,
  ];
} = {
  b: [undefined, "i8", "f8"],
  i1: ["f2", "i8", "f8"],
  u1: ["f2", "u8", "f8"],
  i2: ["f4", "i8", "f8"],
  u2: ["f4", "u8", "f8"],
  i4: ["f8", "i8", "f8"],
  u4: ["f8", "u8", "f8"],
  i8: ["f8", "i8", "f8"],
  u8: ["f8", "u8", "f8"],
  f2: ["f2", "f2", "f2"],
  bf: ["bf", "bf", "bf"],
  f4: ["f4", "f4", "f4"],
  f8: ["f8", "f8", "f8"],
};

const FLOAT_FUNCTIONS = [
  ...["reciprocal", "sqrt", "rsqrt", "exp", "exp2", "expm1", "log", "log2", "log10", "log1p"],
  ...["sin", "cos", "tan", "asin", "acos", "atan", "sinh", "cosh", "tanh", "asinh", "acosh"],
  ...["atanh", "erf", "gelu", "geluTanh", "silu", "sigmoid", "softplus"],
];
const FLOAT_PAIRS = ["atan2", "hypot", "copysign", "nextafter", "logaddexp"];

type Call = (...operands: Tensor[]) => Tensor;
const call = (name: string) => (tensors as unknown as Record<string, Call>)[name]!;

Deno.test("Functions of integers give the smallest float that holds them, sums 64 bits, means float64", () => {
  for (const [short, [float, sum, mean]] of Object.entries(RESULTS)) {
    const x = empty(typeOf(short));
    for (const name of [...FLOAT_FUNCTIONS, ...FLOAT_PAIRS]) {
      const run = () => call(name)(x, ...FLOAT_PAIRS.includes(name) ? [x] : []).dtype;
      if (float === undefined) assertThrows(run, TypeError, "numbers, not bool", name);
      else assertEquals(run(), typeOf(float), `${name} of ${x.dtype}`);
    }
    const rows = x.reshape([0, 3]);
    for (const name of ["sum", "prod"] as const) {
      assertEquals(tensors[name](rows, { axis: 1 }).dtype, typeOf(sum), `${name} of ${x.dtype}`);
    }
    for (const name of ["mean", "variance", "std"] as const) {
      assertEquals(tensors[name](rows, { axis: 1 }).dtype, typeOf(mean), `${name} of ${x.dtype}`);
    }
    const quotient = /^[fe]|bf/.test(short) ? typeOf(short) : "float64";
    if (short !== "b") assertEquals(tensors.divide(x, x).dtype, quotient, `divide ${x.dtype}`);
    for (const name of ["argmax", "argmin", "countNonzero"] as const) {
      assertEquals(tensors[name](rows, { axis: 1 }).dtype, "int64", `${name} of ${x.dtype}`);
    }
    for (const name of ["max", "min"] as const) {
      assertEquals(tensors[name](rows, { axis: 1 }).dtype, x.dtype, `${name} of ${x.dtype}`);
    }
  }
});

Deno.test("A number takes the tensor's element type, and not its own", () => {
  for (const dtype of ["int8", "uint64", "float16", "bfloat16", "float32"] as const) {
    const x = empty(dtype);
    for (const number of [1, 1n]) {
      assertEquals(tensors.add(x, number).dtype, dtype);
      assertEquals(call("subtract")(number as never, x).dtype, dtype);
      assertEquals(tensors.less(x, number).dtype, "bool");
    }
    const quotient = dtype.includes("int") ? "float64" : dtype;
    assertEquals(tensors.divide(x, 2).dtype, quotient);
  }
});
