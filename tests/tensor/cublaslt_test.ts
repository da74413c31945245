// cuBLASLt as a variant of matrix products: on the host device, by a library that computes there.

import { assert, assertEquals, assertMatch, assertThrows } from "@std/assert";
import { configureKernelCache, CudaError, type DType, openDevice } from "../../mod.ts";
import {
  add,
  explainMatmul,
  matmul,
  type MatmulOptions,
  type Tensor,
  zeros,
} from "../../src/device/tensor.ts";
import { CUBLASLT } from "../../src/ffi/cublaslt/native_cublaslt.ts";
import { readText } from "../../src/ffi/check.ts";
import { CUDA_ERROR_CODES } from "../../src/ffi/error_codes.ts";
import { HeldTimer } from "../../src/launch/kernel_timing.ts";
import { Event } from "../../src/stream/event.ts";
import { CUBLASLT_LIBRARY, searchLibrary } from "../../src/launch/compile/nvrtc_search.ts";
import { findCublasLt } from "../../src/tensor/matmul/cublaslt_search.ts";
import { injectFault } from "../support/fault_injection.ts";
import { toolkitHeader } from "../support/cuda_toolkit.ts";
import { TemporaryDirectory } from "../support/temporary_file.ts";
import { expect, forms, Grid, read } from "../support/tensor_forms.ts";

// Choices of earlier runs would not be timed.
configureKernelCache({ enabled: false });
const device = openDevice("host");
const { library } = device.context;
const folder = new TemporaryDirectory();
const FAKE = `${folder.path}/libcublasLt.so.13`;
const environment = (path: string) => (name: string) =>
  name === CUBLASLT_LIBRARY.variable ? path : undefined;

const absent = findCublasLt(library, environment("/nowhere/libcublasLt.so"));
const [x0, y0] = [[2, 3], [3, 2]].map((shape) => Grid.mixed(shape).tensor("float32", device));
const refusedBefore = assertThrows(() => matmul(x0!, y0!, { variant: "cublaslt" }), RangeError);

const compiled = await new Deno.Command(Deno.env.get("CXX") ?? "g++", {
  args: ["-std=c++17", "-O1", "-shared", "-fPIC", "-o", FAKE]
    .concat(new URL("fake_cublaslt.cpp", import.meta.url).pathname),
}).output();
assert(compiled.success, new TextDecoder().decode(compiled.stderr));
const opened = findCublasLt(library, environment(FAKE));
const { fake_value } = Deno.dlopen(FAKE, {
  fake_value: { parameters: ["i32", "i32"], result: "i32" },
}).symbols;

const FIELDS = [
  "calls",
  "searches",
  "algorithm",
  "fastest",
  "refused",
  "failing",
  "live",
  "compute",
] as const;
/** What the library counts. */
const fake = (name: typeof FIELDS[number], value = -1) => fake_value(FIELDS.indexOf(name), value);

const grid = (shape: readonly number[], shift = 3) => Grid.mixed(shape).map((it) => it - shift);

/** The grid by columns. */
const byColumns = (it: Grid, dtype: DType = "float32") =>
  Grid.of(it.shape.toReversed(), (at) => it.at(at.toReversed())).tensor(dtype, device).transpose();

interface Finish {
  readonly scale?: number;
  readonly bias?: Grid;
  readonly residual?: Grid;
  readonly finish?: (value: number) => number;
}

/** The product of matrices in double precision, finished. */
function product(
  a: Grid,
  b: Grid,
  { scale = 1, bias, residual, finish = (it) => it }: Finish = {},
) {
  return Grid.of([a.shape[0]!, b.shape[1]!], ([row, column]) => {
    let sum = 0;
    for (let k = 0; k < b.shape[0]!; k++) sum += a.at([row!, k]) * b.at([k, column!]);
    sum = finish(sum * scale + (bias === undefined ? 0 : bias.values[column!]!));
    return sum + (residual === undefined ? 0 : residual.at([row!, column!]));
  });
}

/** Checks a product of cuBLASLt. */
async function same(a: Tensor, b: Tensor, wanted: Grid, options: MatmulOptions = {}) {
  const { shape, values } = await read(matmul(a, b, { ...options, variant: "cublaslt" }));
  assertEquals([...shape], [...wanted.shape]);
  const wrong = values.findIndex((it, at) => !(Math.abs(it - wanted.values[at]!) <= 1e-5));
  const text = `(${a.shape}) · (${b.shape}) ${
    Object.keys(options)
  } ${a.dtype}: element ${wrong} is`;
  assert(wrong < 0, `${text} ${values[wrong]}, not ${wanted.values[wrong]}`);
}

Deno.test("matmul() by cuBLASLt reads rows, columns, gaps and batches as they lie", async () => {
  assertEquals(opened, { version: "13.1.2" });
  const tests: Promise<void>[] = [];
  for (const [m, n, k] of [[5, 4, 6], [1, 3, 2], [3, 1, 2], [1, 1, 1], [2, 3, 1]]) {
    const [a, b] = [grid([m!, k!]), grid([k!, n!])];
    const wanted = product(a, b);
    for (const x of [a.tensor("float32", device), byColumns(a)]) {
      for (const y of [b.tensor("float32", device), byColumns(b)]) {
        tests.push(same(x, y, wanted));
        // By columns, and into a part of a larger matrix.
        tests.push(same(x, y, wanted, { out: byColumns(wanted) }));
        const whole = grid([m!, n! + 3]).tensor("float32", device);
        tests.push(same(x, y, wanted, { out: whole.slice([{}, { start: 2, stop: 2 + n! }]) }));
      }
    }
  }
  const [a, b] = [grid([3, 5, 7]), grid([3, 7, 4])];
  const part = ({ shape, values }: Grid, index: number) => {
    const size = shape[1]! * shape[2]!;
    return new Grid(shape.slice(1), values.slice(index * size, (index + 1) * size));
  };
  const stacked = (pairs: readonly (readonly [number, number])[]) => {
    const values = pairs.flatMap(([x, y]) => product(part(a, x), part(b, y)).values);
    return new Grid([pairs.length, 5, 4], values);
  };
  const [x, y] = [a.tensor("float32", device), b.tensor("float32", device)];
  tests.push(
    same(x, y, stacked([[0, 0], [1, 1], [2, 2]])),
    same(x.slice([1]), y, stacked([[1, 0], [1, 1], [1, 2]])),
    same(x, y.slice([2]), new Grid([3, 5, 4], stacked([[0, 2], [1, 2], [2, 2]]).values)),
    same(x.slice([{ step: 2 }]), y.slice([{ step: 2 }]), stacked([[0, 0], [2, 2]])),
  );
  await Promise.all(tests);
  const turned = explainMatmul(x.flip(0), y);
  assertMatch(turned.reason, /not cublaslt: a batch runs backwards/);
  assertMatch(explainMatmul(x.flip(2), y).reason, /an operand has gaps between its elements/);
  const live = fake("live");
  await same(x, y, stacked([[0, 0], [1, 1], [2, 2]]));
  assertEquals(fake("live"), live, "descriptors are made once for a product");
});

Deno.test("matmul() by cuBLASLt computes as element types and precision say", async () => {
  const [left, right] = [grid([8, 16]), grid([16, 4])];
  const wanted = product(left, right);
  const pair = (dtype: DType) => [left.tensor(dtype, device), right.tensor(dtype, device)] as const;
  for (
    const [dtype, compute, options] of [
      ["float32", "CUBLAS_COMPUTE_32F", {}],
      ["float32", "CUBLAS_COMPUTE_32F", { precision: "fp32" }],
      ["float64", "CUBLAS_COMPUTE_64F", { scale: 1 }],
      ["float16", "CUBLAS_COMPUTE_32F", {}],
      ["float16", "CUBLAS_COMPUTE_32F", { dtype: "float32", precision: "tf32" }],
      ["bfloat16", "CUBLAS_COMPUTE_32F", { dtype: "float32" }],
    ] as const
  ) {
    await same(...pair(dtype), wanted, options);
    assertEquals(fake("compute"), CUBLASLT[compute], `${dtype} ${JSON.stringify(options)}`);
  }
  const half = left.map((it) => it / 2 ** 9);
  await same(
    half.tensor("bfloat16", device),
    pair("bfloat16")[1],
    product(half, right).map((it) => {
      // 8 significant bits.
      const unit = 2 ** (Math.floor(Math.log2(Math.abs(it))) - 7);
      return it === 0 ? 0 : Math.round(it / unit) * unit;
    }),
  );
  // For these, the elements of a sum lie side by side.
  for (
    const [dtype, result] of [
      ["int8", "int32"],
      ["float8_e4m3", "float32"],
      ["float8_e4m3", "float16"],
    ] as const
  ) {
    const a = left.tensor(dtype, device);
    await same(a, byColumns(right, dtype), wanted, { dtype: result });
    // Other operands are copied on request.
    await same(a, right.tensor(dtype, device), wanted, { dtype: result });
    await same(byColumns(left, dtype), right.tensor(dtype, device), wanted, { dtype: result });
    const { variant, reason } = explainMatmul(a, right.tensor(dtype, device), { dtype: result });
    assertEquals(variant, dtype === "int8" ? "int8" : "packed");
    assertMatch(reason, /not cublaslt: with \w+ it needs the elements of each sum side by side/);
  }
  const small = left.tensor("float8_e5m2", device);
  assertMatch(explainMatmul(small, small.transpose()).reason, /no products of float8_e5m2 and/);
  const [bytes, column] = [left.tensor("int8", device), byColumns(right, "int8")];
  const residual = grid([8, 4], 90);
  const added = product(left, right, { residual });
  await same(bytes, column, added, { residual: residual.tensor("int32", device), dtype: "int32" });
});

Deno.test("matmul() copies large operands for cuBLASLt that needs sums side by side", async () => {
  const reasonOf = (a: Tensor, b: Tensor) => explainMatmul(a, b, { dtype: "int32" }).reason;
  const bytes = (...shape: readonly number[]) =>
    zeros(shape, { dtype: "int8", device }) as Tensor as Tensor;
  using large = bytes(2048, 1024);
  using right = bytes(1024, 2048);
  const { variant } = explainMatmul(large, right, { dtype: "int32" });
  assertEquals(variant, "cublaslt");
  assertMatch(
    reasonOf(large, right),
    /, on copies that have the elements of each sum side by side/,
  );
  using few = bytes(255, 1024);
  assertMatch(reasonOf(few, right), /not cublaslt: with int8 it needs the elements/);
  using half = bytes(1024, 2047);
  assertMatch(reasonOf(large.slice([{ stop: 1024 }]), half), /not cublaslt: with int8 it needs/);
  using asItLies = bytes(2048, 1024).transpose();
  assertMatch(reasonOf(large, asItLies), /^the fastest of \d+ algorithms of cuBLASLt [\d.]+;/);
  // Batches keep their order, and a repeated operand is copied once.
  const [left, other] = [grid([3, 8, 16]), grid([16, 4])];
  const wanted = Grid.of([3, 8, 4], ([product, row, column]) => {
    let sum = 0;
    for (let k = 0; k < 16; k++) sum += left.at([product!, row!, k]) * other.at([k, column!]);
    return sum;
  });
  using repeated = other.tensor("int8", device).expandDims(0).broadcastTo([3, 16, 4]);
  using separate = left.tensor("int8", device).permute([0, 2, 1]).astype("int8").permute([0, 2, 1]);
  await same(separate, repeated, wanted, { dtype: "int32" });
});

Deno.test("matmul() by cuBLASLt finishes in one pass, or leaves the product to another variant", async () => {
  const [left, right, bias, residual] = [[6, 5], [5, 4], [4], [6, 4]].map((it) => grid(it)) as [
    Grid,
    Grid,
    Grid,
    Grid,
  ];
  const geluTanh = (it: number) =>
    it * 0.5 * (1 + Math.tanh(Math.sqrt(2 / Math.PI) * (it + 0.044715 * it ** 3)));
  const relu = (it: number) => Math.max(0, it);
  const [a, b, added, last] = [left, right, bias, residual].map((it) =>
    it.tensor("float32", device)
  ) as [
    Tensor,
    Tensor,
    Tensor,
    Tensor,
  ];
  const place = residual.tensor("float32", device);
  const tests = [
    same(a, b, product(left, right, { scale: 0.5, bias, finish: relu }), {
      scale: 0.5,
      bias: added,
      activation: "relu",
    }),
    same(a, b, product(left, right, { bias, finish: geluTanh }), {
      bias: added,
      activation: "geluTanh",
    }),
    same(a, b, product(left, right, { scale: 0.1, finish: geluTanh }), {
      scale: 0.1,
      activation: "geluTanh",
    }),
    same(a, b, product(left, right, { scale: 2, bias, residual }), {
      scale: 2,
      bias: added,
      residual: last,
    }),
    same(a, b, product(left, right, { residual }), { residual: place, out: place }), // timed before
  ];
  const perRow = grid([6, 1]);
  const columns = product(left, right);
  tests.push(same(a, b, Grid.of([6, 4], (at) => columns.at(at) + perRow.values[at[0]!]!), {
    bias: perRow.tensor("float32", device),
    out: byColumns(columns),
  }));
  tests.push(
    same(
      left.tensor("float16", device),
      right.tensor("float16", device),
      product(left, right, { bias, finish: relu }),
      {
        bias: bias.tensor("float16", device),
        activation: "relu",
      },
    ),
  );
  await Promise.all(tests);
  for (
    const [options, reason] of [
      [{ activation: "gelu" }, /no activation gelu;?/],
      [{ activation: "relu", residual: last }, /a residual before the activation/],
      [
        { bias: perRow.tensor("float32", device) },
        /a bias of one float32 per column of the result/,
      ],
      [{ bias: bias.tensor("float16", device) }, /a bias of one float32/],
      [{ residual: added }, /a residual that is stored as the result is/],
      [{ dtype: "float16" }, /from float32 it has results of float32/],
    ] as const
  ) {
    const explained = explainMatmul(a, b, options);
    assertEquals(explained.variant, "packed");
    assertMatch(explained.reason, reason);
    const refuse = () => matmul(a, b, { ...options, variant: "cublaslt" });
    assertThrows(refuse, RangeError, "Cannot call matmul() with options.variant cublaslt: ");
  }
});

Deno.test("matmul() leaves a product to another variant where cuBLASLt would not round as documented", async () => {
  // 1 + 2^-12 is 1 in every narrow type.
  const near = 1 + 2 ** -12;
  const [left, right] = [grid([6, 5]).map(() => near), grid([5, 4]).map(() => near)];
  const [a, b] = [left, right].map((it) => it.tensor("float32", device)) as [Tensor, Tensor];
  for (const precision of ["tf32", "fp16", "bf16", "fp8"] as const) {
    const calls = fake("calls");
    const explained = explainMatmul(a, b, { precision });
    assertMatch(explained.reason, new RegExp(`not cublaslt: it has no precision ${precision}`));
    await expect(matmul(a, b, { precision }) as Tensor, Grid.of([6, 4], () => 5), precision);
    assertEquals(fake("calls"), calls, precision);
    const refuse = () => matmul(a, b, { precision, variant: "cublaslt" });
    assertThrows(refuse, RangeError, `it has no precision ${precision} for float32`);
  }
});

Deno.test("matmul() takes its own kernel for few rows of float32, and cuBLASLt for more", () => {
  const on = forms.get("threads")!;
  // A GPU has the library itself.
  assert(on.context.library === library || on.info.kind === "cuda");
  for (
    const [m, n, dtype, expected] of [
      [2, 512, "float32", "rows"],
      [4, 512, "float32", "rows"],
      [8, 512, "float32", "cublaslt"],
      [16, 2048, "float32", "rows"],
      [16, 512, "float32", "cublaslt"],
      [17, 2048, "float32", "cublaslt"],
      [4, 512, "float16", "cublaslt"],
    ] as const
  ) {
    const [x, y] = [zeros([m, 64], { dtype, device: on }), zeros([64, n], { dtype, device: on })];
    assertEquals(explainMatmul(x, y).variant, expected, `${m} × ${n} ${dtype}`);
  }
});

Deno.test("matmul() leaves a bias of each batch to another variant than cuBLASLt", async () => {
  const [left, right, biases] = [[2, 6, 5], [2, 5, 4], [2, 1, 4]].map((it) => grid(it)) as [
    Grid,
    Grid,
    Grid,
  ];
  const [a, b, bias] = [left, right, biases].map((it) => it.tensor("float32", device)) as [
    Tensor,
    Tensor,
    Tensor,
  ];
  assertEquals(explainMatmul(a, b).variant, "cublaslt");
  assertMatch(explainMatmul(a, b, { bias }).reason, /a bias of one float32 per column/);
  const wanted = Grid.of([2, 6, 4], ([batch, i, j]) => {
    let sum = biases.at([batch!, 0, j!]);
    for (let k = 0; k < 5; k++) sum += left.at([batch!, i!, k]) * right.at([batch!, k, j!]);
    return sum;
  });
  await expect(matmul(a, b, { bias }) as Tensor, wanted);
});

/** Matrices of a shape, and the check of their product. */
function pairOf(m: number, k: number, n: number) {
  const [left, right] = [grid([m, k]), grid([k, n])];
  const [a, b] = [left.tensor("float32", device), right.tensor("float32", device)];
  return { a, b, check: (options = {}) => same(a, b, product(left, right), options) };
}

/** Calls of an algorithm that is timed: one to load it, and twice ten between events. */
const TIMED = 1 + 2 * 10;

Deno.test("matmul() times the algorithms once per shape, and keeps the fastest", async () => {
  for (const fastest of [1, 2]) {
    fake("fastest", fastest);
    const { a, b, check } = pairOf(9, 11, 9 + fastest);
    const [calls, searches] = [fake("calls"), fake("searches")];
    assertMatch(explainMatmul(a, b).reason, /^the fastest of 3 algorithms of cuBLASLt 13.1.2/);
    assertEquals(fake("calls"), calls, "explaining computes nothing");
    await check();
    assertEquals(fake("algorithm"), fastest);
    assertEquals(fake("calls") - calls, 3 * TIMED + 1, "three algorithms, and the product");
    await check();
    assertEquals([fake("calls") - calls, fake("searches") - searches], [3 * TIMED + 2, 1]);
  }
  fake("fastest", 0);
  fake("failing", 1);
  const calls = fake("calls");
  await pairOf(10, 12, 11).check();
  assertEquals(fake("calls") - calls, 1 + 2 * TIMED + 1, "one that fails is left out");
  assert(fake("algorithm") > 0);
  fake("failing", 0);
});

Deno.test("matmul() takes the algorithm that another process has found the fastest", async () => {
  const cache = `${folder.path}/cache`;
  configureKernelCache({ directory: cache });
  try {
    const [left, right] = [grid([9, 12]), grid([12, 7])];
    const counts = async () => {
      // Each has its own memory, as a process does.
      using other = openDevice("host");
      const [calls, searches] = [fake("calls"), fake("searches")];
      const [a, b] = [left, right].map((it) => it.tensor("float32", other)) as [Tensor, Tensor];
      await expect(matmul(a, b, { variant: "cublaslt" }) as Tensor, product(left, right));
      return [fake("calls") - calls, fake("searches") - searches, fake("algorithm")];
    };
    fake("fastest", 2);
    assertEquals(await counts(), [3 * TIMED + 1, 1, 2]);
    assertEquals(await counts(), [1, 0, 2], "nothing is timed");
    const [{ name }] = [...Deno.readDirSync(`${cache}/products`)] as [Deno.DirEntry];
    const path = `${cache}/products/${name}`;
    const text = Deno.readTextFileSync(path);
    for (const damaged of [text.slice(9), text.replace(/"\w{128}"/, '"0"')]) {
      await Deno.writeTextFile(path, damaged);
      assertEquals(await counts(), [3 * TIMED + 1, 1, 2], "timed again");
    }
    assertEquals(Deno.readTextFileSync(path), text);
  } finally {
    fake("fastest", 0);
    configureKernelCache({ enabled: false });
  }
});

Deno.test("HeldTimer times the device without the host's pauses", () => {
  const { stream } = device;
  using timer = new HeldTimer(stream);
  using event = new Event(device.context, { timing: true });
  // Nothing for the device, and much for the host.
  const enqueue = () => {
    const end = performance.now() + 0.2;
    while (performance.now() < end);
    event.record(stream);
  };
  const times = [0, 1, 2, 3].map(() => timer.time(enqueue, 10));
  // The first one measures for how long the stream is held.
  assert(Math.min(...times.slice(1)) < 0.1, `${times} ms of 0.2 ms of the host`);
});

Deno.test("matmul() in a capture is not timed", () => {
  const { a, b } = pairOf(7, 3, 8);
  using out = grid([7, 8]).tensor("float32", device);
  const calls = fake("calls");
  fake("failing", 100); // as the library cannot follow a capture
  const multiply = () => void matmul(a, b, { out, variant: "cublaslt" });
  assertThrows(() => device.stream.capture(multiply), CudaError);
  assertEquals(fake("calls") - calls, 1);
  fake("failing", 0);
});

Deno.test("matmul() names the statuses of cuBLASLt, and takes another variant without algorithms", async () => {
  const { a, b, check } = pairOf(4, 13, 6);
  await check();
  fake("failing", 100);
  const error = assertThrows(() => matmul(a, b, { variant: "cublaslt" }), CudaError);
  assertEquals([error.code, error.codeName, error.call], [
    -2013,
    "CUBLAS_STATUS_EXECUTION_FAILED",
    "cublasLtMatmul",
  ]);
  fake("failing", 0);
  const live = fake("live");
  {
    using _fault = injectFault(library, "cublasLtMatmul", 1, -2014);
    const failure = assertThrows(() => matmul(a, b, { variant: "cublaslt" }), CudaError);
    assertEquals([failure.codeName, failure.call], [
      "CUBLAS_STATUS_INTERNAL_ERROR",
      "cublasLtMatmul",
    ]);
  }
  for (const [index, call] of ["MatmulDescCreate", "MatrixLayoutCreate"].entries()) {
    using _fault = injectFault(library, `cublasLt${call}`, 1, -2014);
    const { a, b } = pairOf(5 + index, 13, 6);
    const refuse = () => matmul(a, b, { variant: "cublaslt" });
    assertThrows(refuse, RangeError, "CUBLAS_STATUS_INTERNAL_ERROR");
  }
  assertEquals(fake("live"), live, "descriptors are destroyed after failures too");
  await check();
  for (
    const [refused, reason] of [[1, /no algorithm for this product/], [
      7,
      /CUBLAS_STATUS_INVALID_VALUE/,
    ]] as const
  ) {
    fake("refused", refused);
    const options = { activation: refused === 1 ? "relu" : "geluTanh" } as const;
    const explained = explainMatmul(a, b, options);
    assertEquals(explained.variant, "packed");
    assertMatch(explained.reason, reason);
    const searches = fake("searches");
    assertEquals([...(await read(matmul(a, b, options))).shape], [4, 6]);
    assertEquals(fake("searches"), searches, "asked once");
  }
  fake("refused", 0);
  for (let code = 1; code <= 16; code++) {
    const { status, text } = readText((bytes, capacity) =>
      library.symbols.gs_status_name(-2000 - code, bytes, capacity)
    );
    assertEquals(status === 0 ? text : undefined, CUDA_ERROR_CODES.get(-2000 - code)?.name);
  }
});

Deno.test("matmul() by cuBLASLt keeps the order of streams", async () => {
  const streams = [device.createStream(), device.createStream(), device.stream];
  const shifted = grid([64, 64], -17);
  const ready = shifted.tensor("float32", device);
  const results = streams.flatMap((stream, index) => {
    const next = streams[(index + 1) % 3]!;
    // Written on one stream, multiplied on the next one; and multiplied over what one stream writes.
    let x: Tensor = grid([64, 64]).tensor("float32", device), out: Tensor = ready;
    for (let step = 0; step < 20; step++) x = add(x, 1, { stream });
    const square = matmul(x, x, { variant: "cublaslt", stream: next });
    for (let step = 0; step < 20; step++) out = add(out, 1, { stream });
    return [square, matmul(ready, ready, { variant: "cublaslt", stream: next, out })];
  });
  const wanted = product(shifted, shifted);
  for (const result of results) assertEquals((await read(result)).values, wanted.values);
});

Deno.test("matmul() names the places where cuBLASLt was searched for", async () => {
  assert("problem" in absent);
  assertMatch(
    refusedBefore.message,
    /^Cannot call matmul\(\) with options.variant cublaslt: cuBLASLt cannot be opened: /,
  );
  assertMatch(
    refusedBefore.message,
    /\/nowhere\/libcublasLt.so \(GRIDSTRIDE_CUBLASLT\): .*No such file/,
  );
  assertMatch(refusedBefore.message, /pip install nvidia-cublas/);
  const [found] = [...searchLibrary(CUBLASLT_LIBRARY, environment(folder.path))];
  assertEquals(found, { library: FAKE, origin: "GRIDSTRIDE_CUBLASLT" });
  const packages = `${folder.path}/env/lib/python3.12/site-packages/nvidia/cublas/lib`;
  await Deno.mkdir(packages, { recursive: true });
  await Deno.copyFile(FAKE, `${packages}/libcublasLt.so.12`);
  const inPython = [
    ...searchLibrary(
      CUBLASLT_LIBRARY,
      (name) => name === "VIRTUAL_ENV" ? `${folder.path}/env` : undefined,
      folder.path,
    ),
  ];
  assert(inPython.some((it) => "library" in it && it.library === `${packages}/libcublasLt.so.12`));
  const again = findCublasLt(library, environment(`${packages}/libcublasLt.so.12`));
  assert(
    "problem" in again && /this process has opened .*libcublasLt.so.13 already/.test(again.problem),
  );
  findCublasLt(library, environment(FAKE));
});

const headers = ["cublasLt.h", "cublas_api.h", "library_types.h"].map(toolkitHeader);
const isThere = headers.every((text) => text !== undefined);
Deno.test({
  name: `CUBLASLT has the numbers of NVIDIA's headers${isThere ? "" : " (skipped: no cublasLt.h)"}`,
  ignore: !isThere,
  async fn() {
    const native = await Deno.readTextFile(
      new URL("../../csrc/shim/launch/cublaslt.cu", import.meta.url),
    );
    const shims = [...native.matchAll(/^ +(CU\w+) = (\d+),$/gm)];
    assert(shims.length > 0, "numbers of cublaslt.cu");
    const ours = [
      ...Object.entries(CUBLASLT),
      ...shims.map((it) => [it[1]!, Number(it[2])] as const),
    ];
    const text = headers.join("\n");
    for (const [name, number] of ours) {
      assertEquals(new RegExp(`\\b${name}\\s*=\\s*(\\d+)`).exec(text)?.[1], `${number}`, name);
    }
    for (const { code, name } of CUDA_ERROR_CODES.values()) {
      if (code > -2000) continue;
      assertMatch(text, new RegExp(`${name} = ${-2000 - code}\\b`));
    }
    const bare = text.replaceAll(/\/\*[\s\S]*?\*\//g, "").replaceAll(/\s+/g, " ");
    assertMatch(bare, /typedef struct \{ uint64_t data\[8\]; \} cublasLtMatmulAlgo_t;/);
    assertMatch(
      bare,
      /\{ cublasLtMatmulAlgo_t algo; size_t workspaceSize; cublasStatus_t state; float wavesCount; int reserved\[4\]; \} cublasLtMatmulHeuristicResult_t;/,
    );
  },
});
