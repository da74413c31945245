/**
 * The functions of the C ABI with their parameters, as `csrc/gridstride.h` and
 * `csrc/gridstride_kernel.h` declare them.
 *
 * The types of the calls, the FFI definitions and the range checks all follow from this table;
 * `tests/ffi/header_parity_test.ts` compares it with the headers.
 *
 * @module
 */

/** The parameters of each function; `_async` marks a binding that runs on another thread. */
export const DECLARATIONS = {
  // Handshake, statuses and the calls of the CUDA runtime.
  gs_abi_version: "",
  gs_abi_describe: "char* text, int32_t capacity",
  gs_block_register: "void* block, double bytes",
  gs_block_release: "",
  gs_isolate_join: "",
  gs_status_name: "int32_t status, char* text, int32_t capacity",
  gs_status_text: "int32_t status, char* text, int32_t capacity",
  gs_error_last: "double* result",
  gs_call_kinds: "double* result",
  gs_call_name: "int32_t call, char* text, int32_t capacity",
  gs_call_tally: "int32_t call, double* result",
  gs_call_fail: "int32_t call, double nth, int32_t status",
  gs_call_restore: "",
  gs_resource_tally: "double* result",
  gs_output_divert: "int32_t diverted",

  // Devices.
  gs_topology_set: "const double* devices, int32_t count",
  gs_device_count: "double* result",
  gs_device_versions: "double* result",
  gs_device_attribute: "int32_t device, int32_t attribute, double* result",
  gs_device_name: "int32_t device, char* text, int32_t capacity",
  gs_device_bus: "int32_t device, char* text, int32_t capacity",
  gs_device_uuid: "int32_t device, char* text, int32_t capacity",
  gs_device_capacity: "int32_t device, double* result",
  gs_device_observe: "int32_t device, double* result",
  gs_device_telemetry: "int32_t device, double* fields",
  gs_device_open: "int32_t device",
  gs_device_memory: "int32_t device, double* result",
  gs_device_synchronize: "int32_t device",
  gs_device_synchronize_async: "int32_t device",
  gs_device_peer: "int32_t device, int32_t peer, double* result",
  gs_device_join: "int32_t device, int32_t peer",
  gs_device_limit: "int32_t device, double milliseconds",
  gs_device_fault: "int32_t device, char* text, int32_t capacity",

  // Memory and copies.
  gs_memory_allocate: "",
  gs_memory_free: "",
  gs_memory_set: "",
  gs_pinned_register: "int32_t device, void* slab, double bytes, double* result",
  gs_pinned_release: "int32_t pinned",
  gs_pinned_release_async: "int32_t pinned",
  gs_pinned_read: "int32_t pinned, double offset, void* destination, double bytes, int32_t threads",
  gs_copy_device: "",
  gs_copy_device_2d: "",
  gs_copy_peer: "",
  gs_copy_from_pinned: "",
  gs_copy_to_pinned: "",
  gs_copy_from_pinned_2d: "",
  gs_copy_to_pinned_2d: "",
  gs_copy_to_device:
    "int32_t device, int32_t stream, double destination, const void* source, double bytes",
  gs_copy_to_host: "int32_t device, int32_t stream, void* destination, double source, double bytes",
  gs_copy_to_device_2d:
    "int32_t device, int32_t stream, double destination, double destination_pitch, const void* source, double source_pitch, double width, double height",
  gs_copy_to_host_2d:
    "int32_t device, int32_t stream, void* destination, double destination_pitch, double source, double source_pitch, double width, double height",

  // Virtual memory, and memory that a pool divides.
  gs_virtual_granularity: "int32_t device, double* result",
  gs_virtual_reserve: "int32_t device, double bytes, double* result",
  gs_virtual_release: "int32_t device, double address",
  gs_virtual_map: "",
  gs_virtual_unmap: "",
  gs_virtual_share: "int32_t device, int32_t peer, double address, double bytes",
  gs_memory_declare: "",
  gs_memory_press: "int32_t device, int32_t raise, double* result",

  // Streams, events and graphs.
  gs_stream_create: "int32_t device, int32_t priority, double* result",
  gs_stream_destroy: "int32_t stream",
  gs_stream_priorities: "int32_t device, double* result",
  gs_stream_adopt: "int32_t device, double address, double* result",
  gs_stream_address: "int32_t stream, double* result",
  gs_stream_query: "",
  gs_stream_wait: "",
  gs_stream_synchronize: "int32_t stream",
  gs_event_create: "int32_t device, int32_t timing, double* result",
  gs_event_destroy: "int32_t event",
  gs_event_record: "",
  gs_event_record_device: "int32_t device, int32_t event",
  gs_event_query: "",
  gs_event_synchronize: "int32_t event",
  gs_event_elapsed: "int32_t start, int32_t end, double* result",
  gs_waiter_create: "double* result",
  gs_waiter_add: "int32_t waiter, int32_t event, double ticket",
  gs_waiter_next: "int32_t waiter",
  gs_waiter_next_async: "int32_t waiter",
  gs_waiter_take: "int32_t waiter, double* ended, int32_t capacity, double* result",
  gs_waiter_destroy: "int32_t waiter",
  gs_stream_capture: "int32_t stream, int32_t mode",
  gs_stream_capture_end: "int32_t stream, double* result",
  gs_stream_capture_query: "int32_t stream, double* result",
  gs_graph_launch: "",
  gs_graph_nodes: "int32_t graph, double* result",
  gs_graph_destroy: "int32_t graph",

  // Kernels, modules, NVRTC and cuBLASLt.
  gs_kernel_count: "double* result",
  gs_kernel_describe: "int32_t kernel, char* text, int32_t capacity",
  gs_kernel_find: "const char* name, double* result",
  gs_kernel_load: "int32_t device, int32_t kernel",
  gs_kernel_loaded: "int32_t device, int32_t kernel, double* result",
  gs_kernel_attributes: "int32_t device, int32_t kernel, double* result",
  gs_kernel_reserve: "int32_t device, int32_t kernel, double bytes",
  gs_kernel_residency:
    "int32_t device, int32_t kernel, int32_t threads, double shared_bytes, double* result",
  gs_kernel_launch: "",
  gs_module_create: "int32_t device, const void* image, double bytes, double* result",
  gs_module_load: "int32_t module",
  gs_module_load_async: "int32_t module",
  gs_module_log: "int32_t module, char* text, int32_t capacity",
  gs_module_destroy: "int32_t module",
  gs_module_kernel_name: "int32_t module, int32_t index, char* text, int32_t capacity",
  gs_module_parameter: "int32_t module, const char* name, int32_t index, double* result",
  gs_module_kernel:
    "int32_t module, const char* name, const int32_t* parameters, int32_t count, double* result",
  gs_module_variable: "int32_t module, const char* name, double* result",
  gs_nvrtc_open:
    "const char* builtins, const char* library, char* text, int32_t capacity, double* result",
  gs_nvrtc_architectures: "int32_t* architectures, int32_t capacity, double* result",
  gs_nvrtc_create:
    "const char* texts, double bytes, int32_t options, int32_t headers, int32_t expressions, double* result",
  gs_nvrtc_compile: "int32_t program",
  gs_nvrtc_compile_async: "int32_t program",
  gs_nvrtc_cancel: "int32_t program",
  gs_nvrtc_output: "int32_t program, int32_t kind, void* output, double capacity, double* result",
  gs_nvrtc_lowered_name: "int32_t program, int32_t expression, char* text, int32_t capacity",
  gs_nvrtc_destroy: "int32_t program",
  gs_cublaslt_open: "const char* library, char* text, int32_t capacity, double* result",
  gs_cublaslt_prepare: "int32_t device, const double* product, double* result",
  gs_cublaslt_algorithms: "int32_t product, void* algorithms, int32_t capacity, double* result",
  gs_cublaslt_matmul:
    "int32_t product, int32_t stream, const void* algorithm, const double* operands",
  gs_cublaslt_destroy: "int32_t product",

  // Files.
  gs_file_open: "const char* path, double* result",
  gs_file_read: "int32_t file, double offset, int32_t pinned, double pinned_offset, double bytes",
  gs_file_read_async:
    "int32_t file, double offset, int32_t pinned, double pinned_offset, double bytes",
  gs_file_close: "int32_t file",

  // Lifelines.
  gs_lifeline_open: "double* result",
  gs_lifeline_tie: "int32_t lifeline, int32_t group",
  gs_lifeline_end: "int32_t lifeline",
} as const;

type Declarations = typeof DECLARATIONS;

type ParameterOf<D extends string> = D extends `int32_t ${string}` | `double ${string}` ? number
  : ArrayBufferView<ArrayBufferLike> | ArrayBuffer | null;

/** The TypeScript types of the parameters of a declaration. */
export type ParametersOf<D extends string> = D extends "" ? []
  : D extends `${infer First}, ${infer Rest}` ? [ParameterOf<First>, ...ParametersOf<Rest>]
  : [ParameterOf<D>];

/** The functions of an open library. They check nothing: `native_*.ts` has checked ones. */
export type NativeSymbols = {
  readonly [Name in keyof Declarations]: (
    ...parameters: ParametersOf<Declarations[Name]>
  ) => Name extends `${string}_async` ? Promise<number> : number;
};

function foreignFunction(key: string, declaration: string): Deno.ForeignFunction {
  const parameters = declaration === "" ? [] : declaration.split(", ").map((parameter) => {
    if (parameter.includes("*")) return "buffer";
    return parameter.startsWith("double ") ? "f64" : "i32";
  });
  if (!key.endsWith("_async")) return { parameters, result: "i32" };
  return { name: key.slice(0, -"_async".length), parameters, result: "i32", nonblocking: true };
}

/** The FFI definitions of all functions. */
export const SYMBOLS: Readonly<Record<string, Deno.ForeignFunction>> = Object.fromEntries(
  Object.entries(DECLARATIONS).map(([key, text]) => [key, foreignFunction(key, text)]),
);
