/**
 * Kernels and their launches.
 *
 * @module
 */

import {
  type KernelAttributes,
  kernelAttributes,
  kernelResidency,
  launchError,
  launchKernel,
  launchKernelTogether,
  reserveSharedMemory,
} from "../ffi/native_kernel.ts";
import type { DeviceContext } from "../hardware/device_context.ts";
import { streamFor } from "../memory/buffer_copy.ts";
import { type ActivityListener, enqueueHeard, listenersOf } from "../stream/activity.ts";
import { isCapturing } from "../stream/running_captures.ts";
import type { Stream } from "../stream/stream.ts";
import { argumentBytes } from "./argument_bytes.ts";
import { ArgumentWriter } from "./argument_writer.ts";
import { type LaunchConfig, LaunchShape } from "./launch_config.ts";
import type { KernelSignature } from "./signature.ts";
import type { KernelArguments } from "./signature_types.ts";
import type { NoStructs, StructTypes } from "./struct_type.ts";

// What every launch calls: constants of this module are known to the JIT, and what it imports is
// looked up at every call, which together is a tenth of a launch's time.
const enqueueLaunch = launchKernel;
const launchStream = streamFor;
const whoListens = listenersOf;
const isCaptureRunning = isCapturing;

// Launches so far, modulo 2^32: tells whether reading a launch's arguments has run another.
let launchCount = 0;

/**
 * What a kernel is part of, and ends with: a module.
 *
 * @internal
 */
export interface KernelOwner {
  /** How messages name it. */
  readonly label: string;
  /** Whether it is gone. */
  readonly disposed: boolean;
  /** Told of a launch on a stream while one is captured: it may become part of a graph. */
  launchedInCapture(stream: Stream): void;
}

/**
 * A kernel of a device. Made by `device.kernels.load()` or `module.kernel()`.
 *
 * @typeParam Signature The kernel's C signature; it types the arguments of {@linkcode Kernel.launch}.
 * @typeParam Structs The structs that it names.
 */
export class Kernel<
  Signature extends string = string,
  Structs extends StructTypes = NoStructs,
> {
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
  readonly #owner: KernelOwner | undefined;
  #reservedSharedMemory = 0;
  // Of the last cooperative launch: so many blocks fit on the device.
  #mostBlocks = 0;
  #mostBlocksThreads = 0;
  #mostBlocksSharedMemory = 0;

  /**
   * Prepares launches of a kernel that the library has under this id.
   *
   * @param owner What it ends with; absent for built-in kernels, which never end.
   */
  constructor(
    context: DeviceContext,
    id: number,
    signature: KernelSignature,
    owner?: KernelOwner,
  ) {
    this.context = context;
    this.name = signature.name;
    this.signature = signature;
    this.attributes = kernelAttributes(context.library, context.ordinal, id);
    this.#id = id;
    this.#owner = owner;
    this.#writer = new ArgumentWriter(signature, context.library.block, context);
    this.#shape = new LaunchShape(signature.name, context.info, this.attributes);
  }

  /** Whether its threads go on to the work a grid further: all built-in kernels do. */
  get gridStride(): boolean {
    return this.#owner === undefined;
  }

  /**
   * Enqueues a launch.
   *
   * @param config Grid, block, dynamic shared memory and stream; `device.launchFor()` makes one.
   * @param kernelArguments One for each parameter: a number, `bigint` or `boolean` for a scalar, a
   * buffer of the element type, or `null`, for a pointer, an array of numbers for a vector, an
   * object for a struct.
   * @throws {TypeError} If an argument is missing or too many, of another type, element type or
   * device, disposed, or read-only where the kernel writes; if a getter of one launches a kernel.
   * @throws {RangeError} If a number does not fit its parameter, or grid, block or shared memory
   * exceed a limit.
   * @throws {TypeError} If the module of the kernel is disposed.
   * @throws {CudaError} If CUDA refuses the launch. Faults inside the kernel surface later, at
   * the next wait.
   */
  launch(config: LaunchConfig, ...kernelArguments: KernelArguments<Signature, Structs>): void {
    const { context } = this;
    const shape = this.#shape;
    const before = launchCount;
    shape.read(config);
    const stream = launchStream(context, config.stream);
    // V8 compares with a constant far faster than it finds out whether any value counts as true.
    if (shape.needsPreparation === true) this.#prepare();
    const heard = whoListens(context);
    const args = kernelArguments as readonly unknown[];
    if (heard === undefined) this.#enqueue(stream, args, before);
    else this.#enqueueHeard(stream, args, before, heard);
  }

  #prepare(): void {
    const shape = this.#shape;
    if (shape.needsSharedMemoryReserve) this.#reserve(shape.sharedMemory);
    if (shape.cooperative) this.#requireAllBlocksFit();
  }

  #enqueueHeard(
    stream: Stream,
    args: readonly unknown[],
    before: number,
    heard: readonly ActivityListener[],
  ): void {
    const { gridX, gridY, gridZ, blockX, blockY, blockZ, sharedMemory } = this.#shape;
    const work = {
      kind: "kernel",
      name: this.name,
      attributes: this.attributes,
      grid: [gridX, gridY, gridZ],
      block: [blockX, blockY, blockZ],
      sharedMemory,
      bytes: argumentBytes(args),
    } as const;
    enqueueHeard(heard, work, stream, () => this.#enqueue(stream, args, before));
  }

  #enqueue(stream: Stream, args: readonly unknown[], before: number): void {
    const { context } = this;
    const shape = this.#shape;
    this.#writer.write(args, stream);
    if (launchCount !== before) this.#refuseNested();
    launchCount = (before + 1) | 0;
    const status = shape.runsTogether === true ? this.#launchTogether(stream) : enqueueLaunch(
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
    if (status !== 0) this.#failLaunch(status);
    if (this.#owner !== undefined && isCaptureRunning()) this.#owner.launchedInCapture(stream);
  }

  #launchTogether(stream: Stream): number {
    const { library, ordinal } = this.context;
    const { gridX, gridY, gridZ, blockX, blockY, blockZ, sharedMemory } = this.#shape;
    return launchKernelTogether(
      library,
      this.#shape.cooperative,
      this.#shape.cluster,
      ordinal,
      stream.id,
      this.#id,
      gridX,
      gridY,
      gridZ,
      blockX,
      blockY,
      blockZ,
      sharedMemory,
      this.#writer.count,
    );
  }

  /** The arguments of all launches are written to one place, and so are a kernel's numbers. */
  #refuseNested(): never {
    throw new TypeError(
      `Cannot launch ${this.name} as a getter of its configuration or arguments has launched a ` +
        "kernel: read what it gives before the launch",
    );
  }

  #failLaunch(status: number): never {
    this.#requireOwner(`launch ${this.name}`);
    throw launchError(this.context.library, this.context.ordinal, this.name, status);
  }

  /** Only asked where something has failed: the library knows that a module is gone. */
  #requireOwner(action: string): void {
    if (this.#owner?.disposed !== true) return;
    throw new TypeError(`Cannot ${action} as ${this.#owner.label} is disposed`);
  }

  /** All blocks of a cooperative launch run at once, so there can be no more than fit. */
  #requireAllBlocksFit(): void {
    const shape = this.#shape;
    const { library, ordinal, info } = this.context;
    const { threads, sharedMemory } = shape;
    if (threads !== this.#mostBlocksThreads || sharedMemory !== this.#mostBlocksSharedMemory) {
      this.#requireOwner(`launch ${this.name}`);
      const resident = kernelResidency(library, ordinal, this.#id, threads, sharedMemory);
      this.#mostBlocks = resident * info.multiprocessorCount;
      this.#mostBlocksThreads = threads;
      this.#mostBlocksSharedMemory = sharedMemory;
    }
    const blocks = shape.gridX * shape.gridY * shape.gridZ;
    if (blocks <= this.#mostBlocks) return;
    throw new RangeError(
      `Cannot launch ${this.name} cooperatively as the blocks of grid must be in ` +
        `1..${this.#mostBlocks}, which run at once: they are ${blocks}`,
    );
  }

  /** Beyond 48 KiB a kernel must be allowed its dynamic shared memory before it is launched. */
  #reserve(bytes: number): void {
    if (bytes <= this.#reservedSharedMemory) return;
    this.#requireOwner(`launch ${this.name}`);
    reserveSharedMemory(this.context.library, this.context.ordinal, this.#id, bytes);
    this.#reservedSharedMemory = bytes;
  }
}
