/**
 * Device attributes by name: the values of `enum cudaDeviceAttr` in the CUDA runtime's
 * `driver_types.h`. `cudaDevAttrMaxThreadsPerBlock` is `maxThreadsPerBlock` here;
 * `tests/hardware/device_attributes_test.ts` compares them where a toolkit is installed.
 *
 * @module
 */

/** Attribute ids for `gs_device_attribute`. */
export const DEVICE_ATTRIBUTES = {
  maxThreadsPerBlock: 1,
  maxBlockDimX: 2,
  maxBlockDimY: 3,
  maxBlockDimZ: 4,
  maxGridDimX: 5,
  maxGridDimY: 6,
  maxGridDimZ: 7,
  maxSharedMemoryPerBlock: 8,
  totalConstantMemory: 9,
  warpSize: 10,
  maxPitch: 11,
  maxRegistersPerBlock: 12,
  /** In kHz. */
  clockRate: 13,
  textureAlignment: 14,
  gpuOverlap: 15,
  multiProcessorCount: 16,
  kernelExecTimeout: 17,
  integrated: 18,
  canMapHostMemory: 19,
  computeMode: 20,
  concurrentKernels: 31,
  eccEnabled: 32,
  pciBusId: 33,
  pciDeviceId: 34,
  /** In kHz; 0 where the memory is the host's. */
  memoryClockRate: 36,
  /** In bits. */
  globalMemoryBusWidth: 37,
  l2CacheSize: 38,
  maxThreadsPerMultiProcessor: 39,
  asyncEngineCount: 40,
  unifiedAddressing: 41,
  pciDomainId: 50,
  texturePitchAlignment: 51,
  computeCapabilityMajor: 75,
  computeCapabilityMinor: 76,
  streamPrioritiesSupported: 78,
  maxSharedMemoryPerMultiprocessor: 81,
  maxRegistersPerMultiprocessor: 82,
  managedMemory: 83,
  cooperativeLaunch: 95,
  maxSharedMemoryPerBlockOptin: 97,
  hostRegisterSupported: 99,
  maxBlocksPerMultiprocessor: 106,
  reservedSharedMemoryPerBlock: 111,
  memoryPoolsSupported: 115,
  clusterLaunch: 120,
} as const;

/**
 * Virtual memory management. Only the driver names this attribute
 * (`CU_DEVICE_ATTRIBUTE_VIRTUAL_MEMORY_MANAGEMENT_SUPPORTED`); the runtime shares its numbering.
 */
export const VIRTUAL_MEMORY_MANAGEMENT = 102;
