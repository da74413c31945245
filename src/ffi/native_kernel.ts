/**
 * Kernels: finding and describing built-in ones, and what is known of these and those of modules.
 *
 * @module
 */

import { check, statusError } from "./check.ts";
import { checkInt32, checkSize } from "./integers.ts";
import type { NativeLibrary } from "./library.ts";
import { cString, readText } from "./text.ts";

/** The status by which the library says that no kernel has a name. */
const NOT_FOUND = -9;

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

/** The error for a launch that failed. */
export function launchError(
  library: NativeLibrary,
  device: number,
  name: string,
  status: number,
): Error {
  return statusError(library, status, { action: `launch ${name}`, device });
}
