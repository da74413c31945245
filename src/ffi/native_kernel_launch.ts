/**
 * Launches: what one is, laid out as the native library reads it, and the call.
 *
 * @module
 */

import { ARGUMENT, DEVICE, OPERAND, STREAM } from "./command_block.ts";
import type { NativeLibrary, NativeSymbols } from "./library.ts";

/** `GS_LAUNCH_COOPERATIVE`. */
const COOPERATIVE = 1;

// A constant of this module is known to the JIT; what it imports is looked up at every use.
const FIRST: number = DEVICE;

/** Blocks, threads and shared memory of a launch. */
export interface LaunchExtents {
  /** Blocks in x. */
  readonly gridX: number;
  /** Blocks in y. */
  readonly gridY: number;
  /** Blocks in z. */
  readonly gridZ: number;
  /** Threads of a block in x. */
  readonly blockX: number;
  /** Threads of a block in y. */
  readonly blockY: number;
  /** Threads of a block in z. */
  readonly blockZ: number;
  /** Dynamic shared memory of a block in bytes. */
  readonly sharedMemory: number;
  /** Whether all blocks of the grid run at once. */
  readonly cooperative: boolean;
  /** The extents of a cluster: x + 256 y + 65536 z; 0 for none. */
  readonly cluster: number;
}

/**
 * The launches of one kernel, as they go into the command block.
 *
 * Slot after slot written into the command block costs a launch 10 to 15 ns each before the JIT has
 * warmed, and all hot calls share that block, so that a launch cannot rely on anything it left
 * there. Most launches of a kernel differ from the one before in a number or two: each kernel
 * therefore keeps its own copy, of which only these are written, and which is put into the block as
 * a whole.
 */
export class LaunchRecord {
  /** The slots, as `gs_command_block` has them; none before the device's is used. */
  readonly slots: Float64Array<ArrayBuffer>;
  /** Those that go into the command block. */
  readonly used: Float64Array<ArrayBuffer>;
  /** The command block. */
  readonly block: Float64Array<SharedArrayBuffer>;
  /** The functions of the library. */
  readonly symbols: NativeSymbols;

  /**
   * Makes the record of a kernel's launches, of a single thread so far.
   *
   * @param library The library of the kernel.
   * @param device The device's ordinal.
   * @param kernel The library's handle of the kernel.
   * @param argumentCount The number of its parameters.
   * @param argumentSlots The argument slots that they fill.
   */
  constructor(
    library: NativeLibrary,
    device: number,
    kernel: number,
    argumentCount: number,
    argumentSlots: number,
  ) {
    this.block = library.block;
    this.symbols = library.symbols;
    this.slots = new Float64Array(ARGUMENT + argumentSlots);
    this.used = this.slots.subarray(FIRST);
    this.slots[DEVICE] = device;
    this.slots[OPERAND] = kernel;
    this.slots.fill(1, OPERAND + 1, OPERAND + 7);
    this.slots[OPERAND + 8] = argumentCount;
  }

  /** Sets the stream, by its handle. */
  setStream(stream: number): void {
    this.slots[STREAM] = stream;
  }

  /** Sets blocks, threads and shared memory. */
  setExtents(extents: LaunchExtents): void {
    const { slots } = this;
    slots[OPERAND + 1] = extents.gridX;
    slots[OPERAND + 2] = extents.gridY;
    slots[OPERAND + 3] = extents.gridZ;
    slots[OPERAND + 4] = extents.blockX;
    slots[OPERAND + 5] = extents.blockY;
    slots[OPERAND + 6] = extents.blockZ;
    slots[OPERAND + 7] = extents.sharedMemory;
    slots[OPERAND + 11] = extents.cooperative ? COOPERATIVE : 0;
    slots[OPERAND + 12] = extents.cluster;
  }
}

/**
 * Enqueues a launch.
 *
 * @returns The status; the caller, who knows the kernel's name, makes the error.
 */
export function launchKernel(launch: LaunchRecord): number {
  launch.block.set(launch.used, FIRST);
  return launch.symbols.gs_kernel_launch();
}
