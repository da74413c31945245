// fuse(): the results of fused operations, which are those of single ones.

import { device } from "../support/device.ts";
import { forms } from "../support/tensor_forms.ts";
import { assert, assertEquals, assertThrows } from "@std/assert";
import fc from "fast-check";
import {
  arange,
  fuse,
  setKernelFusion,
  type Tensor,
  tensor,
  where,
  zeros,
} from "../../src/device/tensor.ts";

import {
  type ExpressionNode,
  ExpressionWriter,
  keyOf,
  operationNode,
} from "../../src/tensor/kit/expression/node.ts";

type Step = readonly [name: string, operand: number];

const STEPS = [
  "add",
  "multiply",
  "subtract",
  "divide",
  "maximum",
  "abs",
  "tanh",
  "square",
  "select",
];

/** Applies random operations, with numbers, another tensor and earlier results. */
function run(
  steps: readonly Step[],
  x: Tensor<"float32">,
  y: Tensor<"float32">,
): Tensor<"float32"> {
  let value = x;
  for (const [name, operand] of steps) {
    const other = operand === 0 ? y : operand === 1 ? 1.5 : operand === 2 ? x : value;
    switch (name) {
      case "abs":
      case "tanh":
      case "square":
        value = value[name]();
        break;
      case "select":
        value = where(value.greater(0.5), value, other);
        break;
      default:
        value = value[name as "add"](other);
    }
  }
  return value;
}

Deno.test("fuse() has the bits of single operations for random expressions", async () => {
  const x = tensor([[0.5, -1, 3], [1e30, NaN, -0]], { device });
  const y = tensor([2, -0.25, 1e-20], { device });
  const step = fc.tuple(fc.constantFrom(...STEPS), fc.nat(3));
  await fc.assert(
    fc.asyncProperty(fc.array(step, { minLength: 3, maxLength: 9 }), async (steps) => {
      const fused = fuse((a: Tensor<"float32">, b: Tensor<"float32">) => run(steps, a, b));
      const result = await fused(x, y).toArray();
      setKernelFusion(false);
      try {
        assertEquals(await fused(x, y).toArray(), result, JSON.stringify(steps));
      } finally {
        setKernelFusion(true);
      }
      assertEquals(await run(steps, x, y).toArray(), result, JSON.stringify(steps));
    }),
    { numRuns: 8, seed: 14 },
  );
});

Deno.test("fuse() rounds 16-bit floats after every operation, as single operations do", async () => {
  const functions = {
    float16: (a: Tensor) => a.multiply(3).add(0.1).tanh(),
    bfloat16: (a: Tensor) => a.multiply(a).subtract(a),
  };
  for (const [dtype, f] of Object.entries(functions)) {
    const x = tensor([1, 0.1, 3.3, 1000, 7e4], { device, dtype: dtype as "float16" });
    assertEquals(await fuse(f)(x).toArray(), await f(x).toArray());
  }
});

Deno.test("fuse() ends in a reduction, casts and broadcasts in one kernel", async () => {
  const f = fuse((x: Tensor<"int32">, y: Tensor<"float32">) =>
    x.astype("float32").multiply(y).add(1).sum({ axis: 0 })
  );
  const x = tensor([[1, 2], [3, 4]], { device, dtype: "int32" });
  const y = tensor([[10], [100]], { device });
  assertEquals(await f(x, y).toNested(), [312, 422]);
  assertEquals((f.explain(x, y).match(/__global__/g) ?? []).length, 1);
  assert(f.explain(x, y).includes("reduce_row"), "the kernel reduces");
  const means = fuse((a: Tensor<"float32">) => a.square().mean({ axis: -1, keepDims: true }));
  assertEquals(await means(zeros([2, 40_000], { device }).add(3)).toNested(), [[9], [9]]);
});

Deno.test("fuse() records a function once for each combination of types and shapes", async () => {
  let calls = 0;
  const f = fuse((x: Tensor) => {
    calls++;
    return x.add(1).multiply(2);
  });
  const x = tensor([1, 2], { device });
  f(x).dispose();
  f(x).dispose();
  assertEquals(calls, 1);
  assertEquals(await f(tensor([[1]], { device })).toNested(), [[4]]);
  assertEquals(await f(x.astype("float64")).toNested(), [4, 6]);
  assertEquals(calls, 3);
});

Deno.test("fuse() keeps tensors from outside, and refuses what it cannot fuse", async () => {
  const x = tensor([1, 2], { device });
  const outside = tensor([10, 20], { device });
  const f = fuse((a: Tensor<"float32">) => a.add(outside));
  assertEquals(await f(x).toNested(), [11, 22]);
  outside.dispose();
  assertThrows(() => f(x), TypeError, "must not be disposed");
  const refused = (g: (a: Tensor<"float32">) => Tensor, message: string) =>
    assertThrows(() => fuse(g)(x), TypeError, message);
  refused((a) => a.reshape([2, 1]), "only elementwise operations");
  refused((a) => a.sum().add(1), "a reduction must be the last operation");
  refused((a) => a, "must return the result of its operations");
  refused(() => x, "must return the result of its operations");
  refused(() => 5 as never, "must return the result");
  assertThrows(() => fuse(5 as never), TypeError, "f must be a function");
  assertThrows(() => fuse(() => x)(), TypeError, "f must have operands");
  assertThrows(() => setKernelFusion(1 as never), TypeError, "enabled must be a boolean");
});

Deno.test("fuse() copies operands whose strides are too many arguments for one kernel", async () => {
  const shape = [2, 3, 2, 3, 2, 2];
  const x = arange(144, undefined, 1, { device }).reshape(shape);
  const pairs = Array.from({ length: 8 }, (_, k) => {
    const own = shape.map((_, axis) => axis === 2 * (k % 3) ? 2 : 1);
    return tensor([k, 10 * k], { device }).reshape(own);
  });
  const f = fuse((...all: Tensor<"float32">[]) => all.reduce((sum, it) => sum.add(it)));
  const expected = pairs.reduce((sum, it) => sum.add(it), x);
  assertEquals(await f(x, ...pairs).toArray(), await expected.toArray());
  const many = Array.from({ length: 32 }, () => x);
  assertThrows(() => f(...many), RangeError, "Cannot fuse operations as one kernel");
  assertThrows(() => f(...many), RangeError, "32 operands and 0 numbers need 68");
  for (const axis of [5, 3]) {
    const sums = fuse((...all: Tensor<"float32">[]) => f(...all).sum({ axis }));
    const turned = x.permute([0, 1, 4, 3, 2, 5]);
    const all = Array.from({ length: 12 }, (_, k) => k % 2 ? x : turned);
    const total = all.reduce((sum, it) => sum.add(it)).sum({ axis });
    assertEquals(await sums(...all).toArray(), await total.toArray());
    assertThrows(() => sums(...many), RangeError, "sum() as one kernel must have at most 64");
  }
});

Deno.test("fuse() rounds a product before it is added to", async () => {
  const f = fuse((x: Tensor<"float32">, y: Tensor<"float32">) => x.multiply(x).subtract(y));
  for (const on of forms.values()) {
    // The square of 1 + 2^-12 is 1 + 2^-11 + 2^-24, and is rounded to 1 + 2^-11.
    const x = zeros([40], { device: on }).add(1 + 2 ** -12);
    const y = zeros([40], { device: on }).add(1 + 2 ** -11);
    assertEquals([...await f(x, y).toArray()], Array(40).fill(0));
  }
});

Deno.test("fuse() takes time in proportion to the number of its operations", async () => {
  // Each step uses the one before twice: as a tree, the expression has 2⁶⁰ leaves.
  const double = fuse((x: Tensor<"float32">) => {
    let value = x;
    for (let step = 0; step < 60; step++) value = value.add(value);
    return value;
  });
  using x = tensor([1, 2 ** -60], { device });
  using y = double(x);
  assertEquals(await y.toArray(), Float32Array.of(2 ** 60, 1));
  const sum = fuse((x: Tensor<"float32">) => {
    let value = x;
    for (let step = 0; step < 40; step++) value = where(value.less(0), value, value.add(value));
    return value.sum();
  });
  using total = sum(x);
  assertEquals(await total.item(), 2 ** 40);
});

Deno.test("keyOf() and the statements of an expression are linear in its nodes", () => {
  const input: ExpressionNode = { kind: "input", index: 0, dtype: "float32" };
  const chain = (length: number) => {
    let node: ExpressionNode = input;
    // Longer than the stack is deep.
    for (let step = 0; step < length; step++) node = operationNode("add", [node, node], "float32");
    return node;
  };
  for (
    const measure of [
      (root: ExpressionNode) => keyOf(root).length,
      (root: ExpressionNode) => {
        const writer = new ExpressionWriter(() => "x");
        writer.value(root);
        return writer.lines.length;
      },
    ]
  ) {
    const [some, more] = [measure(chain(10_000)), measure(chain(20_000))];
    assert(more > some && more < 2.5 * some, `${some}, then ${more}`);
  }
  let unshared: ExpressionNode = input;
  for (let step = 0; step < 20_000; step++) unshared = operationNode("abs", [unshared], "float32");
  assert(keyOf(unshared).length < 200_000, "a chain of which nothing is shared");
});

Deno.test("fuse() drops operations that the result does not use, with their numbers and operands", async () => {
  using x = tensor([1, 2], { device });
  using wide = zeros([5, 2], { device });
  const cases: readonly ((a: Tensor<"float32">, b: Tensor<"float32">) => Tensor)[] = [
    (a) => {
      a.add(5);
      return a.multiply(3);
    },
    (a) => {
      const sum = a.add(5);
      a.multiply(7).subtract(wide);
      return sum.add(a).multiply(2).subtract(10).add(a);
    },
    (a, b) => {
      a.add(b).sum;
      return a.multiply(3);
    },
    (a) => {
      a.multiply(7);
      wide.add(a);
      return a.multiply(1).add(a).sum({ axis: 0, keepDims: true });
    },
  ];
  for (const [index, f] of cases.entries()) {
    using y = fuse(f)(x, wide);
    const expected = index === 3 ? [6] : index === 1 ? [5, 10] : [3, 6];
    assertEquals(Array.from(await y.toArray() as Float32Array), expected, `case ${index}`);
  }
});

Deno.test("fuse() reads a tensor from outside once, however often it is used", async () => {
  using x = tensor([1, 2], { device });
  using other = tensor([10, 20], { device });
  const f = fuse((x: Tensor<"float32">) => {
    let value = x;
    for (let step = 0; step < 40; step++) value = value.add(other);
    return value;
  });
  using y = f(x);
  assertEquals(await y.toArray(), Float32Array.of(401, 802));
});
