/**
 * The device: where memory, streams and kernels come from.
 *
 * @module
 */

import { requireInstance } from "../ffi/arguments.ts";
import { divertOutput } from "../ffi/native_output.ts";
import { type DeviceContext, whileHeld } from "../hardware/device_context.ts";
import type { LaunchPlan } from "../launch/launch_plan.ts";
import { planLaunch } from "../launch/launch_planner.ts";
import type { LaunchProblem } from "../launch/launch_problem.ts";
import type { CompileOptions } from "../launch/compile_options.ts";
import { Kernel } from "../launch/kernel.ts";
import type { Module } from "../launch/module.ts";
import type { NoStructs, StructTypes } from "../launch/struct_type.ts";
import { DeviceKernels } from "./device_kernels.ts";
import { requireOnDevice } from "./device_checks.ts";
import {
  compileFile,
  compileText,
  loadImage,
  type LoadModuleOptions,
  type ModuleStructs,
} from "./module_sources.ts";
import { MemoryDevice } from "./memory_device.ts";
import { canReach, grantAccess } from "./peer_access.ts";

/**
 * An opened device. Made by `openDevice()`.
 *
 * Streams and buffers made from it stay usable until they are disposed themselves; its default
 * stream ends with the last of them.
 *
 * @example
 * ```ts
 * import { openDevice } from "@gridstride/cuda";
 *
 * using device = openDevice();
 * using x = device.upload(new Float32Array([1, 2, 3]));
 * using y = device.allocate("float32", 3, { fill: 10 });
 * device.kernels.axpy(2, x, y);
 * console.log(await y.toArray()); // Float32Array(3) [ 12, 14, 16 ]
 * ```
 */
export class Device extends MemoryDevice {
  /** Built-in kernels and operations on buffers. */
  readonly kernels: DeviceKernels;

  /** Makes a device of an opened context, which it holds until it is disposed. */
  constructor(context: DeviceContext) {
    super(context);
    this.kernels = new DeviceKernels(context);
  }

  /**
   * Compiles CUDA C++ for the device and loads it. What was compiled before comes from the compile
   * cache, for which no compiler is needed. Does not block the event loop.
   *
   * Host code in the source, such as `main()` and launches by `<<<>>>`, is skipped.
   *
   * @param source The source. If it is one literal, TypeScript reads the signatures of its kernels.
   * @throws {CompileError} If it does not compile; the message marks the lines.
   * @throws {TypeError | RangeError} If an option is wrong.
   * @throws {Deno.errors.NotCapable} If the compiler may not be run.
   *
   * @example
   * ```ts
   * import { openDevice } from "@gridstride/cuda";
   *
   * using device = openDevice();
   * using module = await device.compile(`
   *   template <typename T> __global__ void twice(T* x, int n) {
   *     int i = blockIdx.x * blockDim.x + threadIdx.x;
   *     if (i < n) x[i] += x[i];
   *   }`, { instances: ["twice<double>"] });
   * const twice = module.kernel("twice<double>(double* x, int n)");
   * using x = device.upload(new Float64Array([1, 2, 3]));
   * twice.launch(device.launchFor(twice, { elements: x.length }), x, x.length);
   * console.log(await x.toArray()); // Float64Array(3) [ 2, 4, 6 ]
   * ```
   */
  async compile<const Source extends string, const Structs extends StructTypes = NoStructs>(
    source: Source,
    options: CompileOptions & ModuleStructs<Structs> = {},
  ): Promise<Module<Source, Structs>> {
    const context = this.use();
    return await whileHeld(context, () => compileText(context, source, options));
  }

  /**
   * Compiles a file of CUDA C++, as {@linkcode Device.compile} does a text, with the headers of the
   * program's own that lie in its directory or below; `options: ["-I…"]` names other directories.
   *
   * @throws {Deno.errors.NotFound | Deno.errors.NotCapable} If it is not there or may not be read.
   */
  async compileFile<const Structs extends StructTypes = NoStructs>(
    path: string | URL,
    options: CompileOptions & ModuleStructs<Structs> = {},
  ): Promise<Module<string, Structs>> {
    const context = this.use();
    return await whileHeld(context, () => compileFile(context, path, options));
  }

  /**
   * Loads machine code: a cubin, a fat binary or PTX for CUDA, a shared library that was compiled
   * for the host device. Its kernels are named as they are in the machine code.
   *
   * @param image Its bytes, or the file that has them.
   * @throws {CudaError} If it is none, or not for this device; the message has what the driver says.
   */
  async loadModule<const Structs extends StructTypes = NoStructs>(
    image: Uint8Array | string | URL,
    options: LoadModuleOptions & ModuleStructs<Structs> = {},
  ): Promise<Module<string, Structs>> {
    const context = this.use();
    return await whileHeld(context, () => loadImage(context, image, options));
  }

  /**
   * Grid, block and shared memory for a problem, from the kernel's and the device's limits: launched
   * as they are, or with a stream, `{ ...plan, stream }`; they also say what they will do.
   *
   * The grid of a module's kernel covers the problem exactly. Where the kernel has a grid-stride
   * loop, `coverage: "stride"` launches no more blocks than the device holds at once.
   *
   * @param problem Elements, rows and columns (and planes), or m, n and k of a matrix product.
   * @throws {TypeError} If the problem is of no kind that is known, or not of elements where the
   * kernel is built in, or the kernel of another device.
   * @throws {RangeError} If a number of it is not an integer of its range, no block of the kernel
   * fits on the device, or the grid would be larger than there can be.
   *
   * @example
   * ```ts
   * import { openDevice } from "@gridstride/cuda";
   *
   * using device = openDevice();
   * using module = await device.compile(`
   *   __global__ void transpose(const float* in, float* out, int rows, int columns) {
   *     const int column = blockIdx.x * blockDim.x + threadIdx.x;
   *     const int row = blockIdx.y * blockDim.y + threadIdx.y;
   *     if (row < rows && column < columns) out[column * rows + row] = in[row * columns + column];
   *   }`);
   * const transpose = module.kernel("transpose");
   * const [rows, columns] = [100, 300];
   * using x = device.upload(Float32Array.from({ length: rows * columns }, (_, i) => i));
   * using y = device.allocate("float32", rows * columns);
   * const plan = device.launchFor(transpose, { rows, columns });
   * transpose.launch(plan, x, y, rows, columns);
   * console.log((await y.toArray()).subarray(0, 3)); // Float32Array(3) [ 0, 300, 600 ]
   * console.log(plan.explain());
   * ```
   */
  launchFor(kernel: Kernel<string>, problem: LaunchProblem): LaunchPlan {
    const action = "choose launch parameters";
    const context = this.use();
    requireInstance(kernel, Kernel, "kernel", action);
    requireOnDevice(context, kernel, "kernel", action);
    return planLaunch(kernel, problem);
  }

  /**
   * Sends what kernels print, as everything that the process writes to stdout, to stderr until the
   * result is disposed; for programs whose stdout is read by others. Wait for the kernels before.
   *
   * @throws {CudaError} If stdout or stderr is closed.
   *
   * @example
   * ```ts
   * import { openDevice } from "@gridstride/cuda";
   *
   * using device = openDevice();
   * {
   *   using _diverted = device.printToStderr();
   *   using module = await device.compile(
   *     `#include <cstdio>
   *      __global__ void greet() { printf("hello from a thread\\n"); }`,
   *   );
   *   module.kernel("greet()").launch({ grid: 1, block: 1 });
   *   device.doneSync();
   * }
   * ```
   */
  printToStderr(): Disposable {
    return divertOutput(this.use().library);
  }

  /** Whether this device can address the memory of another. */
  canAccessPeer(peer: Device): boolean {
    requireInstance(peer, Device, "peer", "ask for peer access");
    return canReach(this.use(), peer.context);
  }

  /**
   * Lets this device address the memory of another; doing it twice is allowed.
   *
   * @throws {TypeError} If the devices belong to different libraries.
   * @throws {CudaError} If the hardware cannot.
   */
  enablePeerAccess(peer: Device): void {
    requireInstance(peer, Device, "peer", "enable peer access");
    grantAccess(this.use(), peer.context);
  }
}
