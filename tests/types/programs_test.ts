// Wrong programs that the compiler must refuse, each at its line and with a message that names the
// cause, and right ones that it must accept: all in one run of `deno check`.

import { assert, assertEquals } from "@std/assert";
import {
  comparisonProgram,
  COMPARISONS,
  documentationExamples,
} from "../support/documentation_examples.ts";
import { typeErrors } from "../support/subprocess.ts";

const PREAMBLE = `
import {
  defineStruct, type Device, type DeviceBuffer, type DType, type KernelArguments, occupancy,
  openDevice, type Stream, widenToFloat32,
} from "@gridstride/cuda";
import { analyzeAccess } from "@gridstride/cuda/analysis";
import { concat, normal, ones, softmax, stack, tensor, type Tensor, uniform, zeros } from "@gridstride/cuda/tensor";
declare const device: Device, stream: Stream, unknown: DeviceBuffer, text: string;
const f32 = device.allocate("float32", 4), f64 = device.allocate("float64", 4);
const i32 = device.allocate("int32", 4), i64 = device.allocate("int64", 1);
const u32 = device.allocate("uint32", 4), bf16 = device.allocate("bfloat16", 4);
const Particle = defineStruct("Particle", { position: "float3", mass: "float" });
const module = await device.compile(\`
  struct Particle { float3 position; float mass; };
  __global__ void saxpy(float a, const float* x, float* y, // y is the result
                        int n) { y[0] = a * x[0]; }
  __global__ void flag(bool on, unsigned long long n) {}
  __global__ void shade(float4 colour, Particle one, Particle* all) {}
  __global__ void either(double* x) {}
  __global__ void either(float* x) {}
  template <typename T> __global__ void tile(T* x) {}
  #define KERNEL __global__ void
  KERNEL hidden(int n) {}
  __global__ void real_one(real* x) {}
  namespace image { __global__ void blur(const uchar4* in, uchar4* out) {} }
\`, { structs: [Particle] });
const saxpy = module.kernel("saxpy"), config = { grid: 1, block: 64 };
const axpy = device.kernels.load("axpy_float32(float a, const float* x, float* y, unsigned long long n)");
`;

/** Statements with the pattern of the compiler's message. */
const WRONG: readonly (readonly [string, RegExp])[] = [
  // Operations of mixed element types.
  ["device.kernels.add(f32, f64, f32);", /"float64"' is not assignable to type '"float32"/],
  ["device.kernels.add(f32, f32, f64);", /"float64"' is not assignable to type '"float32"/],
  ["device.kernels.multiply(i32, u32, i32);", /"uint32"' is not assignable to type '"int32"/],
  ["device.kernels.axpy(2, f32, f64);", /"float64"' is not assignable to type '"float32"/],
  ["device.kernels.min(f32, f64);", /"float64"' is not assignable to type '"float32"/],
  ["device.kernels.max(i32, f32);", /"float32"' is not assignable to type '"int32"/],
  ["device.kernels.scale(f32, 2, f64);", /"float64"' is not assignable to type '"float32"/],
  [
    "device.kernels.scale(i32, 2, i32);",
    /DeviceBuffer<"int32">.* not .*DeviceBuffer<FloatingDType/,
  ],
  ["device.kernels.sum(i32, f32);", /"float32"' is not assignable to type '"int64"/],
  ["device.kernels.mean(f32, i32);", /"int32"' is not assignable to type 'FloatingDType/],
  ["device.kernels.histogram(f32, i32, { low: 0, high: 1 });", /"int32"' is .* type '"uint32"/],
  ["device.kernels.histogram(f32, u32, { low: 0 });", /high/],
  ["device.kernels.fill(f32, 2n);", /bigint.* not .*number/],
  ["ones([2]).abs({ out: tensor([1], { dtype: 'int8' }) });", /"int8"' is not .*"float32"/],
  ["tensor([new DataView(new ArrayBuffer(4))]);", /DataView/],
  ["concat([ones([2]), 5]);", /number.* not .*AnyTensor/],
  ['device.allocate("bool", 4, { fill: 1 });', /number.* not .*boolean/],
  ["device.kernels.axpy(f32, 2, f32);", /DeviceBuffer<"float32">' is not .* 'number'/],
  ["device.kernels.axpy(2, new Float32Array(4), f32);", /Float32Array.* not .*FloatingDType/],
  // Kernels of a literal source.
  ['module.kernel("saxpi");', /"saxpi".* not .*"saxpy".*"blur"|"saxpi".* not .*"blur".*"saxpy"/],
  ['module.kernel("sax");', /"sax".* not .*"saxpy"/],
  ['module.kernel("image::blurr");', /"image::blurr".* not .*"blur"/],
  ['module.kernel("");', /'""'.* not .*"saxpy"/],
  [
    'module.kernel("saxpy(float a, const double* x, float* y, int n)");',
    /"saxpy\(float a, const float\* x, float\* y, int n\)"/,
  ],
  [
    'module.kernel("saxpy(float a, float* x, float* y, int n)");',
    /"saxpy\(float a, const float\* x, float\* y, int n\)"/,
  ],
  [
    'module.kernel("saxpy(double a, const float* x, float* y, int n)");',
    /"saxpy\(float a, const float\* x, float\* y, int n\)"/,
  ],
  [
    'module.kernel("saxpy(float a, const float* x, float* y)");',
    /"saxpy\(float a, const float\* x, float\* y, int n\)"/,
  ],
  [
    'module.kernel("shade(double4 colour, Particle one, Particle* all)");',
    /"shade\(float4 colour, Particle one/,
  ],
  ['module.kernel("either(int* x)");', /"either\(double\* x\)" \| "either\(float\* x\)"/],
  ['module.kernel("saxpy(flot a)");', /"flot\\" is not a type a kernel can take/],
  ['module.kernel("real_one");', /"real\\" is not a type a kernel can take/],
  ['device.kernels.load("axpy(float a");', /has no such parentheses/],
  // Launches.
  ["saxpy.launch(config, 2, f32, f32);", /Expected 5 arguments, but got 4/],
  ["saxpy.launch(config, 2, f32, f32, 4, 4);", /Expected 5 arguments, but got 6/],
  ["saxpy.launch(config, 2, f64, f32, 4);", /"float64"' is not assignable to type '"float32"/],
  ["saxpy.launch(config, 2n, f32, f32, 4);", /bigint.* not .*number/],
  ["saxpy.launch(config, 2, f32, unknown, 4);", /is not assignable to type '"float32"/],
  ["axpy.launch(config, 2, f32, new Float32Array(4), 4);", /Float32Array.* not .*DeviceMemory/],
  ["saxpy.launch({ grid: 1 }, 2, f32, f32, 4);", /block/],
  ['saxpy.launch({ ...config, stream: "main" }, 2, f32, f32, 4);', /string.* not .*Stream/],
  ['module.kernel("flag").launch(config, 1, 2n);', /number.* not .*boolean/],
  [
    'module.kernel("shade").launch(config, [1, 2, 3], { position: [0, 0, 0], mass: 1 }, null);',
    /Source has 3 element/,
  ],
  ['module.kernel("shade").launch(config, [1, 2, 3, 4], { mass: 1 }, null);', /position/],
  // Memory and devices.
  ['device.allocate("float", 4);', /"float".* not .*DType/],
  ["f32.copyFrom(new Float64Array(4));", /Float64Array.* not .*Float32Array/],
  ['widenToFloat32("bfloat16", new Float32Array(4));', /Float32Array.* not .*Uint16Array/],
  ["f32.length = 5;", /read-only/],
  ["(await i64.toArray())[0]! + 1;", /bigint.*1|'\+'/],
  ["openDevice(0n);", /bigint.* not .*(string|number)/],
  ["occupancy({ threads: 256 });", /Expected 2 arguments|.threads. does not exist/],
  ['defineStruct("S", { x: "flot" });', /"flot\\" is no field/],
  ["stream.wait(f32);", /DeviceBuffer.* not .*Event/],
];

const RIGHT: readonly string[] = [
  "device.kernels.add(f32, f32, f32); device.kernels.min(i64, i64); device.kernels.fill(i64, 2n);",
  "device.kernels.sum(i32, i64); device.kernels.sum(f32, f64); device.kernels.mean(i32, bf16);",
  "const generic = <D extends DType>(x: DeviceBuffer<D>) => x.view(1).copyFrom(x.view(0, 1)); generic(f32);",
  'saxpy.launch({ ...config, stream }, 2, f32, f32, 4); module.kernel("flag").launch(config, true, 2n);',
  'module.kernel("image::blur").launch(config, null, device.allocate("uint8", 4));',
  'module.kernel("shade").launch(config, [1, 2, 3, 4], { position: [0, 0, 0], mass: 1 }, null);',
  'module.kernel("saxpy(float, float const *, float* __restrict__ out, signed int)").launch(config, 2, f32, f32, 4);',
  'module.kernel("either").launch(config, f64); module.kernel("either(float* x)").launch(config, f32);',
  // Only the compiler of CUDA knows these.
  'module.kernel("tile"); module.kernel("tile<float>(float* x)"); module.kernel("hidden").launch(config, 1);',
  'module.kernel("real_one(float* x)"); module.kernel("made_by_a_macro(int n)"); module.kernel(text).launch(config, 1);',
  'module.kernel(`saxpy`); (await device.compile(text)).kernel("saxpi");',
  '(await device.compile(`${text} __global__ void f() {}`)).kernel("g");',
  "const some = await device.compile(`__global__ void f(${text} x) {} __global__ void g(int n) {}` as const);" +
  'some.kernel("f").launch(config, 1); some.kernel("g").launch(config, 1);',
  'module.kernel(`${text}_f32`); module.kernel(["saxpy", "flag"][0] as "saxpy" | "flag");',
  // The default element type survives in a list.
  'const x: Tensor<"float32"> = concat([ones([2]), zeros([2])]); console.log(x.exp());',
  'const x: Tensor<"float32"> = stack([normal([2]), uniform([2])], { axis: 1 }); console.log(x);',
  'const x: Tensor<"float64"> = concat([ones([2], { dtype: "int32" }), zeros([2])]); console.log(x);',
  'const joined = softmax(concat([ones([2]), zeros([2])])); const x: Tensor<"float32"> = joined; console.log(x);',
  'const x = tensor(Array(3).fill(0)); const y: Tensor<"float32"> = x; console.log(y);',
  'const x = tensor(Int8Array.of(1)); const y: Tensor<"int8"> = x; const z: Tensor = x; console.log(y, z);',
  'const x = tensor([[Float64Array.of(1)]]); const y: Tensor<"float64"> = x; for (const row of y) row.std();',
  'const x = tensor(Float32Array.of(1), { dtype: "int32", device: "host" }); const y: Tensor<"int32"> = x.to("cuda:0"); console.log(y);',
  "const list: Tensor[] = [ones([2])]; const x: Tensor = concat(list); console.log(x, stack(list));",
  // Results have an ArrayBuffer of their own.
  'new Response(await f32.toArray()); new Response(i64.toArraySync()); await Deno.writeFile(text, await unknown.as("uint8").toArray());',
  'new Response(device.allocatePinned("float32", 4).array); new Blob([widenToFloat32("bfloat16", await bf16.toArray())]);',
  "const array: Float32Array<ArrayBuffer> = await f32.toArray(); f32.copyFrom(array);",
  "f32.copyFrom(new Float32Array(new SharedArrayBuffer(16)));",
  'const scalars: KernelArguments<"f(unsigned long long n, bool on)"> = [10n, true]; console.log(scalars, analyzeAccess);',
];

interface Complaint {
  readonly line: number;
  readonly message: string;
}

/**
 * The errors of one program made of the statements, each in a scope of its own, and of examples, which
 * are checked in the same run.
 */
async function complaints(
  statements: readonly string[],
  examples: ReadonlyMap<string, string>,
): Promise<{ found: Complaint[]; ofExamples: string[] }> {
  const program = PREAMBLE + statements.map((statement) => `{ ${statement} }\n`).join("");
  const first = PREAMBLE.split("\n").length;
  const errors = await typeErrors(new Map([...examples, ["programs", program]]));
  const all = [
    ...errors.matchAll(/^TS\d+ \[ERROR\]: ([\s\S]*?)^ {4}at file:(\S+):(\d+):\d+$/gm),
  ];
  const isOwn = ([, , file = ""]: RegExpExecArray) => file.endsWith("programs.ts");
  return {
    found: all.filter(isOwn)
      .map(([, message = "", , line]) => ({ line: Number(line) - first, message })),
    ofExamples: all.filter((error) => !isOwn(error)).map(([text]) => text),
  };
}

Deno.test("deno check refuses each wrong program at its line, and accepts the right ones and all code of the documentation", async () => {
  assert(WRONG.length >= 40);
  const examples = documentationExamples();
  const sources = new Map(examples.map(({ place, source }) => [place, source]));
  assertEquals(sources.size, examples.length);
  for (const path of COMPARISONS) sources.set(path, comparisonProgram(path));
  const statements = [...WRONG.map(([statement]) => statement), ...RIGHT];
  const { found, ofExamples } = await complaints(statements, sources);
  assertEquals(ofExamples, []);
  const unlike = WRONG.flatMap(([statement, pattern], line) => {
    const messages = found.filter((one) => one.line === line).map(({ message }) => message);
    return messages.some((message) => pattern.test(message)) ? [] : [[statement, ...messages]];
  });
  assertEquals(unlike, []);
  assertEquals(found.filter(({ line }) => line < 0 || line >= WRONG.length), []);
});
