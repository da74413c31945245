/**
 * Symbol table: streams, events and kernels.
 *
 * @module
 */

/**
 * Symbols of the stream, event and kernel families; parameters as in `csrc/gridstride.h` and
 * `csrc/gridstride_kernel.h`.
 */
export const SYMBOLS_EXECUTION = {
  gs_stream_create: {
    parameters: [
      "i32", /* int32_t device */
      "i32", /* int32_t priority */
      "buffer", /* double* result */
    ],
    result: "i32",
  },
  gs_stream_destroy: { parameters: ["i32" /* int32_t stream */], result: "i32" },
  gs_stream_priorities: {
    parameters: ["i32", /* int32_t device */ "buffer" /* double* result */],
    result: "i32",
  },
  gs_stream_adopt: {
    parameters: [
      "i32", /* int32_t device */
      "f64", /* double address */
      "buffer", /* double* result */
    ],
    result: "i32",
  },
  gs_stream_address: {
    parameters: ["i32", /* int32_t stream */ "buffer" /* double* result */],
    result: "i32",
  },
  gs_stream_query: { parameters: [], result: "i32" },
  gs_stream_wait: { parameters: [], result: "i32" },
  gs_stream_synchronize: { parameters: ["i32" /* int32_t stream */], result: "i32" },

  gs_event_create: {
    parameters: [
      "i32", /* int32_t device */
      "i32", /* int32_t timing */
      "buffer", /* double* result */
    ],
    result: "i32",
  },
  gs_event_destroy: { parameters: ["i32" /* int32_t event */], result: "i32" },
  gs_event_record: { parameters: [], result: "i32" },
  gs_event_query: { parameters: [], result: "i32" },
  gs_event_synchronize: { parameters: ["i32" /* int32_t event */], result: "i32" },
  gs_event_synchronize_async: {
    name: "gs_event_synchronize",
    parameters: ["i32" /* int32_t event */],
    result: "i32",
    nonblocking: true,
  },
  gs_event_elapsed: {
    parameters: ["i32", /* int32_t start */ "i32", /* int32_t end */ "buffer" /* double* result */],
    result: "i32",
  },

  gs_kernel_count: { parameters: ["buffer" /* double* result */], result: "i32" },
  gs_kernel_describe: {
    parameters: [
      "i32", /* int32_t kernel */
      "buffer", /* char* text */
      "i32", /* int32_t capacity */
    ],
    result: "i32",
  },
  gs_kernel_find: {
    parameters: ["buffer", /* const char* name */ "buffer" /* double* result */],
    result: "i32",
  },
  gs_kernel_attributes: {
    parameters: [
      "i32", /* int32_t device */
      "i32", /* int32_t kernel */
      "buffer", /* double* result */
    ],
    result: "i32",
  },
  gs_kernel_reserve: {
    parameters: ["i32", /* int32_t device */ "i32", /* int32_t kernel */ "f64" /* double bytes */],
    result: "i32",
  },
  gs_kernel_residency: {
    parameters: [
      "i32", /* int32_t device */
      "i32", /* int32_t kernel */
      "i32", /* int32_t threads */
      "f64", /* double shared_bytes */
      "buffer", /* double* result */
    ],
    result: "i32",
  },
  gs_kernel_launch: { parameters: [], result: "i32" },
} as const satisfies Deno.ForeignLibraryInterface;
