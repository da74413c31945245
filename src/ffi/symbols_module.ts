/**
 * Symbol table: modules.
 *
 * @module
 */

/** Symbols of the module family; parameters as in `csrc/gridstride_kernel.h`. */
export const SYMBOLS_MODULE = {
  gs_module_create: {
    parameters: [
      "i32", /* int32_t device */
      "buffer", /* const void* image */
      "f64", /* double bytes */
      "buffer", /* double* result */
    ],
    result: "i32",
  },
  gs_module_load: { parameters: ["i32" /* int32_t module */], result: "i32" },
  gs_module_load_async: {
    name: "gs_module_load",
    parameters: ["i32" /* int32_t module */],
    result: "i32",
    nonblocking: true,
  },
  gs_module_log: {
    parameters: [
      "i32", /* int32_t module */
      "buffer", /* char* text */
      "i32", /* int32_t capacity */
    ],
    result: "i32",
  },
  gs_module_destroy: { parameters: ["i32" /* int32_t module */], result: "i32" },
  gs_module_kernel_name: {
    parameters: [
      "i32", /* int32_t module */
      "i32", /* int32_t index */
      "buffer", /* char* text */
      "i32", /* int32_t capacity */
    ],
    result: "i32",
  },
  gs_module_parameter: {
    parameters: [
      "i32", /* int32_t module */
      "buffer", /* const char* name */
      "i32", /* int32_t index */
      "buffer", /* double* result */
    ],
    result: "i32",
  },
  gs_module_kernel: {
    parameters: [
      "i32", /* int32_t module */
      "buffer", /* const char* name */
      "buffer", /* const int32_t* parameters */
      "i32", /* int32_t count */
      "buffer", /* double* result */
    ],
    result: "i32",
  },
  gs_module_variable: {
    parameters: [
      "i32", /* int32_t module */
      "buffer", /* const char* name */
      "buffer", /* double* result */
    ],
    result: "i32",
  },
} as const satisfies Deno.ForeignLibraryInterface;
