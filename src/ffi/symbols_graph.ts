/**
 * Symbol table: stream capture and graphs.
 *
 * @module
 */

/** Symbols of stream capture and of the graph family; parameters as in `csrc/gridstride.h`. */
export const SYMBOLS_GRAPH = {
  gs_stream_capture: {
    parameters: ["i32", /* int32_t stream */ "i32" /* int32_t mode */],
    result: "i32",
  },
  gs_stream_capture_end: {
    parameters: ["i32", /* int32_t stream */ "buffer" /* double* result */],
    result: "i32",
  },
  gs_stream_capture_query: {
    parameters: ["i32", /* int32_t stream */ "buffer" /* double* result */],
    result: "i32",
  },
  gs_graph_launch: { parameters: [], result: "i32" },
  gs_graph_nodes: {
    parameters: ["i32", /* int32_t graph */ "buffer" /* double* result */],
    result: "i32",
  },
  gs_graph_destroy: { parameters: ["i32" /* int32_t graph */], result: "i32" },
} as const satisfies Deno.ForeignLibraryInterface;
