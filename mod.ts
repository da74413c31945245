/**
 * CUDA for Deno: NVIDIA GPUs from TypeScript, and the same kernels on the CPU where there is none.
 *
 * Importing this module touches nothing: no library, file, network or environment. The native
 * library is opened when the first device is listed or opened.
 *
 * @example
 * ```ts ignore
 * import { openDevice } from "@gridstride/cuda";
 *
 * using device = openDevice();
 * using x = device.upload(new Float32Array([1, 2, 3]));
 * using y = device.allocate("float32", 3, { fill: 10 });
 * device.kernels.axpy(2, x, y);
 * console.log(await y.toArray()); // Float32Array(3) [ 12, 14, 16 ]
 * ```
 *
 * @module
 */

// Devices
export {
  bestDevice,
  defaultDevice,
  NoDeviceError,
  openDevice,
  type OpenDeviceOptions,
} from "./src/device/open_device.ts";
export type { AllocateAsyncOptions, AllocateOptions } from "./src/device/allocation.ts";
export { Device } from "./src/device/device.ts";
export { DeviceKernels } from "./src/device/device_kernels.ts";
export { cudaAvailable, deviceCount, listDevices } from "./src/hardware/device_list.ts";
export type { DeviceInfo } from "./src/hardware/device_information.ts";
export {
  type DeviceTelemetry,
  deviceTelemetry,
  type ThrottleReason,
} from "./src/hardware/telemetry.ts";
export type { DeviceContext } from "./src/hardware/device_context.ts";
export type { DeviceKind } from "./src/hardware/selection.ts";
export {
  type CapabilityLimits,
  capabilityLimits,
  type Extents,
} from "./src/hardware/capability_limits.ts";
export { peakThroughput } from "./src/hardware/peak_throughput.ts";

// Detection and diagnosis
export { detectBackends, preflight } from "./src/hardware/backends.ts";
export type { BackendReport } from "./src/hardware/probe.ts";
export type { Ability } from "./src/device/abilities.ts";
export { diagnose, type Diagnosis } from "./src/device/diagnosis.ts";

// The native library
export { load } from "./src/ffi/open_library.ts";
export type { BuildRecord, LibraryKind, NativeLibrary } from "./src/ffi/library.ts";
export { LibraryNotFoundError, UnsupportedPlatformError } from "./src/ffi/locate.ts";

// Streams, events and graphs
export { Stream, type StreamOptions } from "./src/stream/stream.ts";
export { Event, type EventOptions } from "./src/stream/event.ts";
export { Graph } from "./src/stream/graph.ts";

// Memory
export { DeviceBuffer } from "./src/memory/device_buffer.ts";
export type { CopyOptions, PlacementOptions, StreamChoice } from "./src/memory/buffer_options.ts";
export {
  MemoryManager,
  type MemoryManagerStatistics,
} from "./src/memory/manager/memory_manager.ts";
export { MultiDeviceMemory } from "./src/memory/manager/multi_device_memory.ts";
export { type ChunkOptions, chunksThatFit } from "./src/memory/manager/chunks.ts";
export { MemoryPool } from "./src/memory/pool/memory_pool.ts";
export type { LeakReport, LiveBuffer } from "./src/memory/pool/leak_report.ts";
export {
  MemoryCorruptionError,
  type MemoryViolation,
} from "./src/memory/pool/memory_corruption.ts";
export {
  type MemoryPoolOptions,
  POOL_PRESETS,
  type PoolPreset,
  type PoolSettings,
} from "./src/memory/pool/pool_options.ts";
export type { MemoryChange } from "./src/memory/pool/pool_observer.ts";
export type { MeasureBySize, PoolStatistics } from "./src/memory/pool/pool_statistics.ts";
export type {
  FilePart,
  PrefetchedFile,
  PrefetchOptions,
} from "./src/memory/upload/file_prefetch.ts";
export type { FileUploadOptions } from "./src/memory/upload/file_upload.ts";
export type { StreamUploadOptions } from "./src/memory/upload/stream_upload.ts";
export type { TransferOptions } from "./src/memory/upload/upload_task.ts";
export { UploadRing, type UploadRingOptions } from "./src/memory/upload/upload_ring.ts";
export { PinnedBuffer } from "./src/memory/pinned_buffer.ts";
export { PitchedBuffer } from "./src/memory/pitched_buffer.ts";
export {
  type AnyTypedArray,
  bytesPerElement,
  type DType,
  type DTypeOf,
  DTYPES,
  type ElementOf,
  type SelfDescribingArray,
  type TypedArrayOf,
} from "./src/memory/dtype.ts";
export { narrowFromFloat32, widenToFloat32 } from "./src/memory/element_bits.ts";

// Launching kernels
export type { Kernel } from "./src/launch/kernel.ts";
export type { Module } from "./src/launch/module/module.ts";
export type { CompileOptions } from "./src/launch/module/compile_options.ts";
export { compileImage, type LoadModuleOptions } from "./src/launch/module/compile.ts";
export type { CompiledImage } from "./src/launch/compile/compiler.ts";
export { readKernelFile } from "./src/launch/module/kernel_file.ts";
export {
  CompileError,
  CompilerUnavailableError,
  type Diagnostic,
  diagnosticText,
} from "./src/launch/compile/compile_error.ts";
export type { LaunchConfig } from "./src/launch/launch_config.ts";
export type { KernelParameter, KernelSignature } from "./src/launch/signature/signature.ts";
export type { VectorType } from "./src/launch/signature/c_types.ts";
export { readStructs } from "./src/launch/source/structs.ts";
export {
  defineStruct,
  type FieldLayout,
  type StructFields,
  type StructType,
  type StructTypes,
} from "./src/launch/signature/struct_type.ts";
export { timeKernel } from "./src/launch/kernel_timing.ts";
export {
  type Occupancy,
  occupancy,
  occupancyLimits,
  occupancyOf,
  potentialBlockSize,
} from "./src/launch/occupancy.ts";
export type { OccupancyLimits, OccupancyUsage } from "./src/launch/occupancy_rules.ts";
export type { LaunchPlan } from "./src/launch/launch_plan.ts";
export type { LaunchProblem } from "./src/launch/launch_problem.ts";
export type {
  KernelArgument,
  KernelArguments,
  ReadableSignature,
} from "./src/launch/signature/signature_types.ts";
export type { DeviceMemory, ReadonlyDeviceMemory } from "./src/launch/signature/device_memory.ts";
export type { KernelAttributes } from "./src/ffi/native_kernel.ts";
export {
  configureKernelCache,
  type KernelCacheOptions,
} from "./src/launch/cache/cache_settings.ts";
export {
  clearKernelCache,
  kernelCacheStats,
  listKernelCache,
} from "./src/launch/cache/kernel_cache.ts";
export { warmUpKernels } from "./src/device/warm_up.ts";
export type { HistogramOptions } from "./src/kernels/histogram.ts";
export type { FloatingDType, NumericDType } from "./src/kernels/operands.ts";

// Errors
export { CudaError, OutOfMemoryError } from "./src/ffi/cuda_error.ts";
export { CacheDirectoryError } from "./src/ffi/cache_directory.ts";
export { EnvironmentError } from "./src/ffi/granted_environment.ts";
