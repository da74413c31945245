/**
 * The negative statuses of `csrc/gridstride_status.h`, without NVRTC's.
 *
 * @module
 */

import type { ErrorCodeTable } from "./error_code_row.ts";

const REPORT = "This is a defect of Gridstride: report it with the program that caused it.";

/** The codes. */
export const GRIDSTRIDE_ERROR_CODES: ErrorCodeTable = {
  [-1]: [
    "GS_ERROR_ARGUMENT",
    "A value is not an integer of the range that is allowed.",
    "Pass whole numbers within the limits the function documents.",
  ],
  [-2]: [
    "GS_ERROR_HANDLE",
    "A handle is out of use, made up, or of another kind.",
    "Do not use streams, events or pinned buffers after they were disposed.",
  ],
  [-3]: [
    "GS_ERROR_DEVICE",
    "No device has this ordinal.",
    "List the devices and use one of their ordinals.",
  ],
  [-4]: ["GS_ERROR_NO_BLOCK", "This thread has not registered its command block.", REPORT],
  [-5]: [
    "GS_ERROR_ALIGNMENT",
    "An address or a block of memory is not aligned as it must be.",
    "Use offsets that are multiples of the element's size.",
  ],
  [-6]: [
    "GS_ERROR_OVERLAP",
    "Source and destination of a copy overlap.",
    "Copy through a third buffer, or copy parts that do not overlap.",
  ],
  [-7]: [
    "GS_ERROR_UNSUPPORTED",
    "This library or device cannot do this.",
    "Ask the device's information whether the feature is there before using it.",
  ],
  [-8]: [
    "GS_ERROR_CAPACITY",
    "A buffer for an answer is too small, or a table of handles is full.",
    "Dispose streams, events and pinned buffers that are no longer used.",
  ],
  [-9]: [
    "GS_ERROR_NOT_FOUND",
    "No kernel, call or function has this name.",
    "Check the spelling; validate lists the built-in kernels.",
  ],
  [-10]: [
    "GS_ERROR_HOST_MEMORY",
    "The host has no memory left for the request.",
    "Free memory of this machine; for pinned memory raise the limit shown by ulimit -l.",
  ],
  [-11]: [
    "GS_ERROR_FOREIGN",
    "A handle belongs to another device than the call names.",
    "Use streams, events and buffers with the device that made them.",
  ],
  [-12]: [
    "GS_ERROR_CONFIGURED",
    "The fake devices of this process are set already, to something else.",
    "Set GRIDSTRIDE_FAKE before the first device is listed, and do not change it after.",
  ],
  [-13]: [
    "GS_ERROR_SYSTEM",
    "A call to the operating system failed.",
    "Check the limits on locked memory, open files and address space (ulimit -a).",
  ],
  [-14]: ["GS_ERROR_INTERNAL", "Something went wrong inside the library.", REPORT],
  [-15]: [
    "GS_ERROR_LAUNCH",
    "The arguments do not match the kernel: their number or sizes differ.",
    "Compare the arguments with the kernel's signature.",
  ],
  [-16]: [
    "GS_ERROR_IMAGE",
    "The machine code is damaged, or of another kind, version or device.",
    "Compile the source again for this device.",
  ],
};
