/**
 * Symbol table: NVRTC.
 *
 * @module
 */

/** Symbols of NVRTC; parameters as in `csrc/gridstride_kernel.h`. */
export const SYMBOLS_NVRTC = {
  gs_nvrtc_open: {
    parameters: [
      "buffer", /* const char* builtins */
      "buffer", /* const char* library */
      "buffer", /* char* text */
      "i32", /* int32_t capacity */
      "buffer", /* double* result */
    ],
    result: "i32",
  },
  gs_nvrtc_architectures: {
    parameters: [
      "buffer", /* int32_t* architectures */
      "i32", /* int32_t capacity */
      "buffer", /* double* result */
    ],
    result: "i32",
  },
  gs_nvrtc_create: {
    parameters: [
      "buffer", /* const char* texts */
      "f64", /* double bytes */
      "i32", /* int32_t options */
      "i32", /* int32_t headers */
      "i32", /* int32_t expressions */
      "buffer", /* double* result */
    ],
    result: "i32",
  },
  gs_nvrtc_compile: { parameters: ["i32" /* int32_t program */], result: "i32" },
  gs_nvrtc_compile_async: {
    name: "gs_nvrtc_compile",
    parameters: ["i32" /* int32_t program */],
    result: "i32",
    nonblocking: true,
  },
  gs_nvrtc_output: {
    parameters: [
      "i32", /* int32_t program */
      "i32", /* int32_t kind */
      "buffer", /* void* output */
      "f64", /* double capacity */
      "buffer", /* double* result */
    ],
    result: "i32",
  },
  gs_nvrtc_lowered_name: {
    parameters: [
      "i32", /* int32_t program */
      "i32", /* int32_t expression */
      "buffer", /* char* text */
      "i32", /* int32_t capacity */
    ],
    result: "i32",
  },
  gs_nvrtc_destroy: { parameters: ["i32" /* int32_t program */], result: "i32" },
} as const satisfies Deno.ForeignLibraryInterface;
