/**
 * What each compute capability allows: the figures that launch configuration, occupancy and fake
 * devices need.
 *
 * Sources, named where a figure stands:
 * - [guide] the table "Technical Specifications per Compute Capability" of the CUDA Programming
 *   Guide;
 * - [occupancy] `cuda_occupancy.h` of the CUDA 13.0 toolkit, which
 *   `tests/hardware/capability_occupancy_test.ts` compiles and compares;
 * - [query] what `cudaDeviceGetAttribute` says on the GPU named;
 * - [sheet] the data sheet of the GPU named.
 *
 * @module
 */

/** Numeric formats that the tensor cores of a device multiply. */
export interface TensorCoreFormats {
  /** IEEE half precision: from capability 7.0. */
  readonly float16: boolean;
  /** 8-bit integers: from capability 7.2. */
  readonly int8: boolean;
  /** bfloat16: from capability 8.0. */
  readonly bfloat16: boolean;
  /** TF32, that is float32 inputs rounded to 10 mantissa bits: from capability 8.0. */
  readonly tfloat32: boolean;
  /** 8-bit floats, e4m3 and e5m2: from capability 8.9. */
  readonly float8: boolean;
  /** 4-bit floats, e2m1: from capability 10.0. */
  readonly float4: boolean;
}

/** Extents along the three axes of a grid or a block. */
export interface Extents {
  /** Along x. */
  readonly x: number;
  /** Along y. */
  readonly y: number;
  /** Along z. */
  readonly z: number;
}

/** A GPU that stands for its compute capability where a fake device needs a size and a speed. */
export interface RepresentativeGpu {
  /** Marketing name. */
  readonly name: string;
  /** Streaming multiprocessors. */
  readonly multiprocessorCount: number;
  /** Highest clock of the multiprocessors in MHz. */
  readonly clockMegahertz: number;
  /** Memory clock in MHz as CUDA counts it: two transfers per cycle. */
  readonly memoryClockMegahertz: number;
  /** Width of the memory bus in bits. */
  readonly memoryBusWidth: number;
  /** Level 2 cache in bytes. */
  readonly l2CacheSize: number;
  /** True where the GPU shares the memory of the host. */
  readonly integrated: boolean;
}

/** What differs from one compute capability to the next. */
export interface CapabilityRow {
  /** NVIDIA's name of the architecture. */
  readonly architecture: string;
  /** Most threads resident on a multiprocessor [guide]. */
  readonly maxThreadsPerMultiprocessor: number;
  /** Most blocks resident on a multiprocessor [guide, occupancy]. */
  readonly maxBlocksPerMultiprocessor: number;
  /** Hardware barriers of a multiprocessor, which its resident blocks share [occupancy]. */
  readonly barriersPerMultiprocessor: number;
  /** Sizes in bytes that the shared-memory part of the L1 cache can take [occupancy]. */
  readonly sharedMemoryCapacities: readonly number[];
  /** The GPU a fake device of this capability takes its size and speed from. */
  readonly representative: RepresentativeGpu;
}

const KIB = 1024;
const MIB = 1024 * KIB;

/** What all capabilities from 7.5 to 12.1 have in common [guide]. */
export const COMMON_LIMITS = {
  warpSize: 32,
  maxThreadsPerBlock: 1024,
  maxBlockDimensions: { x: 1024, y: 1024, z: 64 },
  maxGridDimensions: { x: 2 ** 31 - 1, y: 65535, z: 65535 },
  /** Grids resident on a device at once. */
  maxResidentGrids: 128,
  registersPerMultiprocessor: 65536,
  registersPerBlock: 65536,
  registersPerThread: 255,
  /** Registers are given to a warp in multiples of this [occupancy]. */
  registerAllocationUnit: 256,
  /** Parts of a multiprocessor, each with its share of warps and registers [occupancy]. */
  multiprocessorPartitions: 4,
  /** Shared memory of a block that has not asked for more. */
  sharedMemoryPerBlock: 48 * KIB,
  constantMemory: 64 * KIB,
  /** Largest offset between two rows of a pitched copy [query]. */
  maxPitch: 2 ** 31 - 1,
} as const;

/** What the driver keeps of every block's shared memory, from capability 8.0 on [guide]. */
export const RESERVED_SHARED_MEMORY: number = KIB;

/**
 * First capability of each feature, as major × 10 + minor; where nothing else is said [guide,
 * "Feature Support"].
 */
export const FEATURE_FROM = {
  float16: 70,
  int8: 72,
  bfloat16: 80,
  tfloat32: 80,
  asyncCopy: 80,
  reservedSharedMemory: 80,
  float8: 89,
  clusterLaunch: 90,
  /** Blocks are given as many barriers as they use [occupancy]. */
  barrierAllocation: 90,
  float4: 100,
  cooperativeLaunch: 60,
} as const;

// Shared-memory sizes by family [occupancy: cudaOccAlignUpShmemSizeVoltaPlus], in KiB.
const TURING = [32, 64];
const AMPERE_LARGE = [0, 8, 16, 32, 64, 100, 132, 164];
const AMPERE_SMALL = [0, 8, 16, 32, 64, 100];
const HOPPER = [0, 8, 16, 32, 64, 100, 132, 164, 196, 228];

function row(
  architecture: string,
  maxThreadsPerMultiprocessor: number,
  maxBlocksPerMultiprocessor: number,
  barriersPerMultiprocessor: number,
  capacitiesInKib: readonly number[],
  representative: RepresentativeGpu,
): CapabilityRow {
  return {
    architecture,
    maxThreadsPerMultiprocessor,
    maxBlocksPerMultiprocessor,
    barriersPerMultiprocessor,
    sharedMemoryCapacities: capacitiesInKib.map((kib) => kib * KIB),
    representative,
  };
}

// [query] Multiprocessors, clocks and cache as deviceQuery prints them.
const T4: RepresentativeGpu = {
  name: "Tesla T4",
  multiprocessorCount: 40,
  clockMegahertz: 1590,
  memoryClockMegahertz: 5001,
  memoryBusWidth: 256,
  l2CacheSize: 4 * MIB,
  integrated: false,
};

// [query]
const A100: RepresentativeGpu = {
  name: "A100-SXM4-40GB",
  multiprocessorCount: 108,
  clockMegahertz: 1410,
  memoryClockMegahertz: 1215,
  memoryBusWidth: 5120,
  l2CacheSize: 40 * MIB,
  integrated: false,
};

// [query]
const RTX_A6000: RepresentativeGpu = {
  name: "RTX A6000",
  multiprocessorCount: 84,
  clockMegahertz: 1800,
  memoryClockMegahertz: 8001,
  memoryBusWidth: 384,
  l2CacheSize: 6 * MIB,
  integrated: false,
};

// [sheet] for the memory, LPDDR5 at 204.8 GB/s: the driver reports half the bus and another clock.
const AGX_ORIN: RepresentativeGpu = {
  name: "Jetson AGX Orin 64GB",
  multiprocessorCount: 16,
  clockMegahertz: 1300,
  memoryClockMegahertz: 3200,
  memoryBusWidth: 256,
  l2CacheSize: 4 * MIB,
  integrated: true,
};

// [query]
const RTX_4090: RepresentativeGpu = {
  name: "GeForce RTX 4090",
  multiprocessorCount: 128,
  clockMegahertz: 2520,
  memoryClockMegahertz: 10501,
  memoryBusWidth: 384,
  l2CacheSize: 72 * MIB,
  integrated: false,
};

// [query]
const H100: RepresentativeGpu = {
  name: "H100-SXM5-80GB",
  multiprocessorCount: 132,
  clockMegahertz: 1980,
  memoryClockMegahertz: 2619,
  memoryBusWidth: 5120,
  l2CacheSize: 50 * MIB,
  integrated: false,
};

// [query] The bus is 7680 bits since the drivers of 2026; older ones report 8192.
const B200: RepresentativeGpu = {
  name: "B200",
  multiprocessorCount: 148,
  clockMegahertz: 1965,
  memoryClockMegahertz: 3996,
  memoryBusWidth: 7680,
  l2CacheSize: 126.5 * MIB,
  integrated: false,
};

// [sheet] HGX B300: 75 TFLOP/s in float32 per GPU is 148 × 128 lanes × 2 at this clock; the memory,
// "8 TB/s" as for the B200, is taken as what the B200 reports.
const B300: RepresentativeGpu = { ...B200, name: "B300", clockMegahertz: 1980 };

// [sheet] LPDDR5X at 273 GB/s.
const THOR: RepresentativeGpu = {
  name: "Jetson T5000 (Thor)",
  multiprocessorCount: 20,
  clockMegahertz: 1575,
  memoryClockMegahertz: 4266,
  memoryBusWidth: 256,
  l2CacheSize: 32 * MIB,
  integrated: true,
};

// [query], with the boost clock of the Founders Edition [sheet].
const RTX_5090: RepresentativeGpu = {
  name: "GeForce RTX 5090",
  multiprocessorCount: 170,
  clockMegahertz: 2407,
  memoryClockMegahertz: 14001,
  memoryBusWidth: 512,
  l2CacheSize: 96 * MIB,
  integrated: false,
};

// [query], with the memory of the DGX Spark, LPDDR5X at 273 GB/s [sheet].
const GB10: RepresentativeGpu = {
  name: "GB10",
  multiprocessorCount: 48,
  clockMegahertz: 2418,
  memoryClockMegahertz: 4266,
  memoryBusWidth: 256,
  l2CacheSize: 24 * MIB,
  integrated: true,
};

/**
 * The rows, oldest first. Resident threads and blocks [guide]; barriers and shared-memory sizes
 * [occupancy]. NVIDIA sells no GPU of capability 8.8 under a name: its limits are those of 8.6, and
 * so is the GPU that stands for it.
 */
export const CAPABILITY_TABLE: ReadonlyMap<string, CapabilityRow> = new Map([
  //     architecture        threads blocks barriers
  ["7.5", row("Turing", 1024, 16, 32, TURING, T4)],
  ["8.0", row("Ampere", 2048, 32, 64, AMPERE_LARGE, A100)],
  ["8.6", row("Ampere", 1536, 16, 16, AMPERE_SMALL, RTX_A6000)],
  ["8.7", row("Ampere", 1536, 16, 16, AMPERE_LARGE, AGX_ORIN)],
  ["8.8", row("Ampere", 1536, 16, 16, AMPERE_SMALL, RTX_A6000)],
  ["8.9", row("Ada Lovelace", 1536, 24, 24, AMPERE_SMALL, RTX_4090)],
  ["9.0", row("Hopper", 2048, 32, 64, HOPPER, H100)],
  ["10.0", row("Blackwell", 2048, 32, 64, HOPPER, B200)],
  ["10.3", row("Blackwell", 2048, 32, 64, HOPPER, B300)],
  ["11.0", row("Blackwell", 1536, 24, 24, HOPPER, THOR)],
  ["12.0", row("Blackwell", 1536, 24, 24, AMPERE_SMALL, RTX_5090)],
  ["12.1", row("Blackwell", 1536, 24, 24, AMPERE_SMALL, GB10)],
]);

/** The compute capabilities of the table, oldest first. */
export const KNOWN_CAPABILITIES: readonly string[] = [...CAPABILITY_TABLE.keys()];

/** Unit in bytes in which a block's shared memory is allocated [occupancy]. */
export function sharedMemoryAllocationUnit(major: number): number {
  return major >= 8 ? 128 : 256;
}
