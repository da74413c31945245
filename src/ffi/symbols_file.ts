/**
 * Symbol table: files that are read into pinned memory.
 *
 * @module
 */

/** Symbols of the file family; parameters as in `csrc/gridstride.h`. */
export const SYMBOLS_FILE = {
  gs_file_open: {
    parameters: ["buffer", /* const char* path */ "buffer" /* double* result */],
    result: "i32",
  },
  gs_file_read: {
    parameters: [
      "i32", /* int32_t file */
      "f64", /* double offset */
      "i32", /* int32_t pinned */
      "f64", /* double pinned_offset */
      "f64", /* double bytes */
    ],
    result: "i32",
  },
  gs_file_read_async: {
    name: "gs_file_read",
    parameters: [
      "i32", /* int32_t file */
      "f64", /* double offset */
      "i32", /* int32_t pinned */
      "f64", /* double pinned_offset */
      "f64", /* double bytes */
    ],
    result: "i32",
    nonblocking: true,
  },
  gs_file_close: { parameters: ["i32" /* int32_t file */], result: "i32" },
} as const satisfies Deno.ForeignLibraryInterface;
