/**
 * How much of a device's free memory is kept back, and how much is usable.
 *
 * The figures are a share of *free* memory, read after the device was opened: what the context
 * costs at once is then gone from it already. What is kept back is for what comes later and cannot
 * be asked for in advance:
 *
 * - **context**, two fifths: modules loaded at their first launch, local memory of kernels that
 *   spill, the `printf` buffer and the device heap;
 * - **driver**, one fifth: page tables, channels of new streams, launch queues;
 * - **emergencies**, two fifths: fragmentation, and other processes on the same device.
 *
 * In all that is 5 % of free memory, at least 64 MiB, since modules and channels have a size of
 * their own on however small a device, and at most 1 GiB, since none of these grows with the
 * memory of a large one. On a tiny or nearly full device it is never more than half of what is
 * free.
 *
 * @module
 */

/** Free and total memory of an opened device. */
export interface MemoryReading {
  /** Free memory in bytes. */
  readonly free: number;
  /** Total memory in bytes. */
  readonly total: number;
}

/** What of a device's memory can be used. All figures are bytes. */
export interface UsableMemory extends MemoryReading {
  /** Kept back in all: the sum of the three parts. */
  readonly reserve: number;
  /** What may be allocated: `free - reserve`. */
  readonly usable: number;
  /** What the reserve is for. */
  readonly parts: {
    /** For what the context loads and grows later. */
    readonly context: number;
    /** For the driver's own structures. */
    readonly driver: number;
    /** For fragmentation and other processes. */
    readonly emergencies: number;
  };
}

const MIB = 2 ** 20;

/** Share of free memory that is kept back. */
export const RESERVE_SHARE = 0.05;
/** Least that is kept back in bytes, unless that is more than half of what is free. */
export const MINIMUM_RESERVE: number = 64 * MIB;
/** Most that is kept back in bytes. */
export const MAXIMUM_RESERVE: number = 1024 * MIB;

function checkReading({ free, total }: MemoryReading): void {
  for (const [name, value] of [["free", free], ["total", total]] as const) {
    if (!Number.isSafeInteger(value) || value < 0) {
      throw new RangeError(
        `Cannot compute usable memory as ${name} must be an integer in 0..2^53-1: it is ${value}`,
      );
    }
  }
  if (free > total) {
    throw new RangeError(
      `Cannot compute usable memory as free must be at most total (${total}): it is ${free}`,
    );
  }
}

/**
 * What of a device's memory can be used, by the rule of this module.
 *
 * @throws {RangeError} If a figure is no size or free memory exceeds total memory.
 */
export function usableMemory(reading: MemoryReading): UsableMemory {
  checkReading(reading);
  const { free, total } = reading;
  const bounded = Math.min(Math.max(RESERVE_SHARE * free, MINIMUM_RESERVE), MAXIMUM_RESERVE);
  const reserve = Math.floor(Math.min(bounded, free / 2));
  const context = Math.floor(reserve * 2 / 5);
  const driver = Math.floor(reserve / 5);
  const parts = { context, driver, emergencies: reserve - context - driver };
  return { free, total, reserve, usable: free - reserve, parts };
}
