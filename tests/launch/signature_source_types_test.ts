// Signatures with structs, and kernels of a whole source, in TypeScript's type system.
// `deno check` of this file is the test: every `@ts-expect-error` fails it when the compiler
// accepts the line below.

import { assertEquals } from "@std/assert";
import type {
  DeviceMemory,
  ReadonlyDeviceMemory,
} from "../../src/launch/signature/device_memory.ts";
import type { DType } from "../../src/memory/dtype.ts";
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

type Reads<D extends DType> = ReadonlyDeviceMemory<D> | null;
type Writes<D extends DType> = DeviceMemory<D> | null;

type Equal<A, B> = (<T>() => T extends A ? 1 : 2) extends (<T>() => T extends B ? 1 : 2) ? true
  : false;

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

const context = { library: {}, ordinal: 0, label: "host:0" };
const shape = { context, address: 256, length: 1, disposed: false };
const bytes: Writes<"uint8"> = { ...shape, dtype: "uint8" };
const float32: Writes<"float32"> = { ...shape, dtype: "float32" };
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
  assertEquals(kernel("f(const ::Particle * p, int n)").launch(bytes, 1), 2);
  const pair = { values: new Float32Array(2), inner: particle };
  assertEquals(kernel("f(math::Pair< float, 2 > p, float4 v)").launch(pair, [1, 2, 3, 4]), 2);
  const wrong = () => {
    // @ts-expect-error A field is missing.
    kernel("f(Particle p)").launch({ mass: 4 });
    // @ts-expect-error A vector of two numbers where float3 stands.
    kernel("f(Particle p)").launch({ ...particle, position: [1, 2] });
    // @ts-expect-error Memory where a struct stands.
    kernel("f(Particle p)").launch(bytes);
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

Deno.test("launch() takes as many numbers as a vector has elements", () => {
  const { kernel } = compile("");
  assertEquals(kernel("f(float4 v, longlong2 w)").launch([1, 2, 3, 4], [1n, 2]), 2);
  assertEquals(kernel("f(const float4* v)").launch(float32), 1);
  const wrong = () => {
    // @ts-expect-error Three numbers where four stand.
    kernel("f(float4 v)").launch([1, 2, 3]);
    // @ts-expect-error A bigint where floats stand.
    kernel("f(float2 v)").launch([1, 2n]);
    // @ts-expect-error A number where a vector stands.
    kernel("f(float1 v)").launch(1);
    // @ts-expect-error int32 memory holds no floats.
    kernel("f(int4* v)").launch(float32);
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
  assertEquals(module.kernel("move").launch(bytes, particle), 2);
  assertEquals(module.kernel("tile<float, 4>(float* x)").launch(float32), 1);
  const wrong = () => {
    // @ts-expect-error An argument is missing.
    module.kernel("saxpy").launch(2, float32, float32);
    // @ts-expect-error A field is missing.
    module.kernel("move").launch(bytes, { mass: 1 });
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

Deno.test("SignatureIn is the signature itself, whatever the source declares", () => {
  same<SignatureIn<Source, "saxpy(int n)">, "saxpy(int n)">();
  same<SignatureIn<string, "f<(1 > 0)>(int n)">, "f<(1 > 0)>(int n)">();
});

// A source of 30 KB with more comments and divisions than the steps that one type may take.
type Four<Text extends string> = `${Text}${Text}${Text}${Text}`;
type Body =
  `__device__ float f(float x) { return x / 2.0f; } // a comment / another\n/* and a block */\n`;
type Long = `${Four<Four<Four<Four<Body>>>>}${Source}${Four<Four<Four<Body>>>}`;

Deno.test("SignatureIn reads a long source with many comments", () => {
  same<
    KernelArguments<SignatureIn<Long, "either">>,
    KernelArguments<SignatureIn<Source, "either">>
  >();
  same<KernelArguments<SignatureIn<Long, "bounded">>, [number | bigint]>();
  same<SignatureIn<Long, "nothing">, string>();
});
