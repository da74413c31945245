// Every elementwise operation and element type against computations in double precision.

import { device } from "../support/device.ts";
import { assert, assertEquals, assertRejects, assertThrows } from "@std/assert";
import { type DType, DTYPES } from "../../mod.ts";
import * as tensors from "../../src/device/tensor.ts";
import { type Tensor, tensor, zeros } from "../../src/device/tensor.ts";
import { integerRange, isFloatDType } from "../../src/memory/dtype.ts";
import { promote } from "../../src/tensor/kit/promotion.ts";
import {
  BINARY,
  INTEGER,
  rounded,
  UNARY,
  unitsInLastPlace,
} from "../../src/device/validation/tensor_references.ts";

const SPECIAL = [0, -0, 1, -1, 0.5, 1.5, 2.5, -2.5, Infinity, -Infinity, NaN, 1e30, -1e30, 1e-40];
const VALUES = [...SPECIAL, ...Array.from({ length: 99 }, (_, i) => (i - 49) / 13)];
const PAIRS = VALUES.flatMap((x) =>
  [0, -0, 1, -2, 0.75, 3, Infinity, -Infinity, NaN].map((y) => [x, y])
);

type Operation = (...operands: Tensor[]) => Tensor;
const operationOf = (name: string) => (tensors as unknown as Record<string, Operation>)[name]!;

async function numbersOf(result: Tensor): Promise<number[]> {
  return (await result.toNested() as readonly (number | bigint | boolean)[]).map(Number);
}

/**
 * One kernel that computes several operations of two operands of a type, by their names: a kernel
 * for each takes most of the time of a test. `fuse()` has the bits of single operations.
 */
function together(dtype: DType, names: readonly string[], isBinary: (name: string) => boolean) {
  const all = tensors.fuse((place: Tensor, x: Tensor, y: Tensor) =>
    names.map((name) => operationOf(name)(x, ...isBinary(name) ? [y] : []))
      .map((own) => own.dtype === "bool" ? own.astype(dtype) : own)
      .reduce((rest, own, at) => tensors.where(place.equal(at), own, rest) as Tensor)
  );
  return (name: string, x: Tensor, y = x): Tensor => {
    using place = tensor([names.indexOf(name)], { dtype: "int32", device });
    return all(place, x, y);
  };
}

function checkFloats(
  dtype: DType,
  name: string,
  operands: readonly number[][],
  run: (name: string, ...operands: [Tensor, Tensor]) => Tensor,
) {
  const [reference, bound, isTested = () => true] = { ...UNARY, ...BINARY }[name]!;
  const columns = operands[0]!.map((_, k) => operands.map((row) => rounded(dtype, row[k]!)));
  const inputs = columns.map((column) => tensor(column, { dtype, device }));
  const result = run(name, ...inputs as [Tensor, Tensor]);
  return async () => {
    const values = await numbersOf(result);
    const type = result.dtype === "bool" ? "float64" : dtype;
    columns[0]!.forEach((x, at) => {
      if (!isTested(x)) return;
      const expected = reference(x, columns[1]?.[at] ?? 0);
      const error = unitsInLastPlace(type, values[at]!, expected);
      const what = `${name}(${columns.map((column) => column[at])}) of ${dtype}`;
      assert(error <= bound + 0.5, `${what} is ${values[at]}, not ${expected}: ${error} ULP`);
    });
    [...inputs, result].forEach((it) => it.dispose());
  };
}

Deno.test("Elementwise functions of floats are within their bounds of double precision", async () => {
  // All in float32, and the others where their code differs; `gridstride validate` covers the rest.
  // These have kernels of their own in float32. A function has the same bits in any kernel.
  const some = ["add", "divide", "exp", "maximum", "less", "remainder"];
  for (const dtype of ["float32", "float64", "bfloat16"] as const) {
    const names = (table: object) =>
      Object.keys(table).filter((it) => dtype === "float32" || some.includes(it));
    const isShared = (name: string) => dtype !== "float32" || !some.includes(name);
    const checks = [UNARY, BINARY].flatMap((table, at) => {
      const fused = together(dtype, names(table).filter(isShared), () => at === 1);
      return names(table).map((name) =>
        checkFloats(
          dtype,
          name,
          at === 1 ? PAIRS : VALUES.map((x) => [x]),
          (own, ...inputs) => isShared(own) ? fused(own, ...inputs) : operationOf(own)(...inputs),
        )
      );
    });
    for (const check of checks) await check();
  }
});

Deno.test("Elementwise functions of integers are exact and wrap", async () => {
  const tested = ["int8", "uint64"] as const;
  const checks = tested.flatMap((dtype) => {
    const { lowest, highest } = integerRange(dtype)!;
    const edges = [lowest, lowest + 1n, highest, highest - 1n, highest / 3n];
    const some = [0n, 1n, 2n, 3n, 7n, 100n, ...(lowest < 0n ? [-1n, -3n, -100n] : []), ...edges];
    const pairs = some.flatMap((x) =>
      [0n, 1n, 3n, 5n, highest, lowest].map((y) => [x, y] as const)
    );
    const bits = String(highest - lowest + 1n).length > 12
      ? 64
      : Math.log2(Number(highest - lowest + 1n));
    const wrap = lowest < 0n ? BigInt.asIntN : BigInt.asUintN;
    const [x, y] = [0, 1].map((k) => tensor(pairs.map((pair) => pair[k]!), { dtype, device }));
    const run = together(dtype, Object.keys(INTEGER), (name) => INTEGER[name]!.length > 1);
    return Object.entries(INTEGER).map(([name, reference]) => {
      const result = run(name, x!, y);
      return async () => {
        assertEquals(result.dtype, dtype);
        const values = await result.toNested() as readonly (number | bigint)[];
        pairs.forEach(([a, b], at) => {
          if (name === "pow" && b > 64n) return;
          const expected = wrap(bits, reference(a, b));
          assertEquals(BigInt(values[at]!), expected, `${name}(${a}, ${b}) of ${dtype}`);
        });
      };
    });
  });
  for (const check of checks) await check();
});

Deno.test("bitwiseLeftShift() and bitwiseRightShift() give 0 or the sign beyond the width", async () => {
  using x = tensor([-8, 8, 127, -1], { dtype: "int8", device });
  using count = tensor([1, 9, 3, 100], { dtype: "int8", device });
  assertEquals(await tensors.bitwiseLeftShift(x, count).toNested(), [-16, 0, -8, 0]);
  assertEquals(await tensors.bitwiseRightShift(x, count).toNested(), [-4, 0, 15, -1]);
});

Deno.test("astype() converts between all element types, saturating", async () => {
  const numbers = [0, 1, 2.5, -3.5, 300, -70000, 3e9, Infinity, -Infinity, NaN];
  // From all types by one kernel, as to one type they differ in how they are read; and from float32.
  const all = tensors.fuse((place: Tensor, ...own: Tensor[]) =>
    own.map((x) => x.astype("int8"))
      .reduce((rest, x, at) => tensors.where(place.equal(at), x, rest) as Tensor<"int8">)
  );
  const empty = DTYPES.map((dtype) => zeros([numbers.length], { dtype, device }) as Tensor);
  const checks = DTYPES.flatMap((from, at) => {
    const range = integerRange(from);
    const values = numbers.filter((x) =>
      range === undefined
        ? from !== "bool"
        : Number.isInteger(x) && BigInt(x) >= range.lowest && BigInt(x) <= range.highest
    ).map((x) => isFloatDType(from) ? rounded(from, x) : x);
    const padded = numbers.map((_, k) => from === "bool" ? k === 1 : values[k] ?? 0);
    const x = tensor(padded, { dtype: from, device });
    const place = tensor([at], { dtype: "int32", device });
    return DTYPES.filter((to) => from === "float32" || to === "int8").map((to) => {
      const result = from === "float32" ? x.astype(to) : all(place, ...empty.with(at, x));
      return async () => {
        const actual = await numbersOf(result);
        (from === "bool" ? [0, 1] : values).forEach((value, at) => {
          const limits = integerRange(to);
          const whole = Number.isNaN(value) ? 0 : Math.trunc(value);
          const expected = to === "bool"
            ? Number(value !== 0)
            : limits === undefined
            ? rounded(to, value)
            : isFloatDType(from)
            ? Math.min(Math.max(whole, Number(limits.lowest)), Number(limits.highest))
            : Number((limits.lowest < 0n ? BigInt.asIntN : BigInt.asUintN)(
              limits.highest > 2n ** 40n
                ? 64
                : Math.log2(Number(limits.highest - limits.lowest) + 1),
              BigInt(value),
            ));
          assertEquals(actual[at], expected, `${value} of ${from} as ${to}`);
        });
      };
    });
  });
  for (const check of checks) await check();
});

Deno.test("where() and clip() choose elements", async () => {
  using x = tensor([[1, NaN, -3], [4, 5, -6]], { device });
  using y = tensor([10, 20, 30], { dtype: "float64", device });
  using chosen = tensors.where(x.greater(0), x, y);
  assertEquals(chosen.dtype, "float64");
  assertEquals(await chosen.toNested(), [[1, 20, 30], [4, 5, 30]]);
  assertEquals(await x.clip(-2, 4).toNested(), [[1, NaN, -2], [4, 4, -2]]);
  assertEquals(await tensors.clip(x).toNested(), await x.toNested());
});

Deno.test("promote() follows NumPy 2", () => {
  const cases: [DType, DType, DType | undefined][] = [
    ["int8", "uint8", "int16"],
    ["uint64", "int64", "float64"],
    ["int64", "float32", "float64"],
    ["int16", "float32", "float32"],
    ["int16", "float16", "float32"],
    ["float16", "bfloat16", "float32"],
    ["bool", "int8", "int8"],
    ["uint32", "int8", "int64"],
    ["float8_e4m3", "float32", undefined],
  ];
  for (const [a, b, expected] of cases) {
    assertEquals(promote(a, b), expected, `${a} and ${b}`);
    assertEquals(promote(b, a), expected, `${b} and ${a}`);
  }
});

Deno.test("Elementwise functions name operands that do not fit", async () => {
  using x = tensor([1, 2, 3], { device });
  using wide = zeros([2], { device });
  using bits = tensor([true, false, true], { device });
  using count = tensor([1, 2, 3], { dtype: "int32", device });
  using tiny = x.astype("float8_e4m3");
  assertThrows(() => x.add(wide), RangeError, "shapes must broadcast: they are (3,) and (2,)");
  assertThrows(() => x.add("1" as never), TypeError, "operand 2 must be a tensor or a number");
  assertThrows(() => bits.add(bits), TypeError, "operands must be numbers, not bool");
  assertThrows(
    () => tensors.bitwiseAnd(x, x),
    TypeError,
    "must be integers or bool: they are float32",
  );
  assertThrows(() => count.add(1.5), TypeError, "must be an integer with int32 tensors: it is 1.5");
  assertThrows(() => count.add(2 ** 31), TypeError, "must be in -2147483648..2147483647");
  assertThrows(() => tiny.add(x), TypeError, "must have a common one");
  assertThrows(() => tensors.where(x as never, x, x), TypeError, "condition must be bool");
  assertThrows(() => x.astype("float128" as never), TypeError, "float128");
  assertThrows(
    () => tensors.add(x, x, { out: wide }),
    RangeError,
    "options.out must have the shape",
  );
  assertThrows(
    () => tensors.add(x, x, { out: count as never }),
    TypeError,
    "must be float32: it is int32",
  );
  using part = x.slice([{ stop: 2 }]);
  using shifted = x.slice([{ start: 1 }]);
  assertThrows(() => tensors.exp(part, { out: shifted }), RangeError, "must not overlap");
  const square = tensors.ones([3, 3], { device });
  const [row, turned] = [square.at(0), square.transpose()];
  assertThrows(() => tensors.add(row, 1, { out: turned }), RangeError, "must have the shape");
  assertThrows(() => tensors.add(row, turned, { out: turned }), RangeError, "must not overlap");
  tensors.add(x, 1, { out: x });
  assertEquals(await x.toNested(), [2, 3, 4]);
  assertThrows(
    () => tensors.add(x, x, { out: 5 as never }),
    TypeError,
    "options.out must be a Tensor",
  );
  assertThrows(() => tensors.exp(x, null as never), TypeError, "options must be an object");
  assertThrows(() => tensors.max(null as never), TypeError, "x must be a Tensor");
  const gone = x.add(1);
  gone.dispose();
  assertThrows(() => gone.add(1), TypeError, "must not be disposed");
  await assertRejects(() => gone.toArray(), TypeError, "must not be disposed");
});
