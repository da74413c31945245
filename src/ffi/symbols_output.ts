/**
 * Symbol table: where the process prints.
 *
 * @module
 */

/** Symbols of the output family; parameters as in `csrc/gridstride.h`. */
export const SYMBOLS_OUTPUT = {
  gs_output_divert: { parameters: ["i32" /* int32_t diverted */], result: "i32" },
} as const satisfies Deno.ForeignLibraryInterface;
