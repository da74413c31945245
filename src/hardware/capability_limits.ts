/**
 * The limits of each compute capability, for launch configuration, occupancy and fake devices.
 *
 * Sources, named beside the figures:
 * - [guide] the table "Technical Specifications per Compute Capability" of the CUDA Programming
 *   Guide;
 * - [occupancy] `cuda_occupancy.h` of the CUDA 13.0 toolkit, which
 *   `tests/hardware/capability_occupancy_test.ts` compiles and compares;
 * - [query] `cudaDeviceGetAttribute` on the named GPU;
 * - [sheet] the data sheet of the named GPU.
 *
 * @module
 */

import { describeValue } from "../ffi/describe_value.ts";

/**
 * Extents along the three axes of a grid or a block.
 * @category Devices
 */
export interface Extents {
  /** Along x. */
  readonly x: number;
  /** Along y. */
  readonly y: number;
  /** Along z. */
  readonly z: number;
}

/**
 * The limits of devices of a compute capability. Memory is in bytes.
 * @category Devices
 */
export interface CapabilityLimits {
  /** The requested capability, such as `"8.9"`. */
  readonly computeCapability: string;
  /** The capability of the figures; another one if the requested one is unknown. */
  readonly source: string;
  /** False if the capability is newer than the table and the newest known one stands in. */
  readonly exact: boolean;
  /** NVIDIA's name of the architecture. */
  readonly architecture: string;
  /** Threads of a warp. */
  readonly warpSize: number;
  /** Most threads in a block, over all three axes. */
  readonly maxThreadsPerBlock: number;
  /** Most threads of a block along each axis. */
  readonly maxBlockDimensions: Extents;
  /** Most blocks of a grid along each axis. */
  readonly maxGridDimensions: Extents;
  /** Most grids resident on a device. */
  readonly maxResidentGrids: number;
  /** Most threads resident on a multiprocessor. */
  readonly maxThreadsPerMultiprocessor: number;
  /** Most warps resident on a multiprocessor. */
  readonly maxWarpsPerMultiprocessor: number;
  /** Most blocks resident on a multiprocessor. */
  readonly maxBlocksPerMultiprocessor: number;
  /** Hardware barriers that the resident blocks of a multiprocessor share. */
  readonly barriersPerMultiprocessor: number;
  /**
   * Whether blocks are given as many barriers as they use, which bounds the number of resident
   * blocks; before capability 9.0 they do not bound it.
   */
  readonly barrierAllocation: boolean;
  /** 32-bit registers of a multiprocessor. */
  readonly registersPerMultiprocessor: number;
  /** Most 32-bit registers a block can have. */
  readonly registersPerBlock: number;
  /** Most 32-bit registers a thread can have. */
  readonly registersPerThread: number;
  /** Registers are given to a warp in multiples of this. */
  readonly registerAllocationUnit: number;
  /** Parts of a multiprocessor over which its warps and registers are spread. */
  readonly multiprocessorPartitions: number;
  /** Shared memory of a multiprocessor. */
  readonly sharedMemoryPerMultiprocessor: number;
  /** Most shared memory of a block that did not opt in to more. */
  readonly sharedMemoryPerBlock: number;
  /** Most shared memory of a block whose kernel opted in. */
  readonly sharedMemoryPerBlockOptIn: number;
  /** Shared memory that the driver keeps in every block, beyond the block's own. */
  readonly reservedSharedMemoryPerBlock: number;
  /** Shared memory is given to a block in multiples of this [occupancy]. */
  readonly sharedMemoryAllocationUnit: number;
  /** Sizes that the shared-memory part of the L1 cache can take, ascending. */
  readonly sharedMemoryCapacities: readonly number[];
  /** Memory for `__constant__` variables. */
  readonly constantMemory: number;
  /** Largest pitch of a copy. */
  readonly maxPitch: number;
  /** Formats that the tensor cores multiply. */
  readonly tensorCores: {
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
  };
  /** Whether global memory is copied to shared memory without passing through registers. */
  readonly asyncCopy: boolean;
  /** Whether blocks can be launched in clusters. */
  readonly clusterLaunch: boolean;
  /** Whether a whole grid can synchronise. */
  readonly cooperativeLaunch: boolean;
  /** The GPU with the size and speed of a fake device of this capability. */
  readonly representative: {
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
    /** True if the GPU shares the memory of the host. */
    readonly integrated: boolean;
  };
}

type RepresentativeGpu = CapabilityLimits["representative"];

/** The limits that differ between compute capabilities. */
interface CapabilityRow {
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
  /** The GPU with the size and speed of a fake device of this capability. */
  readonly representative: RepresentativeGpu;
}

const KIB = 1024;
const MIB = 1024 * KIB;

/** The limits of all capabilities from 7.5 to 12.1 [guide]. */
const COMMON_LIMITS = {
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
  /** Shared memory of a block that did not opt in to more. */
  sharedMemoryPerBlock: 48 * KIB,
  constantMemory: 64 * KIB,
  /** Largest offset between two rows of a pitched copy [query]. */
  maxPitch: 2 ** 31 - 1,
} as const;

/** The driver's part of every block's shared memory, from capability 8.0 on [guide]. */
const RESERVED_SHARED_MEMORY: number = KIB;

/**
 * First capability of each feature, as major × 10 + minor, from [guide, "Feature Support"] unless
 * another source is named.
 */
const FEATURE_FROM = {
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

/** Makes a GPU from multiprocessors, clocks in MHz, bits of the memory bus and MiB of cache. */
function gpu(
  name: string,
  multiprocessorCount: number,
  clockMegahertz: number,
  memoryClockMegahertz: number,
  memoryBusWidth: number,
  cacheInMib: number,
  integrated = false,
): RepresentativeGpu {
  return {
    name,
    multiprocessorCount,
    clockMegahertz,
    memoryClockMegahertz,
    memoryBusWidth,
    l2CacheSize: cacheInMib * MIB,
    integrated,
  };
}

// [query] Multiprocessors, clocks and cache as deviceQuery prints them.
const T4 = gpu("Tesla T4", 40, 1590, 5001, 256, 4);
const A100 = gpu("A100-SXM4-40GB", 108, 1410, 1215, 5120, 40);
const RTX_A6000 = gpu("RTX A6000", 84, 1800, 8001, 384, 6);
const RTX_4090 = gpu("GeForce RTX 4090", 128, 2520, 10501, 384, 72);
const H100 = gpu("H100-SXM5-80GB", 132, 1980, 2619, 5120, 50);
// [query] The bus is 7680 bits since the drivers of 2026; older ones report 8192.
const B200 = gpu("B200", 148, 1965, 3996, 7680, 126.5);
// [sheet] HGX B300: 75 TFLOP/s in float32 per GPU is 148 × 128 lanes × 2 at this clock; the memory,
// "8 TB/s" as for the B200, is taken as the B200 reports it.
const B300 = { ...B200, name: "B300", clockMegahertz: 1980 };
// [query], with the boost clock of the Founders Edition [sheet].
const RTX_5090 = gpu("GeForce RTX 5090", 170, 2407, 14001, 512, 96);
// [sheet] for the memory, LPDDR5 at 204.8 GB/s: the driver reports half the bus and another clock.
const AGX_ORIN = gpu("Jetson AGX Orin 64GB", 16, 1300, 3200, 256, 4, true);
// [sheet] LPDDR5X at 273 GB/s.
const THOR = gpu("Jetson T5000 (Thor)", 20, 1575, 4266, 256, 32, true);
// [query], with the memory of the DGX Spark, LPDDR5X at 273 GB/s [sheet].
const GB10 = gpu("GB10", 48, 2418, 4266, 256, 24, true);

/**
 * The rows, oldest first. Resident threads and blocks [guide]; barriers and shared-memory sizes
 * [occupancy]. NVIDIA sells no GPU of capability 8.8 under a name: its limits are those of 8.6, and
 * so is its representative GPU.
 */
const CAPABILITY_TABLE: ReadonlyMap<string, CapabilityRow> = new Map([
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

const GRAMMAR = /^([1-9]\d?)\.(\d)$/;

/** Major × 10 + minor, which orders capabilities: `"10.3"` is 103. */
function rank(computeCapability: string): number | undefined {
  const match = GRAMMAR.exec(computeCapability);
  return match === null ? undefined : Number(match[1]) * 10 + Number(match[2]);
}

const OLDEST = rank(KNOWN_CAPABILITIES[0]!)!;

/**
 * The formats that the tensor cores of a compute capability, major × 10 + minor, multiply; unlike the
 * limits also known of capabilities before 7.5.
 */
export function tensorCoreFormats(known: number): CapabilityLimits["tensorCores"] {
  return {
    float16: known >= FEATURE_FROM.float16,
    int8: known >= FEATURE_FROM.int8,
    bfloat16: known >= FEATURE_FROM.bfloat16,
    tfloat32: known >= FEATURE_FROM.tfloat32,
    float8: known >= FEATURE_FROM.float8,
    float4: known >= FEATURE_FROM.float4,
  };
}

function fill(computeCapability: string, source: string, row: CapabilityRow): CapabilityLimits {
  const known = rank(source)!;
  const has = (feature: keyof typeof FEATURE_FROM) => known >= FEATURE_FROM[feature];
  const reserved = has("reservedSharedMemory") ? RESERVED_SHARED_MEMORY : 0;
  const sharedMemory = row.sharedMemoryCapacities.at(-1)!;
  return {
    computeCapability,
    source,
    exact: computeCapability === source,
    ...COMMON_LIMITS,
    ...row,
    maxWarpsPerMultiprocessor: row.maxThreadsPerMultiprocessor / COMMON_LIMITS.warpSize,
    sharedMemoryPerMultiprocessor: sharedMemory,
    sharedMemoryPerBlockOptIn: sharedMemory - reserved,
    reservedSharedMemoryPerBlock: reserved,
    sharedMemoryAllocationUnit: known >= 80 ? 128 : 256,
    barrierAllocation: has("barrierAllocation"),
    tensorCores: tensorCoreFormats(known),
    asyncCopy: has("asyncCopy"),
    clusterLaunch: has("clusterLaunch"),
    cooperativeLaunch: has("cooperativeLaunch"),
  };
}

/**
 * The limits of a compute capability.
 *
 * A capability that the table does not have is answered with the newest known one that is not
 * newer, and `exact: false`: after 12.1 that is 12.1.
 *
 * @param computeCapability Major and minor version, such as `"8.9"` or `"12.0"`.
 * @throws {RangeError} If it is malformed or older than 7.5, the oldest that CUDA 13 supports.
 *
 * @example
 * ```ts
 * import { capabilityLimits } from "@gridstride/cuda";
 *
 * const { sharedMemoryPerBlockOptIn } = capabilityLimits("9.0");
 * console.log(sharedMemoryPerBlockOptIn); // 232448: that is 227 KiB
 * ```
 * @category Devices
 */
export function capabilityLimits(computeCapability: string): CapabilityLimits {
  const wanted = typeof computeCapability === "string" ? rank(computeCapability) : undefined;
  if (wanted === undefined) {
    throw new RangeError(
      `Cannot look up limits as computeCapability must be "<major>.<minor>" such as "8.9": it is ${
        describeValue(computeCapability)
      }`,
    );
  }
  if (wanted < OLDEST) {
    throw new RangeError(
      `Cannot look up limits as computeCapability must be at least ${
        KNOWN_CAPABILITIES[0]
      }: it is "${computeCapability}"`,
    );
  }
  const source = KNOWN_CAPABILITIES.findLast((known) => rank(known)! <= wanted)!;
  return fill(computeCapability, source, CAPABILITY_TABLE.get(source)!);
}
