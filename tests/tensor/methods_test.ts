// The methods of tensors that call functions: which there are, and that they pass their arguments.

import { assertEquals, assertThrows } from "@std/assert";
import * as module from "../../src/device/tensor.ts";
import * as elementwise from "../../src/tensor/elementwise.ts";
import * as reductions from "../../src/tensor/reductions.ts";
import {
  operations,
  provideOperations,
  TensorMethods,
  type TensorOperations,
} from "../../src/tensor/tensor_methods.ts";
import { device } from "../support/device.ts";

type Method = (...given: unknown[]) => unknown;

/** Methods that are neither operations on each element nor reductions: what expressions chain. */
const CHAINED = ["argsort", "cumulativeSum", "logSoftmax", "matmul", "softmax", "sort", "take"];

const METHODS = Object.entries(Object.getOwnPropertyDescriptors(TensorMethods.prototype))
  .filter(([name]) => name !== "constructor");

Deno.test("Methods are all operations on each element, all reductions, and what is chained", () => {
  const isPublic = (name: string) =>
    name in module && typeof operations[name as "add"] === "function";
  // The first operand of where() is a condition. Old names are those of other functions.
  const expected = [...Object.keys(elementwise), ...Object.keys(reductions), ...CHAINED]
    .filter((name) =>
      isPublic(name) && name !== "where" && (module[name as "add"] as Method).name === name
    );
  assertEquals(METHODS.map(([name]) => name).sort(), expected.sort());
});

Deno.test("A method passes the tensor and all of its arguments to the function of its name", () => {
  const kept = operations;
  using x = module.ones([2, 2], { device });
  try {
    const calls = new Proxy({}, {
      get: (_, name) => (...given: unknown[]) => [name, ...given],
    });
    provideOperations(calls as TensorOperations);
    for (const [name, { value: method }] of METHODS as [string, { value: Method }][]) {
      const given = Array.from({ length: method.length }, (_, index) => ({ index }));
      assertEquals(method.call(x, ...given), [name, x, ...given]);
    }
  } finally {
    provideOperations(kept);
  }
});

Deno.test("Methods take the options of their functions", async () => {
  using x = module.tensor([[1, -2], [3, -4]], { device });
  using widest = x.max({ axis: 0, keepDims: true });
  assertEquals(await widest.toNested(), [[3, -2]]);
  const result = x.abs({ out: x, stream: device.stream });
  assertEquals([result, await x.toNested()], [x, [[1, 2], [3, 4]]]);
  assertThrows(() => x.std({ axes: 0 } as object), TypeError, "axes");
  assertThrows(() => x.exp({ out: widest }), RangeError, "options.out");
});
