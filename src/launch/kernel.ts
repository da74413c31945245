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
  reserveSharedMemory,
} from "../ffi/native_kernel.ts";
import { launchKernel, LaunchRecord } from "../ffi/native_kernel_launch.ts";
import type { NativeLibrary } from "../ffi/library.ts";
import type { DeviceContext } from "../hardware/device_context.ts";
import { streamFor } from "../memory/buffer_copy.ts";
import { enqueueHeard, listenersOf } from "../stream/activity.ts";
import { isCapturing } from "../stream/running_captures.ts";
import type { Stream } from "../stream/stream.ts";
import { ArgumentWriter } from "./signature/argument_writer.ts";
import { argumentBytes } from "./signature/device_memory.ts";
import { type LaunchConfig, LaunchShape } from "./launch_config.ts";
import { type KernelSignature, parameterLayout } from "./signature/signature.ts";
import type { KernelArguments } from "./signature/signature_types.ts";
import type { NoStructs, StructTypes } from "./signature/struct_type.ts";

// The number of launches begun so far. It changes if reading the configuration or the arguments of a
// launch begins another.
let launchCount = 0;

/** No number of interruptions. */
const NEVER = -1;

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
  readonly #library: NativeLibrary;
  readonly #record: LaunchRecord;
  readonly #writer: ArgumentWriter;
  readonly #shape: LaunchShape;
  readonly #owner: KernelOwner | undefined;
  // What the last launch found: the stream that it asked for, and the one that this is. Holds until
  // the library is interrupted.
  #interruptions = NEVER;
  #wantedStream: Stream | undefined = undefined;
  #stream: Stream | undefined = undefined;
  #hasSharedMemoryReserve = false;
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
    this.#library = context.library;
    const count = signature.parameters.length;
    const layout = parameterLayout(signature);
    const argumentSlots = layout.reduce((sum, { slots }) => sum + slots, 0);
    this.#record = new LaunchRecord(context.library, context.ordinal, id, count, argumentSlots);
    this.#writer = new ArgumentWriter(signature, this.#record.slots, context, layout);
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
   * object for a struct. Those at the end that are `undefined` count as not given.
   * @throws {TypeError} If an argument is missing or too many, of another type, element type or
   * device, disposed, or read-only where the kernel writes; if a getter of one launches a kernel or
   * gives memory back.
   * @throws {RangeError} If a number does not fit its parameter, or grid, block or shared memory
   * exceed a limit.
   * @throws {TypeError} If the module of the kernel is disposed.
   * @throws {CudaError} If CUDA refuses the launch. Faults inside the kernel surface later, at
   * the next wait.
   */
  launch(config: LaunchConfig, ...kernelArguments: KernelArguments<Signature, Structs>): void {
    const args: readonly unknown[] = kernelArguments;
    const ticket = ++launchCount;
    if (!this.#shape.isLast(config)) this.#readExtents(config);
    const { stream } = config;
    const isSettled = stream === this.#wantedStream &&
      this.#library.interruptions === this.#interruptions;
    if (!isSettled && this.#settle(stream)) return this.#launchWatched(ticket, args);
    this.#writer.write(args, this.#stream);
    this.#enqueue(ticket);
  }

  /** Takes over what a configuration says of blocks, threads and shared memory. */
  #readExtents(config: LaunchConfig): void {
    const shape = this.#shape;
    shape.read(config);
    this.#record.setExtents(shape);
    if (shape.needsSharedMemoryReserve && !this.#hasSharedMemoryReserve) this.#reserve();
    if (shape.cooperative) this.#requireAllBlocksFit();
  }

  /**
   * Finds out which stream launches go to, and whether they are watched: heard of, or captured.
   * That holds until the library is interrupted, unless they are.
   */
  #settle(wanted: Stream | undefined): boolean {
    const { context } = this;
    this.#interruptions = NEVER;
    // The library has it as long as a graph needs it.
    this.#requireOwner(`launch ${this.name}`);
    const stream = streamFor(context, wanted);
    this.#record.setStream(stream.id);
    this.#stream = stream;
    this.#wantedStream = wanted;
    this.#writer.forget();
    const isWatched = isCapturing() || listenersOf(context) !== undefined;
    if (!isWatched) this.#interruptions = this.#library.interruptions;
    return isWatched;
  }

  #enqueue(ticket: number): void {
    if (launchCount !== ticket) this.#refuseNested();
    const status = launchKernel(this.#record);
    if (status !== 0) this.#failLaunch(status);
  }

  /** A launch that is heard of, or that may become part of a graph. */
  #launchWatched(ticket: number, args: readonly unknown[]): void {
    const stream = this.#stream!;
    const enqueue = () => {
      if (launchCount !== ticket) this.#refuseNested();
      // A capture records each use of memory.
      this.#writer.forget();
      this.#writer.write(args, stream);
      this.#enqueue(ticket);
      if (isCapturing()) this.#owner?.launchedInCapture(stream);
    };
    const heard = listenersOf(this.context);
    if (heard === undefined) return enqueue();
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
    enqueueHeard(heard, work, stream, enqueue);
  }

  /** What all launches of a kernel read and write is the same. */
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

  /** Asked where launches were interrupted, which the end of a module does, or where one has failed. */
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

  /**
   * Beyond 48 KiB a kernel must be allowed its dynamic shared memory before it is launched. At once as
   * much as there can be: the limit is one for all that have the kernel, also in other isolates, and
   * what another of them allows itself later must not be less than this one counts on.
   */
  #reserve(): void {
    this.#requireOwner(`launch ${this.name}`);
    const { library, ordinal } = this.context;
    reserveSharedMemory(library, ordinal, this.#id, this.#shape.maxSharedMemory);
    this.#hasSharedMemoryReserve = true;
  }
}
