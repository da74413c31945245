/**
 * The opened device: the entry to memory, streams and kernels.
 *
 * @module
 */

import { displayAs } from "../ffi/display.ts";
import { requireInstance, requireOptions, trueArray } from "../ffi/arguments.ts";
import { describeValue, formatBytes } from "../ffi/describe_value.ts";
import { giveBack, giveBackAfterFailure } from "../ffi/give_back.ts";
import {
  canAccessPeer,
  deviceMemory,
  divertOutput,
  enablePeerAccess,
  synchronizeDeviceSync,
} from "../ffi/native_device.ts";
import { DeviceContext, labelOf, requireOnDevice, whileHeld } from "../hardware/device_context.ts";
import type { DeviceInfo } from "../hardware/device_information.ts";
import { usableMemory } from "../hardware/memory_reserve.ts";
import { type DeviceTelemetry, telemetryOf } from "../hardware/telemetry.ts";
import { Kernel } from "../launch/kernel.ts";
import type { LaunchPlan } from "../launch/launch_plan.ts";
import { planLaunch } from "../launch/launch_planner.ts";
import type { LaunchProblem } from "../launch/launch_problem.ts";
import {
  compileFile,
  compileText,
  loadImage,
  type LoadModuleOptions,
} from "../launch/module/compile.ts";
import type { CompileOptions } from "../launch/module/compile_options.ts";
import type { Module } from "../launch/module/module.ts";
import type { NoStructs, StructTypes } from "../launch/signature/struct_type.ts";
import type { StreamChoice } from "../memory/buffer_options.ts";
import { DeviceBuffer } from "../memory/device_buffer.ts";
import {
  type AnyTypedArray,
  type DType,
  type DTypeOf,
  dtypeOf,
  type SelfDescribingArray,
  type TypedArrayOf,
} from "../memory/dtype.ts";
import { MemoryManager, type MemoryManagerStatistics } from "../memory/manager/memory_manager.ts";
import { PinnedBuffer } from "../memory/pinned_buffer.ts";
import { PitchedBuffer, pitchedLayout } from "../memory/pitched_buffer.ts";
import { shareWith } from "../memory/pool/device_pools.ts";
import { MemoryPool, poolOfDevice } from "../memory/pool/memory_pool.ts";
import type { MemoryPoolOptions } from "../memory/pool/pool_options.ts";
import {
  type FilePart,
  type PrefetchedFile,
  prefetchFiles,
  type PrefetchOptions,
} from "../memory/upload/file_prefetch.ts";
import {
  type FileUploadOptions,
  uploadFile,
  uploadFileInto,
} from "../memory/upload/file_upload.ts";
import { type StreamUploadOptions, uploadStream } from "../memory/upload/stream_upload.ts";
import { UploadRing, type UploadRingOptions } from "../memory/upload/upload_ring.ts";
import { logActivity } from "../stream/activity.ts";
import { setStreamMode } from "../stream/automatic_streams.ts";
import { defaultStream, Stream, type StreamOptions } from "../stream/stream.ts";
import { deviceDone, Event, type EventOptions } from "../stream/event.ts";
import { duringDeviceWait, refuseDeviceWait } from "../stream/running_captures.ts";
import { WorkOrder } from "../stream/work_order.ts";
import {
  type AllocateAsyncOptions,
  allocateBuffer,
  allocateBufferAsync,
  type AllocateOptions,
} from "./allocation.ts";
import { DeviceKernels } from "./device_kernels.ts";

/**
 * An opened device, made by `openDevice()`.
 *
 * Streams and buffers stay usable after the device is disposed, until they are disposed
 * themselves. The default stream ends with the last of them.
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
 *
 * @category Devices
 */
export class Device implements Disposable {
  /** The device as the lower layers see it. */
  readonly context: DeviceContext;
  /** Built-in kernels and operations on buffers. */
  readonly kernels: DeviceKernels;
  #memory: MemoryManager | undefined;
  readonly #endLog: () => void;
  #disposed = false;

  /** Makes a device of an opened context and holds the context until the device is disposed. */
  constructor(context: DeviceContext) {
    requireInstance(context, DeviceContext, "context", "make a device");
    context.retain();
    this.context = context;
    this.kernels = new DeviceKernels(context);
    this.#endLog = logActivity(context);
  }

  /** The properties of the device. */
  get info(): DeviceInfo {
    return this.context.info;
  }

  /** The name in messages and reports: `cuda:0`, `host:0`. */
  get label(): string {
    return this.context.label;
  }

  /** Whether the device is disposed. */
  get disposed(): boolean {
    return this.#disposed;
  }

  /** The default stream, for work without a stream option. Disposing it has no effect. */
  get stream(): Stream {
    return defaultStream(this.#use());
  }

  /** Makes a stream. */
  createStream(options: StreamOptions = {}): Stream {
    return new Stream(this.#use(), options);
  }

  /**
   * How operations on tensors without a stream option run, on this device and for the whole isolate:
   * `"single"`, as at first, on the default stream; `"automatic"` on four streams, so that independent
   * operations may overlap. Operations wait for those that write their operands. What reads tensors
   * comes after what wrote them, and {@linkcode Tensor.buffer} after both.
   *
   * Elementwise operations, reductions, softmax and norms, sorting, random numbers, rotary
   * embeddings, {@linkcode matmul} and {@linkcode attention} take such streams. Operations that report
   * wrong indices, caches of pages and ternary products stay on the default stream.
   *
   * @throws {TypeError} If the mode is another.
   *
   * @example
   * ```ts
   * import { openDevice } from "@gridstride/cuda";
   * import { matmul, uniform } from "@gridstride/cuda/tensor";
   *
   * using device = openDevice();
   * device.streams("automatic");
   * using x = uniform([64, 64], { device });
   * using q = matmul(x, x); // both at once
   * using k = matmul(x, x.transpose());
   * console.log((await q.multiply(k).toArray()).length); // 4096
   * ```
   */
  streams(mode: "single" | "automatic"): void {
    setStreamMode(this.#use(), mode);
  }

  /** Makes an event that is not recorded yet. */
  createEvent(options: EventOptions = {}): Event {
    return new Event(this.#use(), options);
  }

  /**
   * Waits for all work of the device, including the work of other isolates, without blocking the
   * event loop.
   *
   * @throws {CudaError} If work failed.
   */
  async done(): Promise<void> {
    const context = this.#use();
    const { library } = context;
    refuseDeviceWait(library, `wait for ${this.label}`);
    const wait = () => duringDeviceWait(library, () => deviceDone(context));
    await WorkOrder.of(this).inOrder(context, wait);
  }

  /**
   * The blocking twin of {@linkcode Device.done}. Tensor operations that wait for a kernel are
   * compiled first.
   */
  doneSync(): void {
    const { library, ordinal } = this.#use();
    refuseDeviceWait(library, `wait for ${this.label}`);
    WorkOrder.of(this).settleNow(`wait for ${this.label}`);
    synchronizeDeviceSync(library, ordinal);
  }

  /**
   * The default pool of the device's buffers, made on first use with the options of `openDevice()`,
   * or else from the environment.
   *
   * @throws {EnvironmentError} If an environment variable for pools is malformed.
   *
   * @example
   * ```ts
   * import { openDevice } from "@gridstride/cuda";
   *
   * using device = openDevice(undefined, { memory: { maxPoolSize: "1GiB" } });
   * device.allocate("float32", 1000).free();
   * device.allocate("float32", 1000).free(); // the same memory again
   * console.log(device.pool.stats().hitRate); // 0.5
   * ```
   */
  get pool(): MemoryPool {
    return poolOfDevice(this.#use());
  }

  /**
   * The manager of the device's memory: usable bytes, shares of the pools, chunks that fit.
   *
   * @throws {CudaError} If the device cannot report its memory.
   */
  get memory(): MemoryManager {
    void this.#use();
    return this.#memory ??= new MemoryManager(this, { pool: this.pool });
  }

  /** Free, total, reserved and usable memory in bytes. */
  memoryInfo(): MemoryManagerStatistics["memory"] {
    const { library, ordinal } = this.#use();
    return usableMemory(deviceMemory(library, ordinal));
  }

  /**
   * Load, memory, temperature, power and clocks: of a GPU by NVML, on a host device of the system.
   * A value that is not reported is undefined, and `unavailable` has the reason. Takes milliseconds.
   *
   * @example
   * ```ts
   * import { openDevice } from "@gridstride/cuda";
   *
   * using device = openDevice();
   * const { temperature, unavailable } = device.telemetry();
   * console.log(temperature === undefined ? unavailable.temperature : `${temperature} °C`);
   * ```
   */
  telemetry(): DeviceTelemetry {
    return telemetryOf(this.#use());
  }

  /**
   * Makes a pool with its own limits and statistics; see {@linkcode MemoryPool}.
   *
   * @throws {TypeError | RangeError} If an option is wrong.
   * @throws {OutOfMemoryError} If there is no room for the memory to preallocate.
   */
  createPool(options: MemoryPoolOptions = {}): MemoryPool {
    void this.#use();
    return new MemoryPool(this, options);
  }

  /**
   * Allocates a buffer.
   *
   * @param dtype The element type.
   * @param length The number of elements; 0 gives a valid empty buffer.
   * @throws {RangeError} If the length is negative, fractional, not a number or too large.
   * @throws {OutOfMemoryError} If the device has no room.
   */
  allocate<D extends DType>(
    dtype: D,
    length: number,
    options: AllocateOptions<D> = {},
  ): DeviceBuffer<D> {
    return allocateBuffer(this.#use(), dtype, length, options);
  }

  /**
   * The twin of {@linkcode Device.allocate} that never blocks the event loop, even if memory becomes
   * available only after a stream has made progress.
   *
   * With `wait: true`, requests queue for memory that others will free. A request that fits into no
   * empty pool is refused at once. Requests without `wait` do not queue, and may overtake.
   *
   * @throws {RangeError} If the length is negative, fractional, not a number or too large.
   * @throws {OutOfMemoryError} If there is no room, or was none within the timeout.
   *
   * @example
   * ```ts
   * import { openDevice } from "@gridstride/cuda";
   *
   * using device = openDevice(undefined, { memory: { maxPoolSize: "64MiB" } });
   * const answers = Array.from({ length: 50 }, async (_, index) => {
   *   using x = await device.allocateAsync("float32", 4 << 20, { wait: true, timeout: 60_000 });
   *   device.kernels.fill(x, index);
   *   return (await x.view(0, 1).toArray())[0]!;
   * });
   * console.log((await Promise.all(answers)).length); // 50
   * ```
   */
  async allocateAsync<D extends DType>(
    dtype: D,
    length: number,
    options: AllocateAsyncOptions<D> = {},
  ): Promise<DeviceBuffer<D>> {
    return await allocateBufferAsync(this.#use(), dtype, length, options);
  }

  /**
   * Allocates rows that begin at multiples of 512 bytes, as `cudaMallocPitch` does; see
   * {@linkcode PitchedBuffer}.
   *
   * @param dtype The element type.
   * @param rows The number of rows; 0 gives a valid empty buffer.
   * @param columns The elements in a row.
   * @param options As for {@linkcode Device.allocate}; `fill` fills the padding too.
   * @throws {RangeError} If a number is negative, fractional or too large.
   * @throws {OutOfMemoryError} If the device has no room.
   */
  allocate2d<D extends DType>(
    dtype: D,
    rows: number,
    columns: number,
    options: AllocateOptions<D> = {},
  ): PitchedBuffer<D> {
    const { pitchBytes, length } = pitchedLayout(dtype, rows, columns);
    const buffer = this.allocate(dtype, length, options);
    return new PitchedBuffer(buffer, rows, columns, { pitchBytes });
  }

  /**
   * Allocates host memory that the device reads and writes directly.
   *
   * @param dtype The element type.
   * @param length The number of elements: 1 byte to 4 GiB in all.
   * @throws {RangeError} If the length is out of range.
   */
  allocatePinned<D extends DType>(dtype: D, length: number): PinnedBuffer<D> {
    return new PinnedBuffer(this.#use(), dtype, length);
  }

  /**
   * Allocates a buffer as long as an array and enqueues a copy of the array into it, as
   * {@linkcode DeviceBuffer.copyFrom} does. The array may be changed at once.
   *
   * @param array The elements; its class gives the buffer's element type.
   * @throws {TypeError} If neither the array nor the options give an element type.
   * @throws {OutOfMemoryError} If the device has no room.
   */
  upload<A extends SelfDescribingArray>(
    array: A,
    options?: StreamChoice & { readonly dtype?: never },
  ): DeviceBuffer<DTypeOf<A> & DType>;
  /**
   * Allocates a buffer for an array, with the element type in the options.
   *
   * @param array An array of the class that holds such elements: a `Uint16Array` for `bfloat16`.
   */
  upload<D extends DType>(
    array: TypedArrayOf<D>,
    options: StreamChoice & { readonly dtype: D },
  ): DeviceBuffer<D>;
  upload(
    array: AnyTypedArray,
    options: StreamChoice & { readonly dtype?: DType } = {},
  ): DeviceBuffer {
    const context = this.#use();
    requireOptions(options, ["stream", "dtype"], "upload");
    const dtype = options.dtype ?? dtypeOf(array) as DType | undefined;
    const elements = trueArray(array);
    if (elements === undefined || dtype === undefined) {
      throw new TypeError(
        "Cannot call upload() as array must be a typed array with an element type of its own, or one " +
          `that options.dtype names: it is ${describeValue(array)}`,
      );
    }
    const { stream } = options;
    const choice = stream === undefined ? {} : { stream };
    const buffer = DeviceBuffer.allocate(context, dtype, elements.length, choice);
    try {
      // The memory is new: no operation that waits uses it.
      WorkOrder.of(this).aside(() => buffer.copyFrom(array, choice));
    } catch (error) {
      giveBackAfterFailure(buffer);
      throw error;
    }
    return buffer;
  }

  /**
   * Allocates a buffer and reads a file, or a part of it, into the buffer. Several threads read into
   * pinned memory while the device copies; the event loop is not blocked. Resolves when the whole
   * content has arrived. {@linkcode FileUploadOptions} has progress and cancellation.
   *
   * @throws {Deno.errors.NotFound | Deno.errors.NotCapable} If the file does not exist or may not be
   * read.
   * @throws {OutOfMemoryError} If the device has no room.
   *
   * @example
   * ```ts
   * import { openDevice } from "@gridstride/cuda";
   *
   * const path = await Deno.makeTempFile();
   * await Deno.writeFile(path, new Uint8Array(1 << 20));
   * using device = openDevice();
   * using weights = await device.uploadFile(path, {
   *   dtype: "float16",
   *   onProgress: ({ bytes, totalBytes }) => console.log(`${bytes} of ${totalBytes} bytes`),
   * });
   * console.log(weights.length); // 524288
   * await Deno.remove(path);
   * ```
   */
  async uploadFile<D extends DType = "uint8">(
    path: string | URL,
    options: FileUploadOptions<D> = {},
  ): Promise<DeviceBuffer<D>> {
    return await uploadFile(this.#use(), path, options);
  }

  /**
   * Fills a buffer, or a view of one, with the content of a file.
   *
   * @throws {TypeError} If the buffer belongs to another device.
   */
  async uploadFileInto(
    buffer: DeviceBuffer,
    path: string | URL,
    options: Omit<FileUploadOptions, "bytes" | "dtype"> = {},
  ): Promise<void> {
    const action = "upload a file into a buffer";
    requireInstance(buffer, DeviceBuffer, "buffer", action);
    requireOnDevice(this.#use(), buffer, "buffer", action);
    await uploadFileInto(buffer, path, options);
  }

  /**
   * Allocates a buffer and copies all bytes of a stream into it, such as the body of a response. A
   * slow device slows the stream down.
   */
  async uploadStream<D extends DType = "uint8">(
    source: ReadableStream<Uint8Array> | AsyncIterable<Uint8Array> | Iterable<Uint8Array>,
    options: StreamUploadOptions<D> = {},
  ): Promise<DeviceBuffer<D>> {
    return await uploadStream(this.#use(), source, options);
  }

  /**
   * Uploads parts of files in order and yields their buffers one by one; the caller frees them. The
   * next parts load while the caller uses the current one.
   */
  prefetchFiles<const Part extends FilePart>(
    parts: Iterable<Part>,
    options: PrefetchOptions = {},
  ): AsyncGenerator<PrefetchedFile<Part>, void, void> {
    return prefetchFiles(this.#use(), parts, options);
  }

  /**
   * Makes a separate ring of pinned memory for uploads; see {@linkcode UploadRing}.
   *
   * @throws {RangeError} If an option is out of its range.
   */
  createUploadRing(options: UploadRingOptions = {}): UploadRing {
    return UploadRing.create(this.#use(), options);
  }

  /**
   * Compiles CUDA C++ for the device and loads it, without blocking the event loop. A source that
   * was compiled before comes from the compile cache and needs no compiler.
   *
   * Host code in the source, such as `main()` and launches by `<<<>>>`, is skipped. Kernels are
   * native code with all rights of the process: compile only sources that you trust.
   *
   * @param source The source. TypeScript reads the kernels' signatures if it is one literal.
   * @throws {CompileError} If the source does not compile; the message marks the lines.
   * @throws {TypeError | RangeError} If an option is wrong.
   * @throws {Deno.errors.NotCapable} If running the compiler is not permitted.
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
    options: CompileOptions<Structs> = {},
  ): Promise<Module<Source, Structs>> {
    const context = this.#use();
    return await whileHeld(context, () => compileText(context, source, options));
  }

  /**
   * Compiles a file of CUDA C++ as {@linkcode Device.compile} does. The program's own headers are
   * found in the file's directory and below; `options: ["-I…"]` adds other directories.
   *
   * @throws {Deno.errors.NotFound | Deno.errors.NotCapable} If the file does not exist or may not be
   * read.
   */
  async compileFile<const Structs extends StructTypes = NoStructs>(
    path: string | URL,
    options: CompileOptions<Structs> = {},
  ): Promise<Module<string, Structs>> {
    const context = this.#use();
    return await whileHeld(context, () => compileFile(context, path, options));
  }

  /**
   * Loads machine code: a cubin, fat binary or PTX for CUDA; for the host device an image of
   * `compileImage()`. Kernels have the names they have in the machine code.
   *
   * The image is native code that runs with all rights of the process, although this needs no
   * permission but `--allow-ffi` for the library: load only what you trust. The host device refuses
   * foreign shared libraries and damaged images before it loads them.
   *
   * @param image The bytes, or the file that contains them.
   * @throws {CudaError} If the image is not machine code for this device; the message contains the
   * driver's explanation.
   * @throws {TypeError} If the image is a shared library that this package has not compiled.
   */
  async loadModule<const Structs extends StructTypes = NoStructs>(
    image: Uint8Array | string | URL,
    options: LoadModuleOptions<Structs> = {},
  ): Promise<Module<string, Structs>> {
    const context = this.#use();
    return await whileHeld(context, () => loadImage(context, image, options));
  }

  /**
   * Chooses grid, block and shared memory for a problem from the limits of the kernel and the
   * device. Launch with the plan as it is, or with a stream: `{ ...plan, stream }`.
   *
   * The grid of a module's kernel covers the problem exactly. For a kernel with a grid-stride loop,
   * `coverage: "stride"` launches no more blocks than the device holds at once.
   *
   * @param problem Elements, rows and columns (and planes), or m, n and k of a matrix product.
   * @throws {TypeError} If the problem has none of these forms, a built-in kernel is given anything
   * but elements, or the kernel belongs to another device.
   * @throws {RangeError} If a number is not an integer in its range, no block of the kernel fits on
   * the device, or the grid would exceed the device's limits.
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
    const context = this.#use();
    requireInstance(kernel, Kernel, "kernel", action);
    requireOnDevice(context, kernel, "kernel", action);
    return planLaunch(kernel, problem);
  }

  /**
   * Redirects stdout of the whole process, including the output of kernels, to stderr until the
   * result is disposed. Wait for the kernels before disposing it.
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
    return divertOutput(this.#use().library);
  }

  /** Whether this device can address the memory of another. */
  canAccessPeer(peer: Device): boolean {
    requireInstance(peer, Device, "peer", "query peer access");
    const { library, ordinal } = this.#use();
    const other = peer.context;
    return library === other.library && ordinal !== other.ordinal &&
      canAccessPeer(library, ordinal, other.ordinal);
  }

  /**
   * Lets this device address the memory of another: its kernels take the other's buffers. Repeated
   * calls have no effect. Operations on buffers, such as `kernels.add()`, stay within one device.
   *
   * @throws {TypeError} If the devices belong to different libraries.
   * @throws {CudaError} If the hardware does not support it.
   */
  enablePeerAccess(peer: Device): void {
    requireInstance(peer, Device, "peer", "enable peer access");
    const { library, ordinal } = this.#use();
    if (library !== peer.context.library) {
      throw new TypeError(
        `Cannot enable peer access from ${this.label} to ${peer.label} as they belong to different libraries`,
      );
    }
    enablePeerAccess(library, ordinal, peer.context.ordinal);
    shareWith(peer.context, ordinal);
  }

  /** Releases the device. Objects made from it stay usable until they are disposed themselves. */
  [Symbol.dispose](): void {
    if (this.#disposed) return;
    giveBack(
      this.context,
      () => this.context.release(),
      () => {
        this.#disposed = true;
        this.#endLog();
      },
    );
  }

  /** The context of a device that is not disposed. */
  #use(): DeviceContext {
    if (this.#disposed) throw new TypeError(`Cannot use ${this.label} as it is disposed`);
    return this.context;
  }
}

displayAs(Device.prototype, "Device", {
  device: labelOf,
  name: ({ info }) => info.name,
  capability: ({ info }) => info.computeCapability,
  memory: ({ info }) => formatBytes(info.totalMemory),
  disposed: ({ disposed }) => disposed,
});
