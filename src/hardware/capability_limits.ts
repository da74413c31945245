/**
 * The limits of a compute capability, looked up by its name.
 *
 * @module
 */

import { describeValue } from "../ffi/describe_value.ts";
import {
  CAPABILITY_TABLE,
  type CapabilityRow,
  COMMON_LIMITS,
  type Extents,
  FEATURE_FROM,
  KNOWN_CAPABILITIES,
  type RepresentativeGpu,
  RESERVED_SHARED_MEMORY,
  sharedMemoryAllocationUnit,
  type TensorCoreFormats,
} from "./capability_table.ts";

export type { Extents, RepresentativeGpu, TensorCoreFormats } from "./capability_table.ts";

/** What a device of a compute capability allows. Memory is in bytes. */
export interface CapabilityLimits {
  /** The capability asked for, such as `"8.9"`. */
  readonly computeCapability: string;
  /** The capability the figures are of; differs from the one asked for when that is unknown. */
  readonly source: string;
  /** False where the capability is newer than the table and the newest known one stands in. */
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
   * Whether a block is given as many of the barriers as it uses, so that they bound how many blocks
   * are resident; before capability 9.0 they do not.
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
  /** Shared memory that the driver keeps in every block, beyond what the block asks for. */
  readonly reservedSharedMemoryPerBlock: number;
  /** Shared memory is given to a block in multiples of this. */
  readonly sharedMemoryAllocationUnit: number;
  /** Sizes that the shared-memory part of the L1 cache can take, ascending. */
  readonly sharedMemoryCapacities: readonly number[];
  /** Memory for `__constant__` variables. */
  readonly constantMemory: number;
  /** Largest pitch of a copy. */
  readonly maxPitch: number;
  /** Formats that the tensor cores multiply. */
  readonly tensorCores: TensorCoreFormats;
  /** Whether global memory is copied to shared memory without passing through registers. */
  readonly asyncCopy: boolean;
  /** Whether blocks can be launched in clusters. */
  readonly clusterLaunch: boolean;
  /** Whether a whole grid can synchronise. */
  readonly cooperativeLaunch: boolean;
  /** The GPU from which a fake device of this capability takes its size and speed. */
  readonly representative: RepresentativeGpu;
}

const GRAMMAR = /^([1-9]\d?)\.(\d)$/;

/** Major × 10 + minor, which orders capabilities: `"10.3"` is 103. */
function rank(computeCapability: string): number | undefined {
  const match = GRAMMAR.exec(computeCapability);
  return match === null ? undefined : Number(match[1]) * 10 + Number(match[2]);
}

const OLDEST = rank(KNOWN_CAPABILITIES[0]!)!;

function tensorCoresOf(known: number): TensorCoreFormats {
  return {
    float16: known >= FEATURE_FROM.float16,
    int8: known >= FEATURE_FROM.int8,
    bfloat16: known >= FEATURE_FROM.bfloat16,
    tfloat32: known >= FEATURE_FROM.tfloat32,
    float8: known >= FEATURE_FROM.float8,
    float4: known >= FEATURE_FROM.float4,
  };
}

/**
 * The formats that the tensor cores of a compute capability multiply; unlike the limits also known
 * of capabilities before 7.5.
 */
export function tensorCoreFormats(major: number, minor: number): TensorCoreFormats {
  return tensorCoresOf(major * 10 + minor);
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
    sharedMemoryAllocationUnit: sharedMemoryAllocationUnit(Math.floor(known / 10)),
    barrierAllocation: has("barrierAllocation"),
    tensorCores: tensorCoresOf(known),
    asyncCopy: has("asyncCopy"),
    clusterLaunch: has("clusterLaunch"),
    cooperativeLaunch: has("cooperativeLaunch"),
  };
}

/**
 * The capability whose figures hold for another: itself if the table has it, else the newest of
 * the table that is not newer.
 */
function standIn(wanted: number): string {
  return KNOWN_CAPABILITIES.findLast((known) => rank(known)! <= wanted)!;
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
 * console.log(sharedMemoryPerBlockOptIn); // 232448, that is 227 KiB
 * ```
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
  const source = standIn(wanted);
  return fill(computeCapability, source, CAPABILITY_TABLE.get(source)!);
}
