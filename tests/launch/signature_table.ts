/**
 * Signatures and their meanings, for both readers: the types that read them in the compiler and the
 * parser that reads them at run time must agree on every row. `signature_agreement_test.ts` compares
 * the two on random signatures.
 */

/**
 * Readable signatures and their parameters: scalar types by name, vectors as the type and number of
 * their elements, pointers as the element type of their memory and a star.
 */
export const READABLE = [
  ["empty ( void ) ;", ""],
  ["_f9(int _9)", "int32"],
  ['extern"C"__global__ void f(int x);', "int32"],
  ["inline __global__ void f(int x)", "int32"],
  [
    `
    extern "C"
    __global__ void f(
      const float * __restrict__ x,
      float const *__restrict y,
      float*restrict z,
      volatile float*v,
      const volatile unsigned	int
flags
    );
    `,
    "const float32*, const float32*, float32*, float32*, uint32",
  ],
  [
    "f(float* const x, float* const __restrict__ y, const float* const)",
    "float32*, float32*, const float32*",
  ],
  ["f(const int n, int const m, __grid_constant__ const int g)", "int32, int32, int32"],
  ["f(void* a, const void* b, void const *c, void*)", "void*, const void*, const void*, void*"],
  [
    "f(float4 a, const float4* b, int2 c, double1 d, ushort2* f, ulong4_32a g, half2 h, dim3 i)",
    "float32x4, const float32*, int32x2, float64x1, uint16*, uint64x4, float16x2, uint32x3",
  ],
  ["f(size_t* n, const unsigned short* s, ulonglong2* w)", "uint64*, const uint16*, uint64*"],
  [
    "f(std::size_t n, const cuda::std::uint8_t* p, ::std::int64_t i)",
    "uint64, const uint8*, int64",
  ],
  ["a::f<g<int>, (1 > 0), (2 < (3)), h<k<1>>>::run(float x)", "float32"],
  ["f<a << 2, b <= c, x->y>(float x)", "float32"],
  [
    `
    // Adds (what, ever) {
    extern "C" __global__ /* void g(int) */ void f( // the first
      float a, /* , int b */ const float* x /* (in) */, // (1)
      int n // elements
    ) // done
    `,
    "float32, const float32*, int32",
  ],
  ["__global__ void __cluster_dims__(2, 1, 1) __launch_bounds__ (BLOCK(1)) f(int x)", "int32"],
  ["[[maybe_unused]] f([[maybe_unused]] int x, float* [[maybe_unused]]y)", "int32, float32*"],
  [
    "f(__align__(16) float x, alignas(8) int y, __attribute__((aligned(8))) int)",
    "float32, int32, int32",
  ],
  [
    "f(float a[N * 2], int b[g(1, 2)], const int c[N < 3][4], int d[a[b[0]]], float [][3])",
    "float32*, int32*, const int32*, int32*, float32*",
  ],
  [
    "f(int n = 3, float x = max(1, 2), int3 v = {1, 2, 3}, int m = (a > b), float* p = nullptr)",
    "int32, float32, int32x3, int32, float32*",
  ],
] as const;

const REFERENCE = "Parameter 1: a reference cannot be passed: a kernel takes a value or a pointer";
const IN_PARENTHESES = "a pointer to a function or an array cannot be passed";

function noParentheses<const Text extends string>(text: Text) {
  return `A signature reads "name(parameters)": "${text}" has no such parentheses` as const;
}

function noType<const Text extends string>(text: Text) {
  return `Parameter 1: "${text}" is not a type a kernel can take` as const;
}

/**
 * Unreadable signatures, the compiler's message, and the character and a part of the message at run
 * time.
 */
export const UNREADABLE = [
  ["saxpy", noParentheses("saxpy"), 6, "the end"],
  ["saxpy(int", noParentheses("saxpy(int"), 10, ","],
  ["(int n)", "A kernel's name stands before its parameters: it is missing", 1, "name is expected"],
  ["f(int n) const", 'Nothing but ";" can follow the parameters: it is "const"', 10, '"const"'],
  [
    "f g(int n)",
    'A kernel has one name, and returns void: "f g" stands before the parameters',
    3,
    '"g"',
  ],
  [
    "f(int n, flot* x)",
    'Parameter 2: "flot" is not a type a kernel can take: a struct must be described',
    10,
    '"flot" is not a type',
  ],
  ["f(unsigned float x)", noType("unsigned float"), 3, '"unsigned float"'],
  ["f(long double x)", noType("long double"), 3, '"long double"'],
  ["f(float* x y)", 'Parameter 1: it has two names, "x" and "y"', 12, '"y"'],
  [
    "f(float** x)",
    "Parameter 1: a pointer to a pointer has no device memory that fits",
    9,
    "to a pointer",
  ],
  [
    "f(float* x[2])",
    "Parameter 1: an array of pointers has no device memory that fits",
    11,
    "array of pointers",
  ],
  ["f(float x[2] y)", 'Parameter 1: "y" follows the array', 14, '"y"'],
  ["f(float& x)", REFERENCE, 8, "a reference"],
  ["f(float*& x)", REFERENCE, 9, "a reference"],
  ["f(void (*done)(int))", `Parameter 1: ${IN_PARENTHESES}`, 8, IN_PARENTHESES],
  ["f(int n = a < b, int m)", "Parameter 1: its brackets do not match", 11, "do not match"],
  ["f(int x[3)", "Parameter 1: an array has no end", 8, "no end"],
  ["f(struct)", "Parameter 1: it is missing", 9, "a type is expected"],
  [
    "f(float __restrict__ x)",
    'Parameter 1: "__restrict__" stands only behind the "*" of a pointer',
    9,
    '"__restrict__"',
  ],
  ["f(float* int)", 'Parameter 1: "int" cannot follow the "*" of a pointer', 10, '"int"'],
  ["f(int n,)", "Parameter 2: it is missing", 9, "a type is expected"],
  ["f(int n, void)", 'Parameter 2: "void" is no parameter by itself', 10, '"void" is no parameter'],
] as const;
