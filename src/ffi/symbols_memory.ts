/**
 * Symbol table: device memory, pinned memory and copies.
 *
 * @module
 */

/** Symbols of the memory and copy families; parameters as in `csrc/gridstride.h`. */
export const SYMBOLS_MEMORY = {
  gs_memory_allocate: { parameters: [], result: "i32" },
  gs_memory_free: { parameters: [], result: "i32" },
  gs_memory_set: { parameters: [], result: "i32" },
  gs_pinned_register: {
    parameters: [
      "i32", /* int32_t device */
      "buffer", /* void* slab */
      "f64", /* double bytes */
      "buffer", /* double* result */
    ],
    result: "i32",
  },
  gs_pinned_release: { parameters: ["i32" /* int32_t pinned */], result: "i32" },
  gs_pinned_release_async: {
    name: "gs_pinned_release",
    parameters: ["i32" /* int32_t pinned */],
    result: "i32",
    nonblocking: true,
  },
  gs_copy_device: { parameters: [], result: "i32" },
  gs_copy_device_2d: { parameters: [], result: "i32" },
  gs_copy_peer: { parameters: [], result: "i32" },
  gs_copy_from_pinned: { parameters: [], result: "i32" },
  gs_copy_to_pinned: { parameters: [], result: "i32" },
  gs_copy_from_pinned_2d: { parameters: [], result: "i32" },
  gs_copy_to_pinned_2d: { parameters: [], result: "i32" },
  gs_copy_to_device: {
    parameters: [
      "i32", /* int32_t device */
      "i32", /* int32_t stream */
      "f64", /* double destination */
      "buffer", /* const void* source */
      "f64", /* double bytes */
    ],
    result: "i32",
  },
  gs_copy_to_host: {
    parameters: [
      "i32", /* int32_t device */
      "i32", /* int32_t stream */
      "buffer", /* void* destination */
      "f64", /* double source */
      "f64", /* double bytes */
    ],
    result: "i32",
  },
  gs_copy_to_device_2d: {
    parameters: [
      "i32", /* int32_t device */
      "i32", /* int32_t stream */
      "f64", /* double destination */
      "f64", /* double destination_pitch */
      "buffer", /* const void* source */
      "f64", /* double source_pitch */
      "f64", /* double width */
      "f64", /* double height */
    ],
    result: "i32",
  },
  gs_copy_to_host_2d: {
    parameters: [
      "i32", /* int32_t device */
      "i32", /* int32_t stream */
      "buffer", /* void* destination */
      "f64", /* double destination_pitch */
      "f64", /* double source */
      "f64", /* double source_pitch */
      "f64", /* double width */
      "f64", /* double height */
    ],
    result: "i32",
  },
} as const satisfies Deno.ForeignLibraryInterface;
