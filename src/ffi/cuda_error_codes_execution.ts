/**
 * CUDA runtime error codes from 600 on: faults of running kernels, the system, stream capture.
 *
 * @module
 */

import type { ErrorCodeTable } from "./error_code_row.ts";

const RESTART = "The device is lost to this process: end it and start again.";
const SANITIZE = "To find the fault run the program on the host device or under compute-sanitizer.";
const MPS_SERVER =
  "See the logs of nvidia-cuda-mps-control, and start the server again if need be.";
const CAPTURE = "Leave this operation out of what is captured, or do it before the capture begins.";
const PEER_ORDER = "Enable peer access once per pair of devices, and disable only what is enabled.";

/** The codes. */
export const EXECUTION_ERROR_CODES: ErrorCodeTable = {
  600: [
    "cudaErrorNotReady",
    "The work asked about is not finished yet; this is an answer, not a failure.",
    "Ask again later, or wait for the stream or event.",
  ],
  700: [
    "cudaErrorIllegalAddress",
    "A kernel read or wrote an address that is not its to use.",
    `Check the kernel's indices against the lengths of its buffers. ${SANITIZE} ${RESTART}`,
  ],
  701: [
    "cudaErrorLaunchOutOfResources",
    "The launch needs more registers or arguments than the device has.",
    "Use a smaller block, or limit the kernel's registers with __launch_bounds__.",
  ],
  702: [
    "cudaErrorLaunchTimeout",
    "The kernel ran longer than the display driver allows.",
    `Split the work into shorter launches, or use a GPU without a display. ${RESTART}`,
  ],
  703: [
    "cudaErrorLaunchIncompatibleTexturing",
    "The kernel uses textures in a mode that this context does not have.",
    "Use texture objects.",
  ],
  704: ["cudaErrorPeerAccessAlreadyEnabled", "Peer access is enabled already.", PEER_ORDER],
  705: ["cudaErrorPeerAccessNotEnabled", "Peer access is not enabled.", PEER_ORDER],
  708: [
    "cudaErrorSetOnActiveProcess",
    "A setting that must come first came after the device was in use.",
    "Make the setting before anything else uses CUDA in this process.",
  ],
  709: [
    "cudaErrorContextIsDestroyed",
    "The context was destroyed, or never completely created.",
    "Another library may have reset the device: open it again after that.",
  ],
  710: [
    "cudaErrorAssert",
    "An assert in a kernel failed.",
    `Read the assertion on stderr. ${RESTART}`,
  ],
  711: [
    "cudaErrorTooManyPeers",
    "The hardware has no room for another peer.",
    "Enable peer access between fewer devices, and copy through the host elsewhere.",
  ],
  712: [
    "cudaErrorHostMemoryAlreadyRegistered",
    "The memory is pinned already, or a part of it is.",
    "Pin each piece of memory once and share the pinned buffer.",
  ],
  713: [
    "cudaErrorHostMemoryNotRegistered",
    "The memory is not pinned.",
    "Release a pinned buffer once, with what pinned it.",
  ],
  714: [
    "cudaErrorHardwareStackError",
    "A kernel's call stack was damaged or overflowed.",
    `Avoid deep recursion and large local arrays. ${SANITIZE} ${RESTART}`,
  ],
  715: [
    "cudaErrorIllegalInstruction",
    "A kernel ran into an instruction that does not exist.",
    `Rebuild for this GPU; a kernel may also have jumped through a bad pointer. ${RESTART}`,
  ],
  716: [
    "cudaErrorMisalignedAddress",
    "A kernel read or wrote an address that is not a multiple of the element's size.",
    `Check vector types such as float4 over views with an offset. ${SANITIZE} ${RESTART}`,
  ],
  717: [
    "cudaErrorInvalidAddressSpace",
    "A kernel used an address of the wrong memory: global, shared or local.",
    `Check conversions between generic and shared addresses. ${SANITIZE} ${RESTART}`,
  ],
  718: [
    "cudaErrorInvalidPc",
    "A kernel jumped to a place that is no code.",
    `Check function pointers and virtual calls in the kernel. ${SANITIZE} ${RESTART}`,
  ],
  719: [
    "cudaErrorLaunchFailure",
    "A kernel failed while running, often by a bad address or a trap.",
    `Check indices into shared memory as well as into buffers. ${SANITIZE} ${RESTART}`,
  ],
  720: [
    "cudaErrorCooperativeLaunchTooLarge",
    "A cooperative launch has more blocks than the device can hold at once.",
    "Launch at most the resident blocks per multiprocessor times the multiprocessors.",
  ],
  721: [
    "cudaErrorTensorMemoryLeak",
    "A kernel ended without freeing all of its tensor memory.",
    `Pair every tcgen05.alloc with a tcgen05.dealloc on every path. ${RESTART}`,
  ],
  800: [
    "cudaErrorNotPermitted",
    "The operation is not permitted here.",
    "Profiling counters and some other functions need administrator rights: see the driver's " +
    "settings.",
  ],
  801: [
    "cudaErrorNotSupported",
    "This device, driver or system cannot do this.",
    "Ask the device's information whether the feature is there before using it.",
  ],
  802: [
    "cudaErrorSystemNotReady",
    "The system is not ready for CUDA: a daemon that it needs does not run.",
    "On machines with NVSwitch start nvidia-fabricmanager, of the driver's version.",
  ],
  803: [
    "cudaErrorSystemDriverMismatch",
    "The kernel driver and the CUDA driver library are of different versions.",
    "Restart after updating the driver; in a container, take the host's libcuda.",
  ],
  804: [
    "cudaErrorCompatNotSupportedOnDevice",
    "The forward-compatibility package does not support this GPU.",
    "Remove cuda-compat from LD_LIBRARY_PATH, and update the driver instead.",
  ],
  805: ["cudaErrorMpsConnectionFailed", "The MPS server cannot be reached.", MPS_SERVER],
  806: ["cudaErrorMpsRpcFailure", "A call to the MPS server failed.", MPS_SERVER],
  807: ["cudaErrorMpsServerNotReady", "The MPS server takes no clients just now.", MPS_SERVER],
  808: [
    "cudaErrorMpsMaxClientsReached",
    "The MPS server has as many clients as it can have.",
    "Run fewer processes on the device.",
  ],
  809: [
    "cudaErrorMpsMaxConnectionsReached",
    "The device has as many MPS connections as it can have.",
    "Run fewer processes, or set CUDA_DEVICE_MAX_CONNECTIONS lower.",
  ],
  810: [
    "cudaErrorMpsClientTerminated",
    "The MPS server has ended this client.",
    `Another client may have caused the fault. ${RESTART}`,
  ],
  811: [
    "cudaErrorCdpNotSupported",
    "Kernels cannot launch kernels in this configuration, such as under MPS.",
    "Launch from the host, or run without MPS.",
  ],
  812: [
    "cudaErrorCdpVersionMismatch",
    "Kernels that launch kernels were built for two versions of that mechanism.",
    "Compile all of them with the same toolkit and options.",
  ],
  900: ["cudaErrorStreamCaptureUnsupported", "A capturing stream cannot do this.", CAPTURE],
  901: [
    "cudaErrorStreamCaptureInvalidated",
    "An earlier error has made this capture useless.",
    "Mend the first error, then capture again.",
  ],
  902: [
    "cudaErrorStreamCaptureMerge",
    "A wait would join two captures that have nothing to do with each other.",
    "Capture both parts from one origin stream.",
  ],
  903: [
    "cudaErrorStreamCaptureUnmatched",
    "The capture did not begin on this stream.",
    "End a capture on the stream on which it began.",
  ],
  904: [
    "cudaErrorStreamCaptureUnjoined",
    "A stream that joined the capture was not led back to its origin.",
    "Let the origin stream wait for an event of every stream that took part.",
  ],
  905: [
    "cudaErrorStreamCaptureIsolation",
    "Captured work would depend on work outside of the capture.",
    CAPTURE,
  ],
  906: [
    "cudaErrorStreamCaptureImplicit",
    "Work on the legacy default stream would depend on the capture.",
    "Use streams of your own for everything while a capture runs.",
  ],
  907: [
    "cudaErrorCapturedEvent",
    "An event recorded during capture cannot be asked or waited for.",
    "Record the event again outside of the capture.",
  ],
  908: [
    "cudaErrorStreamCaptureWrongThread",
    "The capture was ended by another thread than began it.",
    "Begin and end a capture in the same worker, or use the relaxed mode.",
  ],
  909: ["cudaErrorTimeout", "Waiting took longer than its time limit.", "Wait again, or longer."],
  910: [
    "cudaErrorGraphExecUpdateFailure",
    "The graph differs in more than an instantiated graph can take over.",
    "Instantiate the changed graph anew.",
  ],
  911: [
    "cudaErrorExternalDevice",
    "A device outside of CUDA has signalled that shared data is not valid.",
    `Look for the cause in the other interface. ${RESTART}`,
  ],
  912: [
    "cudaErrorInvalidClusterSize",
    "The cluster of blocks has a size that the device does not allow.",
    "Use at most 8 blocks per cluster, and a grid that is a multiple of it.",
  ],
  913: [
    "cudaErrorFunctionNotLoaded",
    "The call needs a kernel that has not been loaded yet.",
    "Launch the kernel or ask for its attributes first, or set CUDA_MODULE_LOADING=EAGER.",
  ],
  914: [
    "cudaErrorInvalidResourceType",
    "A resource is not of a type that the operation takes.",
    "Check the types of the resources that are passed together.",
  ],
  915: [
    "cudaErrorInvalidResourceConfiguration",
    "The resources are too few or do not fit the operation.",
    "Check the number and the layout of the resources that are asked for.",
  ],
  999: [
    "cudaErrorUnknown",
    "Something failed inside CUDA that has no code of its own.",
    "Look for Xid messages in the kernel log; restart the process, then the machine.",
  ],
  10000: [
    "cudaErrorApiFailureBase",
    "The base to which very old CUDA versions added driver errors.",
    "No current CUDA returns this: update the NVIDIA driver, and rebuild the library.",
  ],
};
