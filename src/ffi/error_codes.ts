/**
 * Error codes with their meaning and advice: those of CUDA, of `csrc/gridstride_status.h`, of NVRTC
 * and of cuBLAS.
 *
 * @module
 */

import { doctorCommand } from "./locate.ts";
import { CUDA_RECORDS } from "./cuda_error_codes.ts";

export interface CudaErrorCode {
  readonly code: number;
  readonly name: string;
  readonly meaning: string;
  readonly advice: string;
  /** True if every later call on the device fails with this status until the process ends. */
  readonly sticky: boolean;
}

const GRIDSTRIDE_RECORDS = `
-1 GS_ERROR_ARGUMENT
  A value is not an integer of the range that is allowed.
  Pass whole numbers within the limits the function documents.
-2 GS_ERROR_HANDLE
  A handle is out of use, made up, or of another kind.
  Do not use streams, events or pinned buffers after they were disposed.
-3 GS_ERROR_DEVICE
  No device has this ordinal.
  List the devices and use one of their ordinals.
-4 GS_ERROR_NO_BLOCK
  This thread has not registered its command block.
  This is a defect of Gridstride: report it with the program that caused it.
-5 GS_ERROR_ALIGNMENT
  An address or a block of memory is not aligned as it must be.
  Use offsets that are multiples of the element's size.
-6 GS_ERROR_OVERLAP
  Source and destination of a copy overlap.
  Copy through a third buffer, or copy parts that do not overlap.
-7 GS_ERROR_UNSUPPORTED
  This library or device cannot do this.
  Check the device's information for the feature before using it.
-8 GS_ERROR_CAPACITY
  A buffer for an answer is too small, or a table of handles is full.
  Dispose streams, events and pinned buffers that are no longer used.
-9 GS_ERROR_NOT_FOUND
  No kernel, call or function has this name.
  Check the spelling; validate lists the built-in kernels.
-10 GS_ERROR_HOST_MEMORY
  The host has no memory left for the request.
  Free memory of this machine; for pinned memory raise the limit shown by ulimit -l.
-11 GS_ERROR_FOREIGN
  A handle belongs to another device than the call names.
  Use streams, events and buffers with the device that made them.
-12 GS_ERROR_CONFIGURED
  The fake devices of this process are set already, to something else.
  Set GRIDSTRIDE_FAKE before the first device is listed, and do not change it after.
-13 GS_ERROR_SYSTEM
  A call to the operating system failed.
  Check the limits on locked memory, open files and address space (ulimit -a).
-14 GS_ERROR_INTERNAL
  Something went wrong inside the library.
  This is a defect of Gridstride: report it with the program that caused it.
-15 GS_ERROR_LAUNCH
  The arguments do not match the kernel: their number or sizes differ.
  Compare the arguments with the kernel's signature.
-16 GS_ERROR_IMAGE
  The machine code is damaged, or of another kind, version or device.
  Compile the source again for this device.
`;

/** The results of NVRTC as of CUDA 13.0; a status is -1000 minus the result. */
const NVRTC_RECORDS = `
-1001 NVRTC_ERROR_OUT_OF_MEMORY
  The compiler has no memory left.
  Free memory of this machine, or compile less at a time.
-1002 NVRTC_ERROR_PROGRAM_CREATION_FAILURE
  The compiler cannot take the program.
  Compile it again; if it fails alone too, use another version of NVRTC.
-1003 NVRTC_ERROR_INVALID_INPUT
  The compiler refuses an argument.
  This is a defect of Gridstride: report it with the source that caused it.
-1004 NVRTC_ERROR_INVALID_PROGRAM
  The compiler has no such program.
  This is a defect of Gridstride: report it with the source that caused it.
-1005 NVRTC_ERROR_INVALID_OPTION
  The compiler does not know an option.
  Compare the options with the documentation of this version of NVRTC.
-1006 NVRTC_ERROR_COMPILATION
  The source does not compile.
  Correct what the compiler says about it.
-1007 NVRTC_ERROR_BUILTIN_OPERATION_FAILURE
  The compiler cannot use its library of builtins.
  Install libnvrtc-builtins of the same version beside libnvrtc.
-1008 NVRTC_ERROR_NO_NAME_EXPRESSIONS_AFTER_COMPILATION
  A name expression came after the compilation.
  This is a defect of Gridstride: report it with the source that caused it.
-1009 NVRTC_ERROR_NO_LOWERED_NAMES_BEFORE_COMPILATION
  A lowered name was requested before the compilation.
  This is a defect of Gridstride: report it with the source that caused it.
-1010 NVRTC_ERROR_NAME_EXPRESSION_NOT_VALID
  A name expression names no kernel or variable of the program.
  Name kernels as C++ does, with their namespaces and template arguments.
-1011 NVRTC_ERROR_INTERNAL_ERROR
  Something went wrong inside the compiler.
  Use another version of NVRTC, or change the part of the source that it stumbles over.
-1012 NVRTC_ERROR_TIME_FILE_WRITE_FAILED
  The compiler cannot write the file of its timings.
  Leave out the option that has the compiler write files.
-1013 NVRTC_ERROR_NO_PCH_CREATE_ATTEMPTED
  No precompiled header was to be made.
  Leave out the option that has the compiler write files.
-1014 NVRTC_ERROR_PCH_CREATE_HEAP_EXHAUSTED
  The compiler has no room left for precompiled headers.
  Leave out the option that has the compiler write files.
-1015 NVRTC_ERROR_PCH_CREATE
  The compiler cannot make a precompiled header.
  Leave out the option that has the compiler write files.
-1016 NVRTC_ERROR_CANCELLED
  The compilation was cancelled.
  Compile again.
-1017 NVRTC_ERROR_TIME_TRACE_FILE_WRITE_FAILED
  The compiler cannot write the file of its trace.
  Leave out the option that has the compiler write files.
`;

/** The statuses of cuBLAS 13.1 (`cublas_api.h`); a status is -2000 minus the result. */
const CUBLAS_RECORDS = `
-2001 CUBLAS_STATUS_NOT_INITIALIZED
  The library cuBLAS cannot start on the device.
  Check that its version fits the NVIDIA driver; doctor shows that of the driver.
-2003 CUBLAS_STATUS_ALLOC_FAILED
  The library cuBLAS has no memory left.
  Free memory of the device and of this machine.
-2007 CUBLAS_STATUS_INVALID_VALUE
  The library cuBLAS refuses an argument.
  Choose another variant by options.variant, and report the shapes and element types.
-2008 CUBLAS_STATUS_ARCH_MISMATCH
  The library cuBLAS lacks code for the device.
  Install a version of cuBLAS that supports the device, or choose another variant.
-2011 CUBLAS_STATUS_MAPPING_ERROR
  The library cuBLAS cannot reach memory of the device.
  Free memory of the device, then try again.
-2013 CUBLAS_STATUS_EXECUTION_FAILED
  A kernel of cuBLAS cannot run.
  Check that its version fits the NVIDIA driver, or choose another variant.
-2014 CUBLAS_STATUS_INTERNAL_ERROR
  Something went wrong inside cuBLAS.
  Use another version of cuBLAS, or choose another variant.
-2015 CUBLAS_STATUS_NOT_SUPPORTED
  The library cuBLAS does not support this combination of shapes, element types and device.
  Choose another variant by options.variant.
-2016 CUBLAS_STATUS_LICENSE_ERROR
  The library cuBLAS finds no licence.
  Install cuBLAS again.
`;

const RETIRED = "No current CUDA returns this: update the NVIDIA driver, and rebuild the library.";
const FAULT = "To find the fault run the program on the host device or under compute-sanitizer.";
const HOST_FAULT = "The kernel, block and thread are above.";
const STICKY = "The device is lost to this process: end it and start again.";

function parse(records: string): [number, CudaErrorCode][] {
  const pattern = /^(-?\d+) (\w+)(?: \((sticky)( fault)?\))?\n {2}(.+)\n((?: {2}.+\n)*)/gm;
  return [...records.matchAll(pattern)].map(([, number, name, sticky, fault, meaning, lines]) => {
    const text = lines!.trim().replaceAll("\n ", "").replace(/\bdoctor(?= shows)/, doctorCommand());
    const sentences = [text || RETIRED];
    if (fault !== undefined) sentences.push(FAULT);
    if (sticky !== undefined) sentences.push(STICKY);
    const [code, advice] = [Number(number), sentences.join(" ")];
    return [code, { code, name: name!, meaning: meaning!, advice, sticky: sticky !== undefined }];
  });
}

export const CUDA_ERROR_CODES: ReadonlyMap<number, CudaErrorCode> = new Map(
  [CUDA_RECORDS, GRIDSTRIDE_RECORDS, NVRTC_RECORDS, CUBLAS_RECORDS].flatMap(parse).sort((
    [a],
    [b],
  ) => a - b),
);

/** The advice for a status on a device, such as `"host:0"`. */
export function adviceFor(code: number, device: string | undefined): string {
  const { advice } = cudaErrorCode(code);
  return device?.startsWith("host:") ? advice.replace(FAULT, HOST_FAULT) : advice;
}

/**
 * Returns the description of a status. An unknown one of a newer CUDA has a general description.
 *
 * @param code The status of a native call.
 */
export function cudaErrorCode(code: number): CudaErrorCode {
  return CUDA_ERROR_CODES.get(code) ?? {
    code,
    name: code > 0 ? "unknown CUDA error" : "unknown Gridstride error",
    meaning: "The code is newer than this version of Gridstride.",
    advice: "Look the number up under cudaError in the documentation of the CUDA runtime.",
    sticky: false,
  };
}
