/**
 * Signatures and their meanings, for both readers: the types that read them in the compiler and the
 * parser that reads them at run time must agree on every row.
 */

/**
 * Readable signatures and their parameters: scalar types by name, vectors as the type and number of
 * their elements, pointers as the element type of their memory and a star.
 */
export const READABLE = [
  [
    "axpy_float32(float a, const float* x, float* y, unsigned long long n)",
    "float32, const float32*, float32*, uint64",
  ],
  [
    "axpy_float32(float,const float*,float*,unsigned long long)",
    "float32, const float32*, float32*, uint64",
  ],
  ["empty()", ""],
  ["empty(void)", ""],
  ["empty ( void ) ;", ""],
  ["f( )", ""],
  ["f(int)", "int32"],
  ["_f9(int _9)", "int32"],
  ["__global__ void f(double x)", "float64"],
  ['extern "C" __global__ void f(double x);', "float64"],
  ["static __global__ void f(double x)", "float64"],
  ["__global__ void __launch_bounds__(256, 2) f(double x)", "float64"],
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
  [
    "f(const int n, int const m, const int, __grid_constant__ const int g)",
    "int32, int32, int32, int32",
  ],
  [
    "f(float x[], const float y[16], int const z [ 3 ], float [], double[2])",
    "float32*, const float32*, const int32*, float32*, float64*",
  ],
  ["f(void* a, const void* b, void const *c, void*)", "void*, const void*, const void*, void*"],
  ["f(bool a, _Bool b, bool* c, const bool* d)", "bool, bool, bool*, const bool*"],
  ["f(half a, __half b, half* c)", "float16, float16, float16*"],
  ["f(bfloat16 a, __nv_bfloat16 b, nv_bfloat16* c)", "bfloat16, bfloat16, bfloat16*"],
  ["f(const __nv_fp8_e4m3* a, __nv_fp8_e5m2* b)", "const float8_e4m3*, float8_e5m2*"],
  ["f(char a, signed char b, unsigned char c, char* d)", "int8, int8, uint8, int8*"],
  [
    "f(short a, unsigned short b, short int c, long d, long int e)",
    "int16, uint16, int16, int64, int64",
  ],
  ["f(unsigned n, unsigned, signed s, unsigned* p)", "uint32, uint32, int32, uint32*"],
  [
    "f(long long a, long long int b, unsigned long c, long unsigned int d, unsigned long long e)",
    "int64, int64, uint64, uint64, uint64",
  ],
  [
    "f(int8_t a, int16_t b, int32_t c, int64_t d, size_t s, ptrdiff_t p)",
    "int8, int16, int32, int64, uint64, int64",
  ],
  [
    "f(uint8_t a, uint16_t b, uint32_t c, uint64_t d, uintptr_t e)",
    "uint8, uint16, uint32, uint64, uint64",
  ],
  [
    "f(float4 a, const float4* b, float3*, int2 c, double1 d, char4 e, ushort2* f)",
    "float32x4, const float32*, float32*, int32x2, float64x1, int8x4, int16*",
  ],
  [
    "f(longlong2 a, ulonglong1 b, long3 c, ulong4_32a d, half2 e, const __nv_bfloat162* f)",
    "int64x2, uint64x1, int64x3, uint64x4, float16x2, const bfloat16*",
  ],
  ["f(dim3 extent, const dim3* extents)", "uint32x3, const uint32*"],
  [
    "f(std::size_t n, const cuda::std::uint8_t* p, ::std::int64_t i)",
    "uint64, const uint8*, int64",
  ],
  ["f(uint a, ushort b, uchar c, ulong d)", "uint32, uint16, uint8, uint64"],
  ["a::b::kernel(int x)", "int32"],
  ["__global__ void ::kernel(int x)", "int32"],
  ["tile<float, 32>(const float* x, int n)", "const float32*, int32"],
  [
    `tile< float,
32 > (int n)`,
    "int32",
  ],
  ["a::f<g<int>, (1 > 0), (2 < (3)), h<k<1>>>::run(float x)", "float32"],
  ["f<a << 2, b <= c, x->y>(float x)", "float32"],
  ["__global__ void f<float[2][(3)]>(float x)", "float32"],
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
  [
    `f(int/**/x,/*,*/int y//)
)`,
    "int32, int32",
  ],
  ['extern"C"__global__ void f(int x)', "int32"],
  ["inline __global__ void f(int x)", "int32"],
  ["__launch_bounds__(256, min(2, 3)) __global__ void f(int x)", "int32"],
  ["__global__ void __cluster_dims__(2, 1, 1) __launch_bounds__ (BLOCK(1)) f(int x)", "int32"],
  ["[[maybe_unused]] f([[maybe_unused]] int x, float* [[maybe_unused]]y)", "int32, float32*"],
  [
    "f(__align__(16) float x, alignas(8) int y, __attribute__((aligned(8))) int)",
    "float32, int32, int32",
  ],
  ["my_alignas(int x)", "int32"],
  [
    "f(float a[N * 2], int b[g(1, 2)], const int c[N < 3][4], int d[a[b[0]]], float [][3])",
    "float32*, int32*, const int32*, int32*, float32*",
  ],
  [
    "f(int n = 3, float x = max(1, 2), int3 v = {1, 2, 3}, int m = (a > b), float* p = nullptr)",
    "int32, float32, int32x3, int32, float32*",
  ],
  ["f(typename std::size_t n, int n2 = a == b, int d = c <= 1 << 2)", "uint64, int32, int32"],
  ["f(unsigned long long* counts, const uint16_t* codes)", "int64*, const int16*"],
] as const;

const REFERENCE = "Parameter 1: a reference cannot be passed: a kernel takes a value or a pointer";
const IN_PARENTHESES = "a pointer to a function or an array cannot be passed";

function noParentheses<const Text extends string>(text: Text) {
  return `A signature reads "name(parameters)": "${text}" has no such parentheses` as const;
}

function noType<const Text extends string>(text: Text) {
  return `Parameter 1: "${text}" is not a type a kernel can take` as const;
}

function undescribed<const Text extends string>(text: Text) {
  return `${noType(text)}: a struct must be described` as const;
}

/**
 * Unreadable signatures, the compiler's message, and the character and a part of the message at run
 * time.
 */
export const UNREADABLE = [
  ["saxpy", noParentheses("saxpy"), 6, "the end"],
  ["saxpy(int", noParentheses("saxpy(int"), 10, ","],
  ["", noParentheses(""), 1, "name is expected"],
  ["(int n)", "A kernel's name stands before its parameters: it is missing", 1, "name is expected"],
  ["f(int n) const", 'Nothing but ";" can follow the parameters: it is "const"', 10, '"const"'],
  [
    "int f(int n)",
    'A kernel has one name, and returns void: "int f" stands before the parameters',
    1,
    '"int"',
  ],
  [
    "f g(int n)",
    'A kernel has one name, and returns void: "f g" stands before the parameters',
    3,
    '"g"',
  ],
  ["f(flot x)", undescribed("flot"), 3, '"flot" is not a type'],
  [
    "f(int n, flot* x)",
    'Parameter 2: "flot" is not a type a kernel can take: a struct must be described',
    10,
    '"flot" is not a type',
  ],
  ["f(unsigned float x)", noType("unsigned float"), 3, '"unsigned float"'],
  ["f(long double x)", noType("long double"), 3, '"long double"'],
  ["f(long long long x)", noType("long long long"), 3, "long long long"],
  ["f(int n m)", 'Parameter 1: it has two names, "n" and "m"', 9, '"m"'],
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
  ["f(const Vector<float> &&x)", REFERENCE, 9, "must be described"],
  ["f(float*& x)", REFERENCE, 9, "a reference"],
  ["f(void (*done)(int))", `Parameter 1: ${IN_PARENTHESES}`, 8, IN_PARENTHESES],
  ["f(int n, float (*rows)[16])", `Parameter 2: ${IN_PARENTHESES}`, 16, IN_PARENTHESES],
  ["f(int n = a < b, int m)", "Parameter 1: its brackets do not match", 11, "do not match"],
  ["f(int x[g(3)", noParentheses("f(int x[g(3)"), 8, "no end"],
  ["f(int x[3)", "Parameter 1: an array has no end", 8, "no end"],
  ["f(float5 x)", undescribed("float5"), 3, "float5"],
  ["f(const Particle* p)", undescribed("Particle"), 9, "Particle"],
  ["f(float4 int x)", undescribed("float4 int"), 3, "float4 int"],
  ["f(struct)", "Parameter 1: it is missing", 9, "a type is expected"],
  [
    "template <int N> f(int n)",
    'A template has no parameters by itself: an instance reads "name<arguments>(…)"',
    1,
    "an instance reads",
  ],
  [
    "tile<float> other(int n)",
    'A kernel has one name, and returns void: "tile<> other" stands before the parameters',
    13,
    '"other"',
  ],
  [
    "f(float __restrict__ x)",
    'Parameter 1: "__restrict__" stands only behind the "*" of a pointer',
    9,
    '"__restrict__"',
  ],
  ["f(float* int)", 'Parameter 1: "int" cannot follow the "*" of a pointer', 10, '"int"'],
  ["f(int n,)", "Parameter 2: it is missing", 9, "a type is expected"],
  ["f(,int n)", "Parameter 1: it is missing", 3, "a type is expected"],
  ["f(int n, void)", 'Parameter 2: "void" is no parameter by itself', 10, '"void" is no parameter'],
  ["f(const)", "Parameter 1: it is missing", 8, "a type is expected"],
  ["f(* x)", "Parameter 1: it is missing", 3, "a type is expected"],
] as const;
