/**
 * Kernels and their launches.
 *
 * @module
 */

import { formatBytes } from "../ffi/describe_value.ts";
import { displayAs } from "../ffi/display.ts";
import {
  type KernelAttributes,
  kernelAttributes,
  kernelResidency,
  launchError,
  launchKernel,
  LaunchRecord,
  loadKernel,
  reserveSharedMemory,
} from "../ffi/native_kernel.ts";
import { type DeviceContext, labelOf } from "../hardware/device_context.ts";
import { streamFor } from "../memory/buffer_copy.ts";
import { enqueueHeard, listenersOf } from "../stream/activity.ts";
import { isCapturing } from "../stream/running_captures.ts";
import type { Stream } from "../stream/stream.ts";
import { WorkOrder } from "../stream/work_order.ts";
import { type LaunchConfig, LaunchShape } from "./launch_config.ts";
import { ArgumentWriter } from "./signature/argument_writer.ts";
import { argumentBytes } from "./signature/device_memory.ts";
import { type KernelSignature, parameterLayout, signatureText } from "./signature/signature.ts";
import type { KernelArguments } from "./signature/signature_types.ts";
import type { NoStructs, StructTypes } from "./signature/struct_type.ts";

// The number of launches so far. It changes if a getter of the configuration or the arguments of a
// launch begins another.
let launchCount = 0;

/** Equal to no number of interruptions. */
const NEVER = -1;

/**
 * A kernel of a device. Made by `device.kernels.load()` or `module.kernel()`.
 *
 * @typeParam Signature The kernel's C signature; it types the arguments of {@linkcode Kernel.launch}.
 * @typeParam Structs The structs that it names.
 * @category Launching kernels
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
  /** Registers, shared memory and other figures of the compiler. */
  readonly attributes: KernelAttributes;
  readonly #id: number;
  readonly #record: LaunchRecord;
  readonly #writer: ArgumentWriter;
  readonly #shape: LaunchShape;
  readonly #owner: KernelOwner | undefined;
  // The stream that the last launch named, and the one that it got. They hold until the library is
  // interrupted.
  #interruptions = NEVER;
  #wantedStream: Stream | undefined = undefined;
  #stream: Stream | undefined = undefined;
  #hasSharedMemoryReserve = false;
  /** Resident blocks of a multiprocessor, by the threads and shared memory of a block. */
  readonly #residency = new Map<number, number>();

  static {
    displayAs<Kernel>(Kernel.prototype, "Kernel", {
      signature: ({ signature }) => signatureText(signature),
      device: labelOf,
      registers: ({ attributes }) => attributes.registersPerThread,
      sharedMemory: ({ attributes: { staticSharedMemory } }) =>
        staticSharedMemory > 0 && formatBytes(staticSharedMemory),
      maxThreadsPerBlock: ({ attributes }) => attributes.maxThreadsPerBlock,
      disposed: (kernel) => kernel.#owner?.disposed,
    });
  }

  /**
   * Prepares launches of a kernel of the library.
   *
   * @ignore
   * @param id The library's handle of the kernel.
   * @param owner The module that it ends with; absent for built-in kernels, which never end.
   */
  constructor(
    context: DeviceContext,
    id: number,
    signature: KernelSignature,
    owner?: {
      /** Its name in messages. */
      readonly label: string;
      /** Whether it is disposed. */
      readonly disposed: boolean;
      /** Called for a launch on a captured stream, which may become part of a graph. */
      launchedInCapture(stream: Stream): void;
    },
  ) {
    const { library, ordinal } = context;
    this.context = context;
    this.name = signature.name;
    this.signature = signature;
    loadKernel(library, ordinal, id);
    this.attributes = kernelAttributes(library, ordinal, id);
    this.#id = id;
    this.#owner = owner;
    const layout = parameterLayout(signature);
    const slots = layout.reduce((sum, { slots }) => sum + slots, 0);
    this.#record = new LaunchRecord(library, ordinal, id, signature.parameters.length, slots);
    this.#writer = new ArgumentWriter(signature, this.#record.slots, context, layout);
    this.#shape = new LaunchShape(signature.name, context.info, this.attributes);
  }

  /** Whether its threads continue with the work one grid further, as in all built-in kernels. */
  get gridStride(): boolean {
    return this.#owner === undefined;
  }

  /**
   * Enqueues a launch.
   *
   * @param config Grid, block, dynamic shared memory and stream; `device.launchFor()` makes one.
   * @param kernelArguments One for each parameter: a number, `bigint` or `boolean` for a scalar, a
   * buffer of the element type, or `null`, for a pointer, an array of numbers for a vector, an
   * object for a struct. Trailing ones that are `undefined` count as missing.
   * @throws {TypeError} If an argument is missing or too many, of another type, element type or
   * device, disposed, or read-only where the kernel writes; if a getter of one launches a kernel or
   * frees memory.
   * @throws {RangeError} If a number does not fit its parameter, or grid, block or shared memory
   * exceed a limit.
   * @throws {TypeError} If the module of the kernel is disposed.
   * @throws {CudaError} If CUDA refuses the launch. Faults inside the kernel surface later, at
   * the next wait.
   */
  launch(config: LaunchConfig, ...kernelArguments: KernelArguments<Signature, Structs>): void {
    const args: readonly unknown[] = kernelArguments;
    const { library } = this.context;
    if (library.interruptions !== this.#interruptions) this.#settleOrder();
    const ticket = ++launchCount;
    if (!this.#shape.isLast(config)) this.#readConfig(config);
    const { stream } = config;
    const isSettled = stream === this.#wantedStream &&
      library.interruptions === this.#interruptions;
    if (!isSettled && this.#settle(stream)) return this.#launchWatched(ticket, args);
    this.#writer.write(args, this.#stream);
    this.#enqueue(ticket);
  }

  /** Takes over blocks, threads and shared memory of a configuration. */
  #readConfig(config: LaunchConfig): void {
    const shape = this.#shape;
    shape.read(config, () => {
      this.#record.setExtents(shape);
      if (shape.needsSharedMemoryReserve && !this.#hasSharedMemoryReserve) this.#reserve();
      if (shape.cooperative) this.#requireAllBlocksFit();
    });
  }

  /** Enqueues the operations that wait for a kernel, which may launch this one, too. */
  #settleOrder(): void {
    this.#requireOwner();
    WorkOrder.of(this).settleNow(`launch ${this.name}`);
  }

  /**
   * Finds the stream of the launches, and whether a listener or a capture watches them. Both hold
   * until the library is interrupted, which it is when operations begin to wait for a kernel. While
   * some wait, each launch looks anew.
   */
  #settle(wanted: Stream | undefined): boolean {
    const { context } = this;
    this.#interruptions = NEVER;
    this.#requireOwner();
    const stream = streamFor(context, wanted);
    this.#record.setStream(stream.id);
    this.#stream = stream;
    this.#wantedStream = wanted;
    this.#writer.forget();
    const isWatched = isCapturing() || listenersOf(context) !== undefined;
    // An operation that launches this kernel leaves those that wait behind it: the next launch of
    // the program comes after them.
    const isOrdered = WorkOrder.of(this).size === 0;
    if (!isWatched && isOrdered) this.#interruptions = context.library.interruptions;
    return isWatched;
  }

  #enqueue(ticket: number): void {
    if (launchCount !== ticket) this.#refuseNested();
    const status = launchKernel(this.#record);
    if (status === 0) return;
    this.#requireOwner();
    throw launchError(this.context.library, this.context.ordinal, this.name, status);
  }

  /** A launch with a listener, or one that may become part of a graph. */
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
    const listeners = listenersOf(this.context);
    if (listeners === undefined) return enqueue();
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
    enqueueHeard(listeners, work, stream, enqueue);
  }

  /** All launches of a kernel share their record and shape. */
  #refuseNested(): never {
    throw new TypeError(
      `Cannot launch ${this.name} as a getter of its configuration or arguments has launched a ` +
        "kernel: read its value before the launch",
    );
  }

  /** Checked after an interruption, which the end of a module is, and after a failed launch. */
  #requireOwner(): void {
    if (this.#owner?.disposed !== true) return;
    throw new TypeError(`Cannot launch ${this.name} as ${this.#owner.label} is disposed`);
  }

  /** All blocks of a cooperative launch run at once, and so must be resident. */
  #requireAllBlocksFit(): void {
    this.#requireOwner();
    const { library, ordinal, info } = this.context;
    const { threads, sharedMemory, gridX, gridY, gridZ } = this.#shape;
    // No block has 2,048 threads.
    const block = 2048 * sharedMemory + threads;
    let resident = this.#residency.get(block);
    if (resident === undefined) {
      resident = kernelResidency(library, ordinal, this.#id, threads, sharedMemory);
      this.#residency.set(block, resident);
    }
    const most = resident * info.multiprocessorCount;
    const blocks = gridX * gridY * gridZ;
    if (blocks <= most) return;
    throw new RangeError(
      `Cannot launch ${this.name} cooperatively as the blocks of grid must be in ` +
        `1..${most}, which run at once: they are ${blocks}`,
    );
  }

  /**
   * Opts in to dynamic shared memory beyond 48 KiB. Always to the maximum: the limit is shared by all
   * isolates that use the kernel, and must not shrink below the needs of another one.
   */
  #reserve(): void {
    this.#requireOwner();
    const { library, ordinal } = this.context;
    reserveSharedMemory(library, ordinal, this.#id, this.#shape.maxSharedMemory);
    this.#hasSharedMemoryReserve = true;
  }
}

/** The module that a kernel is part of, and ends with. */
export type KernelOwner = NonNullable<ConstructorParameters<typeof Kernel>[3]>;
