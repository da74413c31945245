import { device } from "../support/device.ts";
import {
  CompileError,
  CompilerUnavailableError,
  Device,
  DTYPES,
  openDevice,
  OutOfMemoryError,
} from "../../mod.ts";
import { validate, VALIDATED_OPERATIONS } from "../../src/device/tensor.ts";
import { assert, assertEquals, assertRejects } from "@std/assert";
import { CREATION_OPERATIONS } from "../../src/device/validation/creation_operations.ts";
import { PRODUCT_OPERATIONS } from "../../src/device/validation/product_operations.ts";
import {
  runTensorCases,
  TENSOR_CASES,
  type TensorCase,
} from "../../src/device/validation/tensor_cases.ts";
import { DeviceContext } from "../../src/hardware/device_context.ts";
import { poolOf } from "../../src/memory/pool/device_pools.ts";
import { DeviceWork, KERNEL_COMPILER } from "../../src/tensor/kit/device_work.ts";
import { domainProblem, OPERATIONS } from "../../src/tensor/kit/expression/operations.ts";
import * as tensors from "../../src/tensor/mod.ts";
import type { Tensor } from "../../src/tensor/tensor.ts";
import { ternaryVariants } from "../../src/ternary/ternary_matmul.ts";
import { QUANTIZATION_OPERATIONS } from "../../src/device/validation/quantization_operations.ts";

Deno.test("validate() compares every variant of an operation with its reference", async () => {
  const names = Object.keys({ ...PRODUCT_OPERATIONS, ...QUANTIZATION_OPERATIONS });
  const operations = [...new Set(names.map((name) => name.split(" ")[0]!))];
  assertEquals(operations.filter((name) => !VALIDATED_OPERATIONS.includes(name)), []);
  // Each type of elements is a kernel: the first of every variant, and of products some whose code
  // differs; tests/tensor has the others.
  const cases = TENSOR_CASES.filter((it) => operations.includes(it.operation)).filter((
    it,
    at,
    all,
  ) =>
    at === all.findIndex((own) => own.operation === it.operation && own.variant === it.variant) ||
    (it.variant === undefined && ["float8_e5m2", "uint16"].includes(it.dtype))
  );
  const rows = await runTensorCases(device, cases, 1);
  assertEquals(rows.filter(({ passed }) => !passed), []);
  const ran = rows.map(({ operation, variant }) => [operation, variant].join(" ").trim());
  // Some variants of products are for one form of kernels, or need tensor cores or a library.
  const missing = names.filter((name) => !ran.includes(name));
  const isOptional = (name: string) => /^attention mma|^(ternaryM|m)atmul /.test(name);
  assertEquals(missing.filter((name) => !isOptional(name)), []);
  const work = DeviceWork.of(device.context);
  const products = work.form === "block"
    ? ["vector", "int8", "packed", "relu", "gelu", "quantized"]
    : ["vector", "rows", "simt", "mma", "mma tf32", "relu", "gelu", "quantized"];
  const own = products.map((it) => `matmul ${it}`);
  assertEquals(own.filter((name) => !ran.includes(name)), []);
  const ternary = ternaryVariants(work).map((it) => `ternaryMatmul ${it}`);
  assertEquals(ran.filter((name) => name.startsWith("ternaryMatmul")).sort(), ternary.sort());
});

Deno.test("validate() compares tensors that are made or come from files", async () => {
  // The others have a kernel for each element type.
  const names = Object.keys(CREATION_OPERATIONS).filter((it) => !/^(eye|arange|linspace)/.test(it));
  const operations = [...new Set(names.map((name) => name.split(" ")[0]!))];
  const rows = await validate(device, { operations });
  assertEquals(rows.filter(({ passed }) => !passed), []);
  const ran = rows.map(({ operation, variant }) => [operation, variant].join(" ").trim());
  assertEquals([...new Set(ran)], names);
});

Deno.test("validate() has a case for every element type that an operation takes", async () => {
  const typesOf = (name: string) =>
    new Set(TENSOR_CASES.filter(({ operation }) => operation === name).map(({ dtype }) => dtype));
  for (const [name, { domain }] of Object.entries(OPERATIONS)) {
    if (!(name in tensors)) continue;
    const taken = DTYPES.filter((dtype) => domainProblem(domain, dtype) === undefined);
    assertEquals(typesOf(name), new Set(taken), name);
  }
  const ordered = DTYPES.filter((dtype) => !dtype.startsWith("float8"));
  for (const name of ["sum", "prod", "any", "argmax", "sort", "uniqueValues", "scatterAdd"]) {
    assertEquals(typesOf(name), new Set(ordered), name);
  }
  for (const name of ["take", "concat", "pad", "where", "nonzero", "zeros", "arange", "loadNpz"]) {
    assertEquals(typesOf(name), new Set(DTYPES), name);
  }
  // Of a kernel that several operations share, of bool and of the narrow floats.
  const some = ["silu int8", "maximum bool", "bitwiseInvert bool", "nextafter float16"];
  const chosen = [...some, "embedding float8_e4m3", "full float8_e5m2", "linspace bool"];
  const work = TENSOR_CASES.filter(({ operation, dtype }) =>
    chosen.includes(`${operation} ${dtype}`)
  );
  const rows = await runTensorCases(device, work, 1);
  assertEquals(rows.length, chosen.length);
  assertEquals(rows.filter(({ passed }) => !passed), []);
});

Deno.test("validate() goes on after a kernel that does not compile", async () => {
  const { library, ordinal, info } = device.context;
  const context = new DeviceContext(library, ordinal, info);
  using other = new Device(context);
  context.release();
  const message = 'identifier "__is_same" is undefined';
  const sources: string[][] = [];
  DeviceWork.of(context, {
    ...KERNEL_COMPILER,
    compile(kernels) {
      const names = kernels.map(({ text }) => text.name);
      sources.push(names);
      if (names.includes("tensor_sqrt")) {
        return Promise.reject(new CompilerUnavailableError("no compiler"));
      }
      const name = names.find((it) => it === "tensor_tanh");
      if (name === undefined) return KERNEL_COMPILER.compile(kernels);
      const diagnostic = { severity: "error", message, file: `${name}.cu`, line: 3 } as const;
      return Promise.reject(new CompileError(name, "a compiler", [diagnostic], ""));
    },
  });
  const wanted = ["exp float32", "tanh float32", "tanh float16", "sqrt float32", "softmax float32"];
  const cases = TENSOR_CASES.filter(({ operation, dtype }) =>
    wanted.includes(`${operation} ${dtype}`)
  );
  const rows = await runTensorCases(other, cases, 1);
  assertEquals(rows.length, wanted.length);
  for (const { operation, passed, maxError, compileError } of rows) {
    const failures: Readonly<Record<string, string>> = {
      tanh: `tensor_tanh.cu:3: error: ${message}`,
      sqrt: "no compiler",
    };
    const isWrong = operation in failures;
    assertEquals([passed, maxError === Infinity], [!isWrong, isWrong], operation);
    assertEquals(compileError, failures[operation]);
  }
  // Kernels that were together in a source are compiled alone after an error.
  assert(sources[0]!.length > 1 && sources.some((names) => names.join() === "tensor_exp"));
});

Deno.test("validate() fails the row of a wrong kernel that shares its source with others", async () => {
  const { library, ordinal, info } = device.context;
  const context = new DeviceContext(library, ordinal, info);
  using other = new Device(context);
  context.release();
  const sources: string[][] = [];
  DeviceWork.of(context, {
    ...KERNEL_COMPILER,
    compile(kernels) {
      sources.push(kernels.map(({ text }) => text.name));
      return KERNEL_COMPILER.compile(
        kernels.map((kernel) => {
          const { text, work, source, options, ending } = kernel;
          if (text.name !== "tensor_square") return kernel;
          const definitions = text.definitions!.replace("v0 * v0", "v0 * v0 + v0");
          return { ...{ work, source, options, ending }, text: { ...text, definitions } };
        }) as unknown as typeof kernels,
      );
    },
  });
  const wanted = ["negative float32", "square float32", "abs float32"];
  const cases = TENSOR_CASES.filter(({ operation, dtype }) =>
    wanted.includes(`${operation} ${dtype}`)
  );
  const rows = await runTensorCases(other, cases, 1);
  assertEquals(sources.map((names) => names.length), [wanted.length]);
  const failed = rows.filter(({ passed }) => !passed);
  assertEquals(failed.map(({ operation, dtype }) => `${operation} ${dtype}`), ["square float32"]);
});

Deno.test("validate() runs the method of device.kernels and the tensor operation of a name", async () => {
  const started: string[] = [];
  const rows = await validate(device, {
    ...{ operations: ["sum", "fill"], sizes: [300] },
    onProgress: ({ done, total, operation }) => started.push(`${done} of ${total}: ${operation}`),
  });
  assertEquals(rows.filter(({ passed }) => !passed), []);
  const { label, info: { fake } } = device;
  assert(rows.every((row) => row.device === label && row.fake === fake));
  const kinds = Map.groupBy(
    rows,
    ({ operation, variant, size, unit }) => [operation, variant, size, unit].join(),
  );
  assertEquals([...kinds].map(([kind, own]) => [kind, own.length]), [
    ["fill,device.kernels,300,absolute", 15],
    ["sum,device.kernels,300,absolute", 12],
    ["sum,,,ulp", 13],
  ]);
  assertEquals(started, rows.map(({ operation }, at) => `${at} of 40: ${operation}`));
});

Deno.test("validate() refuses an unknown operation", async () => {
  await assertRejects(
    () => validate(device, { operations: ["exp", "sine"] }),
    RangeError,
    'one is "sine"',
  );
});

Deno.test("validate() frees what it has started when the device runs out of memory", async () => {
  using own = openDevice(device.label, { memory: { maxPoolSize: 2 ** 25 } });
  const { counters } = poolOf(own.context);
  const before = counters.liveBlocks;
  const [{ start, ...named }] = TENSOR_CASES.filter(({ operation }) => operation === "add") as [
    TensorCase,
  ];
  const late = Promise.withResolvers<Tensor>();
  const cases: TensorCase[] = [
    { ...named, start },
    {
      ...named,
      start(device) {
        const small = tensors.full([10], 1, { device }) as Tensor;
        const result = small.add(
          tensors.full([2 ** 24], 1, { device, dtype: "float32" }) as Tensor,
        );
        return { result, expected: [] };
      },
    },
    { ...named, start },
    { ...named, start: () => ({ result: late.promise, expected: [] }) },
  ];
  await assertRejects(() => runTensorCases(own, cases, 1), OutOfMemoryError);
  const last = tensors.full([10], 1, { device: own }) as Tensor;
  assertEquals(counters.liveBlocks, before + 1);
  late.resolve(last);
  await late.promise;
  assert(last.disposed);
  assertEquals(counters.liveBlocks, before);
});
