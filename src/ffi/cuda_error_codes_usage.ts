/**
 * CUDA runtime error codes 0 to 127: wrong arguments, installation, and finding a device.
 *
 * @module
 */

import type { ErrorCodeTable } from "./error_code_row.ts";

const RETIRED = "No current CUDA returns this: update the NVIDIA driver, and rebuild the library.";
const REPORT = "Gridstride does not make this call: report it with the program that caused it.";
const DYNAMIC_PARALLELISM =
  "Launch the inner kernel from the host, or nest fewer launches inside kernels.";
const UPDATE_DRIVER =
  "Update the NVIDIA driver, or build the library with an older toolkit; doctor shows both.";

/** The codes. */
export const USAGE_ERROR_CODES: ErrorCodeTable = {
  0: ["cudaSuccess", "The call succeeded.", "Nothing is to be done."],
  1: [
    "cudaErrorInvalidValue",
    "An argument of the call is outside what CUDA allows.",
    "Check sizes, addresses and offsets; an address may belong to freed memory.",
  ],
  2: [
    "cudaErrorMemoryAllocation",
    "The device has no room for the memory or the resource asked for.",
    "Free buffers, use smaller batches, or choose a device with more free memory.",
  ],
  3: [
    "cudaErrorInitializationError",
    "The CUDA driver and runtime could not be started.",
    "Run nvidia-smi; if it fails too, reload the driver (nvidia-uvm included) or restart.",
  ],
  4: [
    "cudaErrorCudartUnloading",
    "The process is ending and the driver is gone already.",
    "Dispose devices and buffers before the program ends, for example with using.",
  ],
  5: [
    "cudaErrorProfilerDisabled",
    "The profiler interface is off because another profiler runs the program.",
    "Start and stop profiling from that profiler, or run the program without it.",
  ],
  6: ["cudaErrorProfilerNotInitialized", "The profiler was stopped before it was set up.", RETIRED],
  7: ["cudaErrorProfilerAlreadyStarted", "The profiler was started twice.", RETIRED],
  8: ["cudaErrorProfilerAlreadyStopped", "The profiler was stopped twice.", RETIRED],
  9: [
    "cudaErrorInvalidConfiguration",
    "The launch asks for a grid, block or shared memory that the device can never provide.",
    "Compare grid, block and shared memory with the limits in the device's information.",
  ],
  12: [
    "cudaErrorInvalidPitchValue",
    "A pitch is smaller than the row it holds or larger than the device allows.",
    "Use a pitch of at least the row's width and at most maxPitch.",
  ],
  13: [
    "cudaErrorInvalidSymbol",
    "No device variable has this name.",
    'Check the spelling; in C++ the variable needs extern "C" or its mangled name.',
  ],
  16: ["cudaErrorInvalidHostPointer", "A host address is not valid.", RETIRED],
  17: ["cudaErrorInvalidDevicePointer", "A device address is not valid.", RETIRED],
  18: ["cudaErrorInvalidTexture", "A texture is not valid.", REPORT],
  19: ["cudaErrorInvalidTextureBinding", "A texture is used without being bound.", REPORT],
  20: [
    "cudaErrorInvalidChannelDescriptor",
    "A texture's channel format or one of its dimensions is not valid.",
    REPORT,
  ],
  21: [
    "cudaErrorInvalidMemcpyDirection",
    "A copy names a direction that does not exist.",
    REPORT,
  ],
  22: ["cudaErrorAddressOfConstant", "The address of a constant variable was taken.", RETIRED],
  23: ["cudaErrorTextureFetchFailed", "A texture fetch failed in device emulation.", RETIRED],
  24: ["cudaErrorTextureNotBound", "A texture was not bound in device emulation.", RETIRED],
  25: ["cudaErrorSynchronizationError", "Synchronising failed in device emulation.", RETIRED],
  26: [
    "cudaErrorInvalidFilterSetting",
    "A texture of integers was read with linear filtering.",
    "Read it with point filtering, or store floats in it.",
  ],
  27: [
    "cudaErrorInvalidNormSetting",
    "A texture's type cannot be read as a normalised float.",
    "Read it as its own type, or store 8- or 16-bit integers in it.",
  ],
  28: ["cudaErrorMixedDeviceExecution", "Device and emulated code were mixed.", RETIRED],
  31: ["cudaErrorNotYetImplemented", "The call does not exist yet.", RETIRED],
  32: ["cudaErrorMemoryValueTooLarge", "An emulated address exceeds 32 bits.", RETIRED],
  34: [
    "cudaErrorStubLibrary",
    "The libcuda that was loaded is the toolkit's stub for linking, not a driver.",
    "Take the toolkit's lib64/stubs out of LD_LIBRARY_PATH and install the NVIDIA driver.",
  ],
  35: [
    "cudaErrorInsufficientDriver",
    "There is no NVIDIA driver, or it is older than the CUDA runtime of the library.",
    "Install or update the NVIDIA driver; doctor shows which versions are there.",
  ],
  36: [
    "cudaErrorCallRequiresNewerDriver",
    "The installed driver is too old for this call.",
    UPDATE_DRIVER,
  ],
  37: ["cudaErrorInvalidSurface", "A surface is not valid.", REPORT],
  43: [
    "cudaErrorDuplicateVariableName",
    "Two device variables of the program have the same name.",
    "Rename one of them, or make both static.",
  ],
  44: [
    "cudaErrorDuplicateTextureName",
    "Two textures of the program have the same name.",
    "Rename one of them, or make both static.",
  ],
  45: [
    "cudaErrorDuplicateSurfaceName",
    "Two surfaces of the program have the same name.",
    "Rename one of them, or make both static.",
  ],
  46: [
    "cudaErrorDevicesUnavailable",
    "All devices are busy, or their compute mode keeps this process out.",
    "See with nvidia-smi who uses them; set the compute mode back to Default, or wait.",
  ],
  49: [
    "cudaErrorIncompatibleDriverContext",
    "Another library has made a driver context that the runtime cannot use.",
    "Let that library use the device's primary context, or open the device here first.",
  ],
  52: [
    "cudaErrorMissingConfiguration",
    "A kernel was launched without a launch configuration.",
    REPORT,
  ],
  53: ["cudaErrorPriorLaunchFailure", "An earlier launch failed in device emulation.", RETIRED],
  65: [
    "cudaErrorLaunchMaxDepthExceeded",
    "Kernels that launch kernels are nested too deeply.",
    DYNAMIC_PARALLELISM,
  ],
  66: [
    "cudaErrorLaunchFileScopedTex",
    "A kernel launched by a kernel uses a file-scope texture.",
    "Pass a texture object to it instead.",
  ],
  67: [
    "cudaErrorLaunchFileScopedSurf",
    "A kernel launched by a kernel uses a file-scope surface.",
    "Pass a surface object to it instead.",
  ],
  68: [
    "cudaErrorSyncDepthExceeded",
    "A kernel synchronised at a deeper nesting than the device has reserved memory for.",
    DYNAMIC_PARALLELISM,
  ],
  69: [
    "cudaErrorLaunchPendingCountExceeded",
    "More launches from inside kernels are pending than the device keeps track of.",
    DYNAMIC_PARALLELISM,
  ],
  98: [
    "cudaErrorInvalidDeviceFunction",
    "The kernel does not exist, or was not compiled for this architecture.",
    "Build the library for this GPU: set CUDA_ARCH to its architecture or to native.",
  ],
  100: [
    "cudaErrorNoDevice",
    "The driver works but shows no CUDA device.",
    "See whether CUDA_VISIBLE_DEVICES hides them, and whether nvidia-smi lists any.",
  ],
  101: [
    "cudaErrorInvalidDevice",
    "No device has this ordinal, or it cannot do what was asked.",
    "List the devices and use one of their ordinals.",
  ],
  102: [
    "cudaErrorDeviceNotLicensed",
    "The virtual GPU has no valid license.",
    "Have the NVIDIA vGPU license client of this machine renew it.",
  ],
  103: [
    "cudaErrorSoftwareValidityNotEstablished",
    "A self-test of the CUDA runtime or driver failed.",
    "Reinstall the NVIDIA driver; if that does not help, the files on disk are damaged.",
  ],
  127: [
    "cudaErrorStartupFailure",
    "The CUDA runtime failed inside while starting.",
    "Start the program again; if it persists, reinstall the NVIDIA driver.",
  ],
};
