/**
 * The usable part of a device's free memory.
 *
 * A reserve is kept of the *free* memory, which is read after the device was opened: the context's
 * immediate cost is gone from it already. The reserve is for later costs:
 *
 * - **context**, two fifths: modules loaded at their first launch, local memory of kernels that
 *   spill, the `printf` buffer and the device heap;
 * - **driver**, one fifth: page tables, channels of new streams, launch queues;
 * - **emergencies**, two fifths: fragmentation, and other processes on the same device.
 *
 * It is 5 % of free memory, at least 64 MiB, since modules and channels have a size of their own on
 * any device, and at most 1 GiB, since none of these grows with the memory of a large one. On a tiny
 * or nearly full device it is never more than half of the free memory.
 *
 * @module
 */

/** The usable memory of a device. All figures are bytes. */
interface UsableMemory {
  /** Free memory of the opened device. */
  readonly free: number;
  /** Total memory. */
  readonly total: number;
  /** The reserve: the sum of the three parts. */
  readonly reserve: number;
  /** Memory for allocations: `free - reserve`. */
  readonly usable: number;
  /** The parts of the reserve. */
  readonly parts: {
    /** For later loads and growth of the context. */
    readonly context: number;
    /** For the driver's own structures. */
    readonly driver: number;
    /** For fragmentation and other processes. */
    readonly emergencies: number;
  };
}

const MIB = 2 ** 20;

/** Share of free memory. */
const RESERVE_SHARE = 0.05;
/** In bytes, unless that is more than half of the free memory. */
const MIN_RESERVE = 64 * MIB;
const MAX_RESERVE = 1024 * MIB;

function checkReading({ free, total }: Pick<UsableMemory, "free" | "total">): void {
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

/** Calculates the usable memory of a device. */
export function usableMemory(reading: Pick<UsableMemory, "free" | "total">): UsableMemory {
  checkReading(reading);
  const { free, total } = reading;
  const bounded = Math.min(Math.max(RESERVE_SHARE * free, MIN_RESERVE), MAX_RESERVE);
  const reserve = Math.floor(Math.min(bounded, free / 2));
  const context = Math.floor(reserve * 2 / 5);
  const driver = Math.floor(reserve / 5);
  const parts = { context, driver, emergencies: reserve - context - driver };
  return { free, total, reserve, usable: free - reserve, parts };
}
