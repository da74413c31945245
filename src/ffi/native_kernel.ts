/**
 * Kernels: the built-in ones, the attributes of all, and launches.
 *
 * @module
 */

import { call, callStatus, callText, check, cString, statusError } from "./check.ts";
import { ARGUMENT, DEVICE, OPERAND, STREAM } from "./command_block.ts";
import type { NativeSymbols } from "./declarations.ts";
import type { NativeLibrary } from "./library.ts";

/** `GS_ERROR_NOT_FOUND`. */
const NOT_FOUND = -9;

/** The declarations of all built-in kernels, in the order of their ids from 1. */
export function kernelDeclarations(library: NativeLibrary): string[] {
  const [length] = call(library, "gs_kernel_count", { action: "count the kernels" });
  return Array.from({ length: length! }, (_, index) => kernelDeclaration(library, index + 1));
}

/** The declaration of a kernel with its compiled types: `name(type,type)`. */
export function kernelDeclaration(library: NativeLibrary, kernel: number): string {
  const action = "describe a kernel";
  const { status, text } = callText(library, "gs_kernel_describe", action, kernel);
  check(library, status, action);
  return text;
}

/** The id of a built-in kernel by its name; undefined if there is none. */
export function findKernel(library: NativeLibrary, name: string): number | undefined {
  const action = `find kernel ${name}`;
  const status = callStatus(library, "gs_kernel_find", action, cString(name));
  if (status === NOT_FOUND) return undefined;
  check(library, status, action);
  return library.result[0]!;
}

/**
 * The resources and limits of a compiled kernel.
 * @category Launching kernels
 */
export interface KernelAttributes {
  /** Maximum number of threads of a block. */
  readonly maxThreadsPerBlock: number;
  /** Registers of a thread; undefined on the host device, whose kernels are code of the CPU. */
  readonly registersPerThread: number | undefined;
  /** Bytes of shared memory that the kernel declares. */
  readonly staticSharedMemory: number;
  /** Bytes of constant memory. */
  readonly constantMemory: number;
  /** Bytes of local memory of a thread. */
  readonly localMemoryPerThread: number;
  /** Maximum bytes of dynamic shared memory of a launch; `reserveSharedMemory()` raises it. */
  readonly maxDynamicSharedMemory: number;
  /** The architecture of the machine code, such as 90; 0 on the host device. */
  readonly binaryVersion: number;
  /** The architecture of the PTX, such as 90; 0 on the host device. */
  readonly ptxVersion: number;
}

/**
 * Loads the machine code of a kernel for the device, which may wait for all of its work. CUDA would
 * do so at the first launch, and a kernel that waits for another one would wait forever.
 */
export function loadKernel(library: NativeLibrary, device: number, kernel: number): void {
  call(library, "gs_kernel_load", { action: "load a kernel", device }, device, kernel);
}

export function kernelAttributes(
  library: NativeLibrary,
  device: number,
  kernel: number,
): KernelAttributes {
  const context = { action: "read a kernel's attributes", device };
  const values = call(library, "gs_kernel_attributes", context, device, kernel);
  return {
    maxThreadsPerBlock: values[0]!,
    // Every kernel of a GPU has registers.
    registersPerThread: values[1]! || undefined,
    staticSharedMemory: values[2]!,
    constantMemory: values[3]!,
    localMemoryPerThread: values[4]!,
    maxDynamicSharedMemory: values[5]!,
    binaryVersion: values[6]!,
    ptxVersion: values[7]!,
  };
}

/** Allows launches of a kernel with this much dynamic shared memory. */
export function reserveSharedMemory(
  library: NativeLibrary,
  device: number,
  kernel: number,
  bytes: number,
): void {
  const context = { action: `allow ${bytes} bytes of dynamic shared memory`, device };
  call(library, "gs_kernel_reserve", context, device, kernel, bytes);
}

/** The number of blocks of a kernel that a multiprocessor runs at once. */
export function kernelResidency(
  library: NativeLibrary,
  device: number,
  kernel: number,
  threads: number,
  sharedMemory: number,
): number {
  const context = { action: "calculate the resident blocks of a kernel", device };
  const launch = [threads, sharedMemory] as const;
  return call(library, "gs_kernel_residency", context, device, kernel, ...launch)[0]!;
}

export function launchError(
  library: NativeLibrary,
  device: number,
  name: string,
  status: number,
): Error {
  return statusError(library, status, { action: `launch ${name}`, device });
}

/** `GS_LAUNCH_COOPERATIVE`. */
const COOPERATIVE = 1;

export interface LaunchExtents {
  readonly gridX: number;
  readonly gridY: number;
  readonly gridZ: number;
  readonly blockX: number;
  readonly blockY: number;
  readonly blockZ: number;
  readonly sharedMemory: number;
  /** Whether all blocks of the grid run at once. */
  readonly cooperative: boolean;
  /** The extents of a cluster: x + 256 y + 65536 z; 0 for none. */
  readonly cluster: number;
}

/**
 * The launches of one kernel in the layout of the command block.
 *
 * All frequent calls share the command block, and writing it slot by slot costs a launch 10 to 15 ns
 * for each slot. Most launches of a kernel change one or two numbers. Each kernel therefore keeps
 * its own slots, and copies them into the command block in one call.
 */
export class LaunchRecord {
  /** The slots of `gs_command_block`; those before the device's are unused. */
  readonly slots: Float64Array<ArrayBuffer>;
  /** The used slots. */
  readonly used: Float64Array<ArrayBuffer>;
  readonly block: Float64Array<SharedArrayBuffer>;
  readonly symbols: NativeSymbols;

  /**
   * Creates the record of a kernel, with a launch of one thread.
   *
   * @param argumentSlots The number of argument slots that they fill.
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
    this.used = this.slots.subarray(DEVICE);
    this.slots[DEVICE] = device;
    this.slots[OPERAND] = kernel;
    this.slots.fill(1, OPERAND + 1, OPERAND + 7);
    this.slots[OPERAND + 8] = argumentCount;
  }

  setStream(stream: number): void {
    this.slots[STREAM] = stream;
  }

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
 * @returns The status; the caller knows the name of the kernel for the error.
 */
export function launchKernel(launch: LaunchRecord): number {
  launch.block.set(launch.used, DEVICE);
  return launch.symbols.gs_kernel_launch();
}
