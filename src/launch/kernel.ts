/**
 * Kernels and their launches.
 *
 * @module
 */

import {
  type KernelAttributes,
  kernelAttributes,
  launchError,
  launchKernel,
  reserveSharedMemory,
} from "../ffi/native_kernel.ts";
import type { DeviceContext } from "../hardware/device_context.ts";
import { streamFor } from "../memory/buffer_copy.ts";
import type { Stream } from "../stream/stream.ts";
import { ArgumentWriter } from "./argument_writer.ts";
import { type LaunchConfig, LaunchShape } from "./launch_config.ts";
import { type KernelProfile, profilesOf } from "./kernel_profile.ts";
import type { KernelSignature } from "./signature.ts";
import type { KernelArguments } from "./signature_types.ts";

/**
 * A kernel of a device. Made by `device.kernels.load()`.
 *
 * @typeParam Signature The kernel's C signature; it types the arguments of {@linkcode Kernel.launch}.
 */
export class Kernel<Signature extends string = string> {
  /** The device it runs on. */
  readonly context: DeviceContext;
  /** Its name. */
  readonly name: string;
  /** Its name and parameters. */
  readonly signature: KernelSignature;
  /** What the compiler made of it. */
  readonly attributes: KernelAttributes;
  readonly #id: number;
  readonly #writer: ArgumentWriter;
  readonly #shape: LaunchShape;
  #reservedSharedMemory = 0;

  /**
   * Prepares launches of a kernel that the library has under this id.
   */
  constructor(context: DeviceContext, id: number, signature: KernelSignature) {
    this.context = context;
    this.name = signature.name;
    this.signature = signature;
    this.attributes = kernelAttributes(context.library, context.ordinal, id);
    this.#id = id;
    this.#writer = new ArgumentWriter(signature, context.library.block, context);
    this.#shape = new LaunchShape(signature.name, context.info, this.attributes);
  }

  /**
   * Enqueues a launch.
   *
   * @param config Grid, block, dynamic shared memory and stream; `device.launchFor()` makes one.
   * @param kernelArguments One for each parameter: a number, `bigint` or `boolean` for a scalar, a
   * buffer of the element type for a pointer.
   * @throws {TypeError} If an argument is missing or too many, of another type, element type or
   * device, disposed, or read-only where the kernel writes.
   * @throws {RangeError} If a number does not fit its parameter, or grid, block or shared memory
   * exceed a limit.
   * @throws {CudaError} If CUDA refuses the launch. Faults inside the kernel surface later, at
   * the next wait.
   */
  launch(config: LaunchConfig, ...kernelArguments: KernelArguments<Signature>): void {
    const { context } = this;
    const shape = this.#shape;
    shape.read(config);
    const stream = streamFor(context, config.stream);
    if (shape.needsSharedMemoryReserve) this.#reserve(shape.sharedMemory);
    const profiles = profilesOf(context);
    if (profiles === undefined) this.#enqueue(stream, kernelArguments as readonly unknown[]);
    else this.#enqueueTimed(stream, kernelArguments as readonly unknown[], profiles);
  }

  #enqueueTimed(
    stream: Stream,
    args: readonly unknown[],
    profiles: Iterable<KernelProfile>,
  ): void {
    let enqueue = () => this.#enqueue(stream, args);
    for (const profile of profiles) {
      const inner = enqueue;
      enqueue = () => profile.time(this.name, stream, inner);
    }
    enqueue();
  }

  #enqueue(stream: Stream, args: readonly unknown[]): void {
    const { context } = this;
    const shape = this.#shape;
    this.#writer.write(args, stream);
    const status = launchKernel(
      context.library,
      context.ordinal,
      stream.id,
      this.#id,
      shape.gridX,
      shape.gridY,
      shape.gridZ,
      shape.blockX,
      shape.blockY,
      shape.blockZ,
      shape.sharedMemory,
      this.#writer.count,
    );
    if (status !== 0) throw launchError(context.library, context.ordinal, this.name, status);
  }

  /** Beyond 48 KiB a kernel must be allowed its dynamic shared memory before it is launched. */
  #reserve(bytes: number): void {
    if (bytes <= this.#reservedSharedMemory) return;
    reserveSharedMemory(this.context.library, this.context.ordinal, this.#id, bytes);
    this.#reservedSharedMemory = bytes;
  }
}
