/**
 * Kernels: finding and describing built-in ones, and launching these and those of modules.
 *
 * @module
 */

import { check, statusError } from "./check.ts";
import { DEVICE, OPERAND, STREAM } from "./command_block.ts";
import { checkInt32, checkSize } from "./integers.ts";
import type { NativeLibrary } from "./library.ts";
import { cString, readText } from "./text.ts";

/** The status by which the library says that no kernel has a name. */
const NOT_FOUND = -9;

// Every launch writes these slots. A constant of this module is known to the JIT; what it imports is
// looked up at every use.
const DEVICE_SLOT: number = DEVICE;
const STREAM_SLOT: number = STREAM;
const FIRST: number = OPERAND;

/** The declarations of all built-in kernels, in the order of their ids from 1. */
export function kernelDeclarations(library: NativeLibrary): string[] {
  check(library, library.symbols.gs_kernel_count(library.result), "count the kernels");
  const count = library.result[0]!;
  return Array.from({ length: count }, (_, index) => kernelDeclaration(library, index + 1));
}

/** A kernel's declaration as its compiled types say it: `name(type,type)`. */
export function kernelDeclaration(library: NativeLibrary, kernel: number): string {
  const action = "describe a kernel";
  checkInt32(kernel, "kernel", action);
  const { status, text } = readText((bytes, capacity) =>
    library.symbols.gs_kernel_describe(kernel, bytes, capacity)
  );
  check(library, status, action);
  return text;
}

/** The id of a kernel by its name; `undefined` when there is none. */
export function findKernel(library: NativeLibrary, name: string): number | undefined {
  const status = library.symbols.gs_kernel_find(cString(name), library.result);
  if (status === NOT_FOUND) return undefined;
  check(library, status, `find kernel ${name}`);
  return library.result[0]!;
}

/** What the compiler made of a kernel. */
export interface KernelAttributes {
  /** Most threads a block may have. */
  readonly maxThreadsPerBlock: number;
  /** Registers of a thread. */
  readonly registersPerThread: number;
  /** Bytes of shared memory declared in the kernel. */
  readonly staticSharedMemory: number;
  /** Bytes of constant memory. */
  readonly constantMemory: number;
  /** Bytes of local memory of a thread. */
  readonly localMemoryPerThread: number;
  /** Most bytes of dynamic shared memory of a launch; `reserveSharedMemory()` raises it. */
  readonly maxDynamicSharedMemory: number;
  /** The architecture of the machine code, such as 90; 0 on the host device. */
  readonly binaryVersion: number;
  /** The PTX version it was compiled for, such as 90; 0 on the host device. */
  readonly ptxVersion: number;
}

/** Reads what the compiler made of a kernel. */
export function kernelAttributes(
  library: NativeLibrary,
  device: number,
  kernel: number,
): KernelAttributes {
  const action = "read a kernel's attributes";
  checkInt32(device, "device", action);
  checkInt32(kernel, "kernel", action);
  const { result } = library;
  check(library, library.symbols.gs_kernel_attributes(device, kernel, result), action, device);
  return {
    maxThreadsPerBlock: result[0]!,
    registersPerThread: result[1]!,
    staticSharedMemory: result[2]!,
    constantMemory: result[3]!,
    localMemoryPerThread: result[4]!,
    maxDynamicSharedMemory: result[5]!,
    binaryVersion: result[6]!,
    ptxVersion: result[7]!,
  };
}

/** Allows launches of a kernel with this much dynamic shared memory. */
export function reserveSharedMemory(
  library: NativeLibrary,
  device: number,
  kernel: number,
  bytes: number,
): void {
  const action = `allow ${bytes} bytes of dynamic shared memory`;
  checkInt32(device, "device", action);
  checkInt32(kernel, "kernel", action);
  checkSize(bytes, "bytes", action);
  check(library, library.symbols.gs_kernel_reserve(device, kernel, bytes), action, device);
}

/**
 * How many blocks of a kernel a multiprocessor runs at once.
 *
 * @param threads Threads of a block.
 * @param sharedMemory Dynamic shared memory of a block, in bytes.
 */
export function kernelResidency(
  library: NativeLibrary,
  device: number,
  kernel: number,
  threads: number,
  sharedMemory: number,
): number {
  const action = "ask how many blocks of a kernel run at once";
  checkInt32(device, "device", action);
  checkInt32(kernel, "kernel", action);
  checkInt32(threads, "threads", action);
  checkSize(sharedMemory, "sharedMemory", action);
  const { result, symbols } = library;
  const status = symbols.gs_kernel_residency(device, kernel, threads, sharedMemory, result);
  check(library, status, action, device);
  return result[0]!;
}

/**
 * Enqueues a launch whose arguments already lie in the command block.
 *
 * @returns The status; the caller, who knows the kernel's name, makes the error.
 */
export function launchKernel(
  library: NativeLibrary,
  device: number,
  stream: number,
  kernel: number,
  gridX: number,
  gridY: number,
  gridZ: number,
  blockX: number,
  blockY: number,
  blockZ: number,
  sharedMemory: number,
  argumentCount: number,
): number {
  const { block } = library;
  block[DEVICE_SLOT] = device;
  block[STREAM_SLOT] = stream;
  block[FIRST] = kernel;
  block[FIRST + 1] = gridX;
  block[FIRST + 2] = gridY;
  block[FIRST + 3] = gridZ;
  block[FIRST + 4] = blockX;
  block[FIRST + 5] = blockY;
  block[FIRST + 6] = blockZ;
  block[FIRST + 7] = sharedMemory;
  block[FIRST + 8] = argumentCount;
  return library.symbols.gs_kernel_launch();
}

/** `GS_LAUNCH_COOPERATIVE`. */
const COOPERATIVE = 1;

/** What {@linkcode launchKernel} takes after the library. */
type LaunchNumbers = Parameters<typeof launchKernel> extends [NativeLibrary, ...infer Numbers]
  ? Numbers
  : never;

/**
 * As {@linkcode launchKernel}, for blocks that run at once. Its operands are 0 for all other
 * launches, which therefore need not write them.
 *
 * @param cooperative Whether all blocks of the grid do.
 * @param cluster The extents of a cluster: x + 256 y + 65536 z; 0 for none.
 */
export function launchKernelTogether(
  library: NativeLibrary,
  cooperative: boolean,
  cluster: number,
  ...launch: LaunchNumbers
): number {
  const { block } = library;
  block[OPERAND + 11] = cooperative ? COOPERATIVE : 0;
  block[OPERAND + 12] = cluster;
  const status = launchKernel(library, ...launch);
  block[OPERAND + 11] = 0;
  block[OPERAND + 12] = 0;
  return status;
}

/** The error for a launch that failed. */
export function launchError(
  library: NativeLibrary,
  device: number,
  name: string,
  status: number,
): Error {
  return statusError(library, status, { action: `launch ${name}`, device });
}
