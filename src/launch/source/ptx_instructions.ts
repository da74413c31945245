/**
 * The PTX instructions and registers of the host device, in C++.
 *
 * @module
 */

/** The C++ types of PTX's types. */
export const TYPES: Readonly<Record<string, string>> = {
  ...Object.fromEntries(
    [["8", "char"], ["16", "short"], ["32", "int"], ["64", "long long"]].flatMap(([bits, type]) => [
      [`u${bits}`, `unsigned ${type}`],
      [`b${bits}`, `unsigned ${type}`],
      [`s${bits}`, `signed ${type}`],
    ]),
  ),
  f16: "unsigned short",
  f32: "float",
  f64: "double",
  pred: "bool",
};

/** The types of operands by their constraints. */
export const CONSTRAINTS: Readonly<Record<string, string>> = {
  h: "unsigned short",
  r: "unsigned int",
  l: "unsigned long long",
  f: "float",
  d: "double",
  n: "long long",
};

export const REGISTERS: Readonly<Record<string, string>> = {
  laneid: "::gridstride::host::lane_id()",
  warpid: "(::gridstride::host::thread_number() / 32)",
  nwarpid: "32u",
  // One multiprocessor runs all blocks.
  smid: "0u",
  nsmid: "1u",
  clock: "static_cast<unsigned int>(clock64())",
  clock64: "clock64()",
  globaltimer: "gs_host_clock()",
  globaltimer_lo: "static_cast<unsigned int>(gs_host_clock())",
  dynamic_smem_size: "::gridstride::host::dynamic_shared_bytes()",
  lanemask_eq: "(1u << ::gridstride::host::lane_id())",
  lanemask_lt: "::gridstride::ptx::lanes_before()",
  lanemask_le: "(2 * ::gridstride::ptx::lanes_before() + 1)",
  lanemask_gt: "(~(2 * ::gridstride::ptx::lanes_before() + 1))",
  lanemask_ge: "(~::gridstride::ptx::lanes_before())",
  ...Object.fromEntries(
    ["x", "y", "z"].flatMap((axis) => [
      [`tid.${axis}`, `threadIdx.${axis}`],
      [`ntid.${axis}`, `blockDim.${axis}`],
      [`ctaid.${axis}`, `blockIdx.${axis}`],
      [`nctaid.${axis}`, `gridDim.${axis}`],
    ]),
  ),
};

const [I, I3264, F, ROUND] = [
  "[usb](?:16|32|64)",
  "[usb](?:32|64)",
  "f(?:32|64)",
  "(?:\\.rn)?(?:\\.ftz)?",
];
const CACHED = "(?:\\.(?:ca|cg|cs|lu|cv|wb|wt|nc|L1::\\w+|L2::\\w+|weak))*";
const POLLED = "(?:\\.(?:volatile|relaxed|acquire|release|mmio|cta|cluster|gpu|gl|sys))*";
const SPACE = "(?:\\.(?:global|const|shared|local|param|shared::cta))?";
const ATOMIC = `(?:\\.(?:relaxed|acquire|release|acq_rel|cta|gpu|sys))*${SPACE}` +
  "(?:\\.(?:cta|gpu|sys))*";

/**
 * Instructions: a pattern of the whole name, and the value of its first operand in C++. `$1` is an
 * operand as the instruction's type, the last in its name; `$1:u` as the unsigned type of that
 * width; `$1:s32` as another type; `$T` the type itself. `!` marks a statement without a result.
 */
const TABLE: readonly (readonly [pattern: string, text: string])[] = [
  [`mov\\.(?:${I}|${F}|pred)`, "$1"],
  ["cvta\\.to\\.shared\\.u64", "P::to_shared($1)"],
  ["cvta\\.shared\\.u64", "P::from_shared($1)"],
  ["cvta(?:\\.to)?(?:\\.(?:global|local|const))?\\.u64", "$1"],
  [`(add|sub)\\.${I}`, "$1:u $< $2:u"],
  [`add\\.cc\\.${I3264}`, "P::sum<$U>($1:u, $2:u, false, gs_carry)"],
  [`addc\\.${I3264}`, "P::sum<$U>($1:u, $2:u, gs_carry, gs_dropped)"],
  [`addc\\.cc\\.${I3264}`, "P::sum<$U>($1:u, $2:u, gs_carry, gs_carry)"],
  [`sub\\.cc\\.${I3264}`, "P::difference<$U>($1:u, $2:u, false, gs_carry)"],
  [`subc\\.${I3264}`, "P::difference<$U>($1:u, $2:u, gs_carry, gs_dropped)"],
  [`subc\\.cc\\.${I3264}`, "P::difference<$U>($1:u, $2:u, gs_carry, gs_carry)"],
  [`mul\\.lo\\.${I3264}`, "$1:u * $2:u"],
  [`mad\\.lo\\.${I3264}`, "$1:u * $2:u + $3:u"],
  ["mul\\.hi\\.u32", "__umulhi($1, $2)"],
  ["mul\\.hi\\.s32", "__mulhi($1, $2)"],
  ["mul\\.hi\\.u64", "__umul64hi($1, $2)"],
  ["mul\\.hi\\.s64", "__mul64hi($1, $2)"],
  ["mad\\.hi\\.u32", "__umulhi($1, $2) + $3"],
  ["mad\\.hi\\.s32", "__mulhi($1, $2) + $3:u"],
  ["mad\\.hi\\.u64", "__umul64hi($1, $2) + $3"],
  ["mul\\.wide\\.u32", "1ull * $1 * $2"],
  ["mul\\.wide\\.s32", "1ll * $1 * $2"],
  ["mul\\.wide\\.u16", "1u * $1 * $2"],
  ["mul\\.wide\\.s16", "1 * $1 * $2"],
  ["mad\\.wide\\.u32", "1ull * $1 * $2 + $3:u64"],
  ["mad\\.wide\\.s32", "static_cast<unsigned long long>(1ll * $1 * $2) + $3:u64"],
  ["(div|rem)\\.[us](?:32|64)", "$1 $< $2"],
  [`neg\\.s(?:16|32|64)`, "0 - $1:u"],
  [`abs\\.s(?:16|32|64)`, "$1 < 0 ? 0 - $1:u : $1:u"],
  [`(min|max)\\.[us](?:16|32|64)`, "$1 $< $2 ? $1 : $2"],
  ["sad\\.u32", "__usad($1, $2, $3)"],
  ["sad\\.s32", "__sad($1, $2, $3:u32)"],
  ["vabsdiff4\\.u32\\.u32\\.u32\\.add", "__vsadu4($1, $2) + $3"],
  ["dp4a\\.(?:u32\\.u32|s32\\.s32)", "__dp4a($1, $2, $3)"],
  ["(and|or|xor)\\.(?:b(?:16|32|64)|pred)", "$1 $< $2"],
  ["not\\.b(?:16|32|64)", "~$1"],
  ["not\\.pred", "!$1"],
  ["shl\\.b(?:16|32|64)", "P::left<$T>($1, $2:u32)"],
  [`shr\\.${I}`, "P::right<$T>($1, $2:u32)"],
  ["shf\\.l\\.wrap\\.b32", "__funnelshift_l($1, $2, $3)"],
  ["shf\\.l\\.clamp\\.b32", "__funnelshift_lc($1, $2, $3)"],
  ["shf\\.r\\.wrap\\.b32", "__funnelshift_r($1, $2, $3)"],
  ["shf\\.r\\.clamp\\.b32", "__funnelshift_rc($1, $2, $3)"],
  ["prmt\\.b32", "__byte_perm($1, $2, $3)"],
  ["lop3\\.b32", "P::logic($1, $2, $3, $4)"],
  ["popc\\.b32", "__popc($1)"],
  ["popc\\.b64", "__popcll($1)"],
  ["clz\\.b32", "__clz($1:s32)"],
  ["clz\\.b64", "__clzll($1:s64)"],
  ["brev\\.b32", "__brev($1)"],
  ["brev\\.b64", "__brevll($1)"],
  [`bfind\\.[us](?:32|64)`, "P::highest<$T>($1)"],
  [`bfe\\.[us](?:32|64)`, "P::extracted<$T>($1, $2:u32, $3:u32)"],
  [`bfi\\.b(?:32|64)`, "P::inserted<$T>($1, $2, $3:u32, $4:u32)"],
  [`selp\\.(?:${I}|${F})`, "$3:pred ? $1 : $2"],
  [`setp\\.(eq|ne|lt|le|gt|ge|lo|ls|hi|hs)(?:\\.ftz)?\\.(?:${I}|${F})`, "$1 $< $2"],
  // ---- Floating point ----
  ["(add|sub|mul|div)\\.(r[nzmp])(?:\\.ftz)?\\.f32", "__f$o_$r($1, $2)"],
  ["(add|sub|mul|div)\\.(r[nzmp])\\.f64", "__d$o_$r($1, $2)"],
  ["fma\\.(r[nzmp])(?:\\.ftz)?\\.f32", "__fmaf_$r($1, $2, $3)"],
  ["fma\\.(r[nzmp])\\.f64", "__fma_$r($1, $2, $3)"],
  [`(add|sub|mul)(?:\\.ftz)?\\.${F}`, "$1 $< $2"],
  ["div\\.(?:approx|full)(?:\\.ftz)?\\.f32", "$1 / $2"],
  [`(min|max)(?:\\.ftz)?\\.${F}`, "$o($1, $2)"],
  [`neg(?:\\.ftz)?\\.${F}`, "-$1"],
  [`abs(?:\\.ftz)?\\.${F}`, "fabs($1)"],
  [`rcp(?:\\.approx)?${ROUND}\\.${F}`, "1 / $1"],
  [`sqrt(?:\\.approx)?${ROUND}\\.${F}`, "sqrt($1)"],
  [`rsqrt\\.approx(?:\\.ftz)?\\.${F}`, "rsqrt($1)"],
  ["ex2\\.approx(?:\\.ftz)?\\.f32", "exp2f($1)"],
  ["lg2\\.approx(?:\\.ftz)?\\.f32", "log2f($1)"],
  ["(sin|cos|tanh)\\.approx(?:\\.ftz)?\\.f32", "$of($1)"],
  // ---- Conversions ----
  ["cvt\\.([us](?:8|16|32|64))\\.[us](?:8|16|32|64)", "static_cast<$D>($1)"],
  ["cvt\\.(r[nzmp])i(?:\\.ftz)?\\.([us](?:32|64))\\.f(?:32|64)", "__$f2$i_$r($1)"],
  ["cvt\\.(r[nzmp])\\.(f(?:32|64))\\.[us](?:32|64)", "__$i2$f_$r($1)"],
  ["cvt\\.f64\\.f32", "static_cast<double>($1)"],
  ["cvt\\.rn(?:\\.ftz)?\\.f32\\.f64", "static_cast<float>($1)"],
  // ---- Threads ----
  ["activemask\\.b32", "__activemask()"],
  ["vote\\.sync\\.ballot\\.b32", "__ballot_sync($2, $1:pred)"],
  ["vote\\.sync\\.(any|all)\\.pred", "__$o_sync($2:b32, $1) != 0"],
  ["match\\.any\\.sync\\.b(?:32|64)", "__match_any_sync($2:b32, $1)"],
  ["redux\\.sync\\.(add|min|max|and|or|xor)\\.[usb]32", "__reduce_$o_sync($2:b32, $1)"],
  ["bar\\.warp\\.sync", "!__syncwarp($0:b32)"],
  ["(?:bar|barrier)(?:\\.cta)?\\.sync(?:\\.aligned)?", "!__syncthreads()"],
  ["membar\\.(?:gl|sys|cta)|fence(?:\\.(?:sc|acq_rel))?\\.(?:cta|gpu|sys)", "!__threadfence()"],
  ["nanosleep\\.u32", "!__nanosleep($0)"],
  ["trap", "!__trap()"],
  ["brkpt", "!__brkpt()"],
  ["prefetch(?:u)?(?:\\.\\w+)*|discard(?:\\.\\w+|::\\w+)*|griddepcontrol\\.\\w+", "!(void)0"],
  // Asynchronous copies are done at once.
  ["cp\\.async\\.(?:commit_group|wait_group|wait_all)", "!(void)0"],
];

export const INSTRUCTIONS: readonly (readonly [pattern: RegExp, text: string])[] = TABLE.map((
  [pattern, text],
) => [new RegExp(`^(?:${pattern})$`), text] as const);
export const MEMORY: RegExp = new RegExp(
  `^(ld|ldu|st)${POLLED}${SPACE}${POLLED}${CACHED}(?:\\.v([24]))?\\.([usbf](?:8|16|32|64))$`,
);
export const ATOMICS: RegExp = new RegExp(
  `^(atom|red)${ATOMIC}\\.(add|min|max|and|or|xor|exch|cas|inc|dec)\\.([usbf](?:32|64))$`,
);

export const OPERATORS: Readonly<Record<string, string>> = {
  ...{ eq: "==", ne: "!=", lt: "<", le: "<=", gt: ">", ge: ">=", lo: "<", ls: "<=", hi: ">" },
  ...{ hs: ">=", min: "<", max: ">", add: "+", sub: "-", mul: "*", div: "/", rem: "%" },
  ...{ and: "&", or: "|", xor: "^" },
};
export const ROUNDINGS: Readonly<Record<string, string>> = {
  rn: "rn",
  rz: "rz",
  rm: "rd",
  rp: "ru",
};
export const WORDS: Readonly<Record<string, string>> = {
  ...{ s32: "int", u32: "uint", s64: "ll", u64: "ull", f32: "float", f64: "double" },
};

export const ASYNC_COPY: RegExp =
  /^cp\.async\.c([ag])\.shared(?:::cta)?\.global(?:\.L2::(?:64|128|256)B)?$/;
export const MOVE_MATRIX: RegExp =
  /^(ld|st)matrix\.sync\.aligned(?=.*\.m8n8)(?=.*\.x([124]))(?:\.(?:m8n8|x\d|trans|shared(?:::cta)?))*\.b16$/;
const OPERAND = "(f16|bf16|tf32|e4m3|e5m2|s8|u8|f64)";
export const MATRIX_PRODUCT: RegExp = new RegExp(
  `^mma\\.sync\\.aligned\\.m(8|16)n8k(4|8|16|32)\\.row\\.col(?:\\.kind::f8f6f4)?(\\.satfinite)?` +
    `\\.(f16|f32|f64|s32)\\.${OPERAND}\\.${OPERAND}\\.(f16|f32|f64|s32)$`,
);

/** Of the operands of a matrix product: elements in a register, shapes, and types of results. */
export const MATRIX_OPERANDS: Readonly<
  Record<string, { readonly packed: number; readonly shapes: string; readonly results: string }>
> = {
  f16: { packed: 2, shapes: "16x8 16x16", results: "f16 f32" },
  bf16: { packed: 2, shapes: "16x8 16x16", results: "f32" },
  tf32: { packed: 1, shapes: "16x4 16x8", results: "f32" },
  e4m3: { packed: 4, shapes: "16x16 16x32", results: "f16 f32" },
  e5m2: { packed: 4, shapes: "16x16 16x32", results: "f16 f32" },
  s8: { packed: 4, shapes: "8x16 16x16 16x32", results: "s32" },
  u8: { packed: 4, shapes: "8x16 16x16 16x32", results: "s32" },
  f64: { packed: 1, shapes: "8x4 16x4 16x8 16x16", results: "f64" },
};
