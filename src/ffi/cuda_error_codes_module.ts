/**
 * CUDA runtime error codes 200 to 500: kernel images, compilation, graphics sharing, handles.
 *
 * @module
 */

import type { ErrorCodeTable } from "./error_code_row.ts";

const GRAPHICS = "Check the order of mapping and unmapping where memory is shared with graphics.";
const RESTART = "Start the process again; its memory on the device is lost.";
const REBUILD_FOR_GPU =
  "Build the library for this GPU: set CUDA_ARCH to its architecture or to native.";

/** The codes. */
export const MODULE_ERROR_CODES: ErrorCodeTable = {
  200: [
    "cudaErrorInvalidKernelImage",
    "The compiled kernel code is damaged or of a format the driver does not know.",
    "Pass machine code whole, if it is a module's; else rebuild the library.",
  ],
  201: [
    "cudaErrorDeviceUninitialized",
    "The thread has no context, or the context was destroyed.",
    "Open the device again; another library may have reset it.",
  ],
  205: ["cudaErrorMapBufferObjectFailed", "A graphics buffer could not be mapped.", GRAPHICS],
  206: ["cudaErrorUnmapBufferObjectFailed", "A graphics buffer could not be unmapped.", GRAPHICS],
  207: ["cudaErrorArrayIsMapped", "An array that is still mapped cannot be destroyed.", GRAPHICS],
  208: ["cudaErrorAlreadyMapped", "The resource is mapped already.", GRAPHICS],
  209: [
    "cudaErrorNoKernelImageForDevice",
    "There is no kernel code that this device can run.",
    `Compile it for this device, if it is a module's. Else: ${REBUILD_FOR_GPU}`,
  ],
  210: ["cudaErrorAlreadyAcquired", "The resource has been acquired already.", GRAPHICS],
  211: ["cudaErrorNotMapped", "The resource is not mapped.", GRAPHICS],
  212: ["cudaErrorNotMappedAsArray", "The resource is not mapped as an array.", GRAPHICS],
  213: ["cudaErrorNotMappedAsPointer", "The resource is not mapped as an address.", GRAPHICS],
  214: [
    "cudaErrorECCUncorrectable",
    "The device's memory had an error that its error correction could not repair.",
    `${RESTART} If nvidia-smi -q -d ECC counts more of them, have the GPU checked.`,
  ],
  215: [
    "cudaErrorUnsupportedLimit",
    "This device does not have the limit that was asked about or set.",
    "Leave the limit alone on this device.",
  ],
  216: [
    "cudaErrorDeviceAlreadyInUse",
    "The device is in an exclusive mode and somebody else uses it.",
    "Wait for the other process, or set the compute mode to Default with nvidia-smi -c 0.",
  ],
  217: [
    "cudaErrorPeerAccessUnsupported",
    "The two devices cannot address each other's memory.",
    "Copy through the host, or use devices that nvidia-smi topo -p2p r shows as connected.",
  ],
  218: [
    "cudaErrorInvalidPtx",
    "The driver could not compile the PTX for this GPU.",
    "Compile for an architecture not newer than this GPU's.",
  ],
  219: [
    "cudaErrorInvalidGraphicsContext",
    "The OpenGL or DirectX context is not usable for sharing.",
    GRAPHICS,
  ],
  220: [
    "cudaErrorNvlinkUncorrectable",
    "An NVLink connection had an error that could not be repaired.",
    `${RESTART} If it comes back, look at nvidia-smi nvlink -e and have the machine checked.`,
  ],
  221: [
    "cudaErrorJitCompilerNotFound",
    "The driver's PTX compiler, libnvidia-ptxjitcompiler, is missing.",
    `Install the driver completely. ${REBUILD_FOR_GPU}`,
  ],
  222: [
    "cudaErrorUnsupportedPtxVersion",
    "The PTX comes from a toolkit newer than the driver understands.",
    `Update the NVIDIA driver. ${REBUILD_FOR_GPU}`,
  ],
  223: [
    "cudaErrorJitCompilationDisabled",
    "Compiling PTX is switched off (CUDA_DISABLE_PTX_JIT) and there is no code for this GPU.",
    `Unset CUDA_DISABLE_PTX_JIT. ${REBUILD_FOR_GPU}`,
  ],
  224: [
    "cudaErrorUnsupportedExecAffinity",
    "The device cannot limit a context to some of its multiprocessors in this way.",
    "Ask for no execution affinity, or run under MPS on a device that supports it.",
  ],
  225: [
    "cudaErrorUnsupportedDevSideSync",
    "The kernel calls cudaDeviceSynchronize on the device, which is no longer possible.",
    "Remove the call: let the host launch what comes after it.",
  ],
  226: [
    "cudaErrorContained",
    "The device had a hardware or NVLink fault that was kept from spreading.",
    `${RESTART} If it comes back, look for Xid messages in the kernel log.`,
  ],
  300: [
    "cudaErrorInvalidSource",
    "The kernel source or image that was given cannot be read.",
    "Check that it is complete and of the kind the call expects.",
  ],
  301: ["cudaErrorFileNotFound", "A file was not found.", "Check the path."],
  302: [
    "cudaErrorSharedObjectSymbolNotFound",
    "A shared library lacks a symbol that CUDA needs.",
    "Define it, if it is a module's; else reinstall the NVIDIA driver.",
  ],
  303: [
    "cudaErrorSharedObjectInitFailed",
    "A shared library failed to start.",
    "See the module's log, if it is one; else reinstall the NVIDIA driver, also in a container.",
  ],
  304: [
    "cudaErrorOperatingSystem",
    "A call to the operating system failed.",
    "Check access to /dev/nvidia*, and the limits on locked memory and open files (ulimit -a).",
  ],
  400: [
    "cudaErrorInvalidResourceHandle",
    "A stream, event or other handle is not valid, or belongs to another device.",
    "Use handles with the device that made them and not after they were disposed.",
  ],
  401: [
    "cudaErrorIllegalState",
    "The resource is in a state in which it cannot do this.",
    "Check the order of calls on it: what it needs must have been done before.",
  ],
  402: [
    "cudaErrorLossyQuery",
    "The answer would leave out something that this version of the call cannot express.",
    "Build the library with a newer CUDA toolkit.",
  ],
  500: [
    "cudaErrorSymbolNotFound",
    "No kernel, variable or driver function has this name.",
    'Check the spelling; C++ names are mangled unless declared extern "C".',
  ],
};
