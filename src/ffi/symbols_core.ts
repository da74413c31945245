/**
 * Symbol table: handshake, statuses, fault injection and devices.
 *
 * Each parameter carries its C declaration; `tests/ffi/header_parity_test.ts` compares the tables
 * with `csrc/gridstride.h`.
 *
 * @module
 */

/** Symbols that say what the library is; nothing else is called before `gs_abi_version`. */
export const SYMBOLS_CORE = {
  gs_abi_version: { parameters: [], result: "i32" },
  gs_abi_describe: {
    parameters: ["buffer", /* char* text */ "i32" /* int32_t capacity */],
    result: "i32",
  },
  gs_block_register: {
    parameters: ["buffer", /* void* block */ "f64" /* double bytes */],
    result: "i32",
  },
  gs_block_release: { parameters: [], result: "i32" },
  gs_status_name: {
    parameters: [
      "i32", /* int32_t status */
      "buffer", /* char* text */
      "i32", /* int32_t capacity */
    ],
    result: "i32",
  },
  gs_status_text: {
    parameters: [
      "i32", /* int32_t status */
      "buffer", /* char* text */
      "i32", /* int32_t capacity */
    ],
    result: "i32",
  },
  gs_error_last: { parameters: ["buffer" /* double* result */], result: "i32" },
  gs_call_kinds: { parameters: ["buffer" /* double* result */], result: "i32" },
  gs_call_name: {
    parameters: ["i32", /* int32_t call */ "buffer", /* char* text */ "i32" /* int32_t capacity */],
    result: "i32",
  },
  gs_call_tally: {
    parameters: ["i32", /* int32_t call */ "buffer" /* double* result */],
    result: "i32",
  },
  gs_call_fail: {
    parameters: ["i32", /* int32_t call */ "f64", /* double nth */ "i32" /* int32_t status */],
    result: "i32",
  },
  gs_call_restore: { parameters: [], result: "i32" },
  gs_resource_tally: { parameters: ["buffer" /* double* result */], result: "i32" },

  gs_topology_set: {
    parameters: ["buffer", /* const double* devices */ "i32" /* int32_t count */],
    result: "i32",
  },
  gs_device_count: { parameters: ["buffer" /* double* result */], result: "i32" },
  gs_device_versions: { parameters: ["buffer" /* double* result */], result: "i32" },
  gs_device_attribute: {
    parameters: [
      "i32", /* int32_t device */
      "i32", /* int32_t attribute */
      "buffer", /* double* result */
    ],
    result: "i32",
  },
  gs_device_name: {
    parameters: [
      "i32", /* int32_t device */
      "buffer", /* char* text */
      "i32", /* int32_t capacity */
    ],
    result: "i32",
  },
  gs_device_bus: {
    parameters: [
      "i32", /* int32_t device */
      "buffer", /* char* text */
      "i32", /* int32_t capacity */
    ],
    result: "i32",
  },
  gs_device_uuid: {
    parameters: [
      "i32", /* int32_t device */
      "buffer", /* char* text */
      "i32", /* int32_t capacity */
    ],
    result: "i32",
  },
  gs_device_capacity: {
    parameters: ["i32", /* int32_t device */ "buffer" /* double* result */],
    result: "i32",
  },
  gs_device_observe: {
    parameters: ["i32", /* int32_t device */ "buffer" /* double* result */],
    result: "i32",
  },
  gs_device_open: { parameters: ["i32" /* int32_t device */], result: "i32" },
  gs_device_memory: {
    parameters: ["i32", /* int32_t device */ "buffer" /* double* result */],
    result: "i32",
  },
  gs_device_synchronize: { parameters: ["i32" /* int32_t device */], result: "i32" },
  gs_device_synchronize_async: {
    name: "gs_device_synchronize",
    parameters: ["i32" /* int32_t device */],
    result: "i32",
    nonblocking: true,
  },
  gs_device_peer: {
    parameters: [
      "i32", /* int32_t device */
      "i32", /* int32_t peer */
      "buffer", /* double* result */
    ],
    result: "i32",
  },
  gs_device_join: {
    parameters: ["i32", /* int32_t device */ "i32" /* int32_t peer */],
    result: "i32",
  },
  gs_device_fault: {
    parameters: [
      "i32", /* int32_t device */
      "buffer", /* char* text */
      "i32", /* int32_t capacity */
    ],
    result: "i32",
  },
} as const satisfies Deno.ForeignLibraryInterface;
