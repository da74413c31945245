/**
 * Symbol table: virtual memory, and memory that a pool divides.
 *
 * @module
 */

/** Symbols of the virtual memory family; parameters as in `csrc/gridstride.h`. */
export const SYMBOLS_VIRTUAL = {
  gs_virtual_granularity: {
    parameters: ["i32", /* int32_t device */ "buffer" /* double* result */],
    result: "i32",
  },
  gs_virtual_reserve: {
    parameters: [
      "i32", /* int32_t device */
      "f64", /* double bytes */
      "buffer", /* double* result */
    ],
    result: "i32",
  },
  gs_virtual_release: {
    parameters: ["i32", /* int32_t device */ "f64" /* double address */],
    result: "i32",
  },
  gs_virtual_map: { parameters: [], result: "i32" },
  gs_virtual_unmap: { parameters: [], result: "i32" },
  gs_virtual_share: {
    parameters: [
      "i32", /* int32_t device */
      "i32", /* int32_t peer */
      "f64", /* double address */
      "f64", /* double bytes */
    ],
    result: "i32",
  },

  gs_memory_declare: { parameters: [], result: "i32" },
  gs_memory_press: {
    parameters: [
      "i32", /* int32_t device */
      "i32", /* int32_t raise */
      "buffer", /* double* result */
    ],
    result: "i32",
  },
} as const satisfies Deno.ForeignLibraryInterface;
