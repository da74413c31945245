// Signatures in TypeScript's type system. `deno check` of this file is the test: every
// `@ts-expect-error` fails it when the compiler accepts the line below.

import { assertEquals } from "@std/assert";
import type {
  DeviceMemory,
  ReadonlyDeviceMemory,
} from "../../src/launch/signature/device_memory.ts";
import { parseSignature } from "../../src/launch/signature/signature.ts";
import type {
  KernelArgument,
  KernelArguments,
  ReadableKernel,
  ReadableSignature,
  SignatureIn,
} from "../../src/launch/signature/signature_types.ts";
import {
  defineStruct,
  type NoStructs,
  type StructTypes,
} from "../../src/launch/signature/struct_type.ts";
import type { DType } from "../../src/memory/dtype.ts";
import type { READABLE, UNREADABLE } from "./signature_table.ts";

type Reads<D extends DType> = ReadonlyDeviceMemory<D> | null;
type Writes<D extends DType> = DeviceMemory<D> | null;

type Equal<A, B> = (<T>() => T extends A ? 1 : 2) extends (<T>() => T extends B ? 1 : 2) ? true
  : false;

/** The type of an argument as the table writes it. */
type ArgumentOf<Text> = Text extends `const ${infer Name}*`
  ? Reads<Name extends DType ? Name : DType>
  : Text extends `${infer Name}*` ? Writes<Name extends DType ? Name : DType>
  : Text extends `${infer Element}x${infer Length}` ? VectorOfText<ArgumentOf<Element>, Length>
  : Text extends "int64" | "uint64" ? number | bigint
  : Text extends "bool" ? boolean
  : number;
type VectorOfText<Element, Length> = Length extends "1" ? readonly [Element]
  : Length extends "2" ? readonly [Element, Element]
  : Length extends "3" ? readonly [Element, Element, Element]
  : readonly [Element, Element, Element, Element];
type ArgumentsOf<Texts extends string> = Texts extends "" ? []
  : Texts extends `${infer First}, ${infer Rest}` ? [ArgumentOf<First>, ...ArgumentsOf<Rest>]
  : [ArgumentOf<Texts>];

/** The rows of a table for which a reader is wrong. */
type WrongArguments<Rows extends readonly (readonly [string, string])[]> = {
  [Index in keyof Rows]: Equal<KernelArguments<Rows[Index][0]>, ArgumentsOf<Rows[Index][1]>> extends
    true ? never : Rows[Index][0];
}[number];
type WrongMessage<Rows extends readonly (readonly [string, string, number, string])[]> = {
  [Index in keyof Rows]: Equal<ReadableSignature<Rows[Index][0]>, Rows[Index][1]> extends true
    ? never
    : [Rows[Index][0], ReadableSignature<Rows[Index][0]>];
}[number];
type Unreadable<Rows extends readonly (readonly [string, string])[]> = {
  [Index in keyof Rows]: Equal<ReadableSignature<Rows[Index][0]>, Rows[Index][0]> extends true
    ? never
    : Rows[Index][0];
}[number];

/** Accepts no wrong rows: the compiler's complaint shows them. */
function none<Rows extends never>(..._wrong: Rows[]): void {}

/** Stands for `Kernel.launch`: only its types matter. */
interface TypedKernel<Signature extends string> {
  launch(...args: KernelArguments<Signature>): number;
}
function kernel<const Signature extends string>(
  _signature: ReadableSignature<Signature>,
): TypedKernel<Signature> {
  return { launch: (...args) => args.length };
}

function memory<D extends DType>(dtype: D): DeviceMemory<D> {
  const context = { library: {}, ordinal: 0, label: "host:0" };
  return { context, dtype, address: 256, length: 1, disposed: false };
}
function view<D extends DType>(dtype: D): ReadonlyDeviceMemory<D> {
  return { ...memory(dtype), readOnly: true };
}

const AXPY = "axpy(float a, const float* x, float* y, unsigned long long n)";
const float32 = memory("float32");

Deno.test("KernelArguments and ReadableSignature agree with the table in every row", () => {
  none<WrongArguments<typeof READABLE>>();
  none<Unreadable<typeof READABLE>>();
  none<WrongMessage<typeof UNREADABLE>>();
});

Deno.test("launch() takes the arguments of the signature", () => {
  assertEquals(kernel(AXPY).launch(2, float32, float32, 4), 4);
  assertEquals(kernel(AXPY).launch(2, view("float32"), float32, 4n), 4);
  assertEquals(kernel("f(void* p, const void* q)").launch(memory("int8"), view("bool")), 2);
  assertEquals(kernel("f(void)").launch(), 0);
});

Deno.test("launch() rejects a wrong count and arguments of other types", () => {
  const axpy = kernel(AXPY);
  // @ts-expect-error Three arguments where four stand.
  axpy.launch(2, float32, float32);
  // @ts-expect-error Five arguments where four stand.
  axpy.launch(2, float32, float32, 4, 4);
  // @ts-expect-error A float64 buffer where const float* stands.
  axpy.launch(2, memory("float64"), float32, 4);
  // @ts-expect-error An int32 buffer where float* stands.
  axpy.launch(2, float32, memory("int32"), 4);
  // @ts-expect-error A buffer of some element type, not known which.
  axpy.launch(2, float32, memory("float32" as DType), 4);
  // @ts-expect-error Host memory.
  axpy.launch(2, new Float32Array(1), float32, 4);
  // @ts-expect-error An address.
  axpy.launch(2, 256, float32, 4);
  // @ts-expect-error A bigint where float stands.
  axpy.launch(2n, float32, float32, 4);
  // @ts-expect-error A number where bool stands.
  kernel("f(bool on)").launch(1);
  // @ts-expect-error A read-only view where float* stands.
  axpy.launch(2, float32, view("float32"), 4);
});

Deno.test("ReadableSignature rejects an unreadable signature at its place", () => {
  // @ts-expect-error flot is no type.
  kernel("f(flot x)");
  // @ts-expect-error There are no parentheses.
  kernel("f");
  // @ts-expect-error Nothing is assignable to what cannot be read.
  const unreadable: KernelArguments<"f(flot x)"> = [1];
  assertEquals(unreadable.length, 1);
});

Deno.test("launch() takes any arguments if the signature is no literal", () => {
  const text: string = AXPY;
  const any: TypedKernel<string> = kernel(text);
  assertEquals(any.launch(1, 2n, true, float32, view("bool")), 5);
  // @ts-expect-error A text is an argument of no kernel.
  any.launch("1");
  none<Equal<KernelArguments<string>, readonly KernelArgument[]> extends true ? never : string>();
});

// Sizes at which per-character or non-tail recursion would end in "excessively deep".

type Four<Text extends string, Between extends string> =
  `${Text}${Between}${Text}${Between}${Text}${Between}${Text}`;
type SixtyFour<Text extends string, Between extends string> = Four<
  Four<Four<Text, Between>, Between>,
  Between
>;

Deno.test("KernelArguments reads 64 parameters with comments, defaults and brackets", () => {
  type One =
    "\n  // what, (it) is <\n  const float4* /* , */ __restrict__ x = f<1>((2 > 1), {3, 4})";
  type Big = KernelArguments<`__global__ void tile<g<int>, (1 > 0)>(${SixtyFour<One, ",">}\n)`>;
  const count: Big["length"] = 64;
  none<Equal<Big[63], Reads<"float32">> extends true ? never : Big[63]>();
  assertEquals(count, 64);
});

// ---- Structs and sources -------------------------------------------------------------------------

/** Accepts only types that are equal. */
function same<A, B>(..._: Equal<A, B> extends true ? [] : [A, B]): void {}

const Particle = defineStruct("Particle", { position: "float3", mass: "float" });
const Pair = defineStruct("math::Pair<float, 2>", { values: "float[2]", inner: Particle });

/** Stands for a module. */
interface TypedModule<Source extends string, Structs extends StructTypes> {
  kernel<const Text extends string>(
    text: ReadableKernel<Source, Text, Structs>,
  ): { launch(...args: KernelArguments<SignatureIn<Source, Text>, Structs>): number };
}
function compile<const Source extends string, const Structs extends StructTypes = NoStructs>(
  _source: Source,
  _structs?: Structs,
): TypedModule<Source, Structs> {
  return { kernel: () => ({ launch: (...args) => (args as readonly unknown[]).length }) };
}

const byteMemory = memory("uint8");
const particle = { position: [1, 2, 3], mass: 4 } as const;

Deno.test("launch() takes an object for a struct, and its bytes for a pointer to it", () => {
  type Arguments = KernelArguments<
    "f(Particle a, const struct Particle* b, Particle[] , math::Pair<float,2> const & )",
    [typeof Particle, typeof Pair]
  >;
  same<Arguments[1], Reads<"uint8">>();
  same<Arguments[2], Writes<"uint8">>();
  const { kernel } = compile("", [Particle, Pair]);
  assertEquals(kernel("f(Particle p)").launch(particle), 1);
  assertEquals(kernel("f(const ::Particle * p, int n)").launch(byteMemory, 1), 2);
  const pair = { values: new Float32Array(2), inner: particle };
  assertEquals(kernel("f(math::Pair< float, 2 > p, float4 v)").launch(pair, [1, 2, 3, 4]), 2);
  const wrong = () => {
    // @ts-expect-error A field is missing.
    kernel("f(Particle p)").launch({ mass: 4 });
    // @ts-expect-error A vector of two numbers where float3 stands.
    kernel("f(Particle p)").launch({ ...particle, position: [1, 2] });
    // @ts-expect-error Memory where a struct stands.
    kernel("f(Particle p)").launch(byteMemory);
    // @ts-expect-error A struct where a pointer stands.
    kernel("f(Particle* p)").launch(particle);
    // @ts-expect-error float32 memory where structs stand.
    kernel("f(const Particle* p)").launch(float32);
    // @ts-expect-error No struct has this name.
    kernel("f(Particles p)");
    // @ts-expect-error Nor this one, of other template arguments.
    kernel("f(math::Pair<float, 3> p)");
  };
  wrong();
});

Deno.test("KernelArguments finds structs by the names of a record, else by their own", () => {
  same<KernelArguments<"f(P p)", { P: typeof Particle }>[0], typeof particle>;
  same<ReadableSignature<"f(P* p)", { P: typeof Particle }>, "f(P* p)">();
  same<
    ReadableSignature<"f(Particle* p)", { P: typeof Particle }>,
    'Parameter 1: "Particle" is not a type a kernel can take: a struct must be described'
  >();
  const parameters = (text: string, structs: StructTypes) =>
    parseSignature(text, structs).parameters.map(({ type }) => type);
  assertEquals(parameters("f(P p, const P* q)", { P: Particle }), [Particle, Particle]);
  assertEquals(parameters("f(math::Pair<float,2> p)", [Particle, Pair]), [Pair]);
});

const SOURCE = `
  #include <cuda_fp16.h>
  // __global__ void commented(int x) {}
  /* __global__ void commented(int x); */
  struct Particle { float3 position; float mass; };
  __device__ float half_of(float x) { return x / 2; }
  extern "C" {
    __global__ void saxpy(float a, const float* x, // in
                          float* y /* out, { */, int n) { y[0] = a / x[0]; }
  }
  __global__ __launch_bounds__(256, 2) void bounded(unsigned long long n);
  template <typename T, int N>
  // of any type
  __global__ void tile(T* x) { x[0] = 1; }
  namespace image {
    static __global__ void blur(const uchar4* __restrict__ in, uchar4* out) {
      for (int i = 0; i < 3; i++) { out[i] = in[i]; }
    }
  }
  #if WIDE
  __global__ void either(double* x) {}
  #else
  __global__ void either(float* x) {}
  #endif
  template __global__ void tile<float, 4>(float* x);
  __global__ void move(Particle* particles, Particle one) {}
  #define KERNEL __global__ void
  KERNEL hidden(int n) {}
  __global__ void real_one(real* x) {}
`;
type Source = typeof SOURCE;

Deno.test("SignatureIn reads a kernel's signature in a literal source", () => {
  same<KernelArguments<SignatureIn<Source, "saxpy">>, [
    number,
    Reads<"float32">,
    Writes<"float32">,
    number,
  ]>();
  same<KernelArguments<SignatureIn<Source, "bounded">>, [number | bigint]>();
  type Blur = [Reads<"uint8">, Writes<"uint8">];
  same<KernelArguments<SignatureIn<Source, "image::blur">>, Blur>();
  same<KernelArguments<SignatureIn<Source, "blur">>, Blur>();
  same<
    KernelArguments<SignatureIn<Source, "either">>,
    [Writes<"float64">] | [Writes<"float32">]
  >();
  const module = compile(SOURCE, [Particle]);
  assertEquals(module.kernel("saxpy").launch(2, float32, float32, 1), 4);
  assertEquals(module.kernel("move").launch(byteMemory, particle), 2);
  assertEquals(module.kernel("tile<float, 4>(float* x)").launch(float32), 1);
  const wrong = () => {
    // @ts-expect-error An argument is missing.
    module.kernel("saxpy").launch(2, float32, float32);
    // @ts-expect-error A field is missing.
    module.kernel("move").launch(byteMemory, { mass: 1 });
    // @ts-expect-error What the source says of it cannot be read: real is no known type.
    module.kernel("real_one");
  };
  wrong();
});

Deno.test("SignatureIn is string for kernels that are not in plain sight", () => {
  same<SignatureIn<Source, "hidden">, string>();
  same<SignatureIn<Source, "commented">, string>();
  same<SignatureIn<Source, "saxp">, string>();
  same<SignatureIn<Source, "tile">, string>();
  same<SignatureIn<Source, "tile<float, 4>">, string>();
  same<SignatureIn<Source, "tile<float, (4 > 2)>">, string>();
  same<SignatureIn<string, "saxpy">, string>();
  same<SignatureIn<Source, string>, string>();
  same<KernelArguments<SignatureIn<Source, "hidden">>, readonly KernelArgument[]>();
  assertEquals(compile(SOURCE).kernel("hidden").launch(1, float32, [1], particle), 4);
  const text: string = SOURCE;
  assertEquals(compile(text).kernel("saxpy").launch(1), 1);
});
