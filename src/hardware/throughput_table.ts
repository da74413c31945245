/**
 * What a multiprocessor calculates in a clock, by compute capability.
 *
 * Figures are operations, of which a multiply-add is two, as in data sheets; those of tensor cores
 * are for dense matrices. Sources, named where a figure stands:
 * - [guide] "Throughput of Native Arithmetic Instructions", in the CUDA C++ Best Practices Guide 13
 *   and the Programming Guides before: results of a multiply-add, of which two each are counted;
 * - [ratio] "Ratio of FP32 to FP64 Throughput" among the tables of compute capabilities in the CUDA
 *   Programming Guide 13;
 * - [paper] the architecture's white paper: Turing, A100, GA102, Ada, H100, RTX Blackwell;
 * - [sheet] what the data sheet of the GPU named gives, divided by its multiprocessors and clock.
 *
 * @module
 */

/** What is calculated by single threads; integers of 8 bits by `dp4a`, four at a time. */
export type Arithmetic = "float64" | "float32" | "float16" | "bfloat16" | "int32" | "int8";

/** What tensor cores multiply. */
export type TensorArithmetic =
  | "float64"
  | "tfloat32"
  | "float16"
  | "bfloat16"
  | "int8"
  | "float8"
  | "float4";

/** Operations per clock of a multiprocessor; null for formats that it does not have. */
export interface ThroughputRow {
  /** Of instructions of single threads. */
  readonly operations: Readonly<Record<Arithmetic, number | null>>;
  /** Of matrix instructions; null also where there are some only so that programs run. */
  readonly tensorOperations: Readonly<Record<TensorArithmetic, number | null>>;
  /** The clock that data sheets have tensor cores work at, as a share of the highest. */
  readonly tensorClockShare: number;
}

// 32-bit integers: 64 multiply-adds, or 128 additions from 12.0 on [guide]. NVIDIA gives no rate of
// dp4a; Nsight Compute counts it on the pipe of integer multiply-adds, so that it is taken to be as
// fast: four products in each of 64 lanes.
const INTEGERS = { int32: 128, int8: 512 } as const;

// [guide] [ratio: 32 to 1]; 16-bit floats two at a time. [paper: 8 tensor cores of 64 multiply-adds
// in float16; twice that in int8]
const TURING: ThroughputRow = {
  operations: { float64: 4, float32: 128, float16: 256, bfloat16: null, ...INTEGERS },
  tensorOperations: {
    float64: null,
    tfloat32: null,
    float16: 1024,
    bfloat16: null,
    int8: 2048,
    float8: null,
    float4: null,
  },
  tensorClockShare: 1,
};

// [guide, paper: A100]
const AMPERE_LARGE: ThroughputRow = {
  operations: { float64: 64, float32: 128, float16: 512, bfloat16: 256, ...INTEGERS },
  tensorOperations: {
    float64: 128,
    tfloat32: 1024,
    float16: 2048,
    bfloat16: 2048,
    int8: 4096,
    float8: null,
    float4: null,
  },
  tensorClockShare: 1,
};

// [guide, paper: GA102] [ratio: 64 to 1]
const AMPERE_SMALL: ThroughputRow = {
  operations: { float64: 4, float32: 256, float16: 256, bfloat16: 256, ...INTEGERS },
  tensorOperations: {
    float64: null,
    tfloat32: 512,
    float16: 1024,
    bfloat16: 1024,
    int8: 2048,
    float8: null,
    float4: null,
  },
  tensorClockShare: 1,
};

// [sheet: Jetson AGX Orin, 5.3 TFLOP/s in float32, 10.6 in float16, 85 TOP/s in int8 by tensor
// cores, which are as wide as A100's]
const ORIN: ThroughputRow = {
  ...AMPERE_SMALL,
  operations: { ...AMPERE_SMALL.operations, float16: 512 },
  tensorOperations: { ...AMPERE_LARGE.tensorOperations, float64: null },
};

// [guide, paper: Ada]
const ADA: ThroughputRow = {
  ...AMPERE_SMALL,
  tensorOperations: { ...AMPERE_SMALL.tensorOperations, float8: 2048 },
};

// [guide, paper: H100, tensor cores at 1830 of 1980 MHz as SXM5 and at 1620 of 1755 as PCIe card]
const HOPPER: ThroughputRow = {
  operations: { float64: 128, float32: 256, float16: 512, bfloat16: 512, ...INTEGERS },
  tensorOperations: {
    float64: 256,
    tfloat32: 2048,
    float16: 4096,
    bfloat16: 4096,
    int8: 8192,
    float8: 8192,
    float4: null,
  },
  tensorClockShare: 1830 / 1980,
};

// [guide: 64 instructions for two 16-bit floats each] [sheet: HGX B200, per GPU 37 TFLOP/s in
// float64, 75 in float32, by tensor cores 2.25 PFLOP/s in float16, that is 1856 of 1965 MHz]
const BLACKWELL_LARGE: ThroughputRow = {
  operations: { float64: 128, float32: 256, float16: 256, bfloat16: 256, ...INTEGERS },
  tensorOperations: {
    float64: 128,
    tfloat32: 4096,
    float16: 8192,
    bfloat16: 8192,
    int8: 16384,
    float8: 16384,
    float4: 32768,
  },
  tensorClockShare: 1856 / 1965,
};

// [ratio: 64 to 1] [sheet: HGX B300, 13.5 PFLOP/s in float4, one and a half times a B200; 2 POP/s in
// int8 of eight GPUs with sparse matrices]
const BLACKWELL_ULTRA: ThroughputRow = {
  operations: { ...BLACKWELL_LARGE.operations, float64: 4 },
  tensorOperations: {
    ...BLACKWELL_LARGE.tensorOperations,
    float64: null,
    int8: 512,
    float4: 49152,
  },
  tensorClockShare: 1856 / 1980,
};

// [ratio: 64 to 1] [sheet: Jetson T5000, 1035 TFLOP/s in float4 and half that in float8, at 1575 MHz;
// the other formats in a B200's proportions]
const THOR: ThroughputRow = {
  operations: { ...BLACKWELL_LARGE.operations, float64: 4 },
  tensorOperations: { ...BLACKWELL_LARGE.tensorOperations, float64: null },
  tensorClockShare: 1,
};

// [guide, paper: RTX Blackwell] [sheet: DGX Spark, 1 PFLOP/s in float4 with sparse matrices]
const BLACKWELL_SMALL: ThroughputRow = {
  ...ADA,
  tensorOperations: { ...ADA.tensorOperations, float4: 4096 },
};

/**
 * The rows, by the capabilities that `CAPABILITY_TABLE` has. NVIDIA sells no GPU of capability 8.8
 * under a name: it is given what 8.6 has, as its limits are the same.
 */
export const THROUGHPUT_TABLE: ReadonlyMap<string, ThroughputRow> = new Map([
  ["7.5", TURING],
  ["8.0", AMPERE_LARGE],
  ["8.6", AMPERE_SMALL],
  ["8.7", ORIN],
  ["8.8", AMPERE_SMALL],
  ["8.9", ADA],
  ["9.0", HOPPER],
  ["10.0", BLACKWELL_LARGE],
  ["10.3", BLACKWELL_ULTRA],
  ["11.0", THOR],
  ["12.0", BLACKWELL_SMALL],
  ["12.1", BLACKWELL_SMALL],
]);

/**
 * What GeForce cards of these formats do at half the rate of others of their capability: products
 * that are added up in float32 [paper: Turing, GA102, Ada, RTX Blackwell]. In float16 and float8
 * they have the whole rate where sums are float16 too.
 */
export const HALVED_ON_GEFORCE: readonly TensorArithmetic[] = ["tfloat32", "bfloat16"];
