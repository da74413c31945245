/*
 * gridstride.h — the C ABI between TypeScript and the native libraries. Its statuses are in
 * gridstride_status.h, its functions for kernels in gridstride_kernel.h.
 *
 * Two libraries export exactly these functions: libgridstride_cuda.so (nvcc, over the CUDA
 * runtime) and libgridstride_host.so (a C++17 compiler, over csrc/host/). The host library also
 * exports gs_host_*, which only kernels compiled for it call.
 *
 * Rules of the seam
 *   - Every function but gs_abi_version returns a status: 0 on success, a positive CUDA runtime
 *     code, or a negative code of gridstride_status.h. A function that fails has no effect, with
 *     one exception: a resource that cannot be released because its device is lost is forgotten,
 *     because the device took it along.
 *   - Addresses and sizes are doubles holding non-negative integers below 2^53; anything else is
 *     GS_ERROR_ARGUMENT. Handles are positive int32 values, checked for their generation.
 *   - Hot calls take their operands from the calling thread's command block (see below); all
 *     others take them by value. Pointers are JavaScript memory that lives until the call returns.
 *   - A function marked [waits] may block. Those without a pointer TypeScript binds as nonblocking
 *     as well; with one, JavaScript memory might go with its isolate before such a call ends.
 *   - Every call that concerns a device makes it current; nothing is assumed of the calling thread.
 *   - Device memory may be allocated and freed while a stream is captured.
 *   - No C++ exception, exit, abort or print crosses the seam.
 *
 * tests/ffi/header_parity_test.ts reads these files: one declaration per function, one line or
 * wrapped, parameters named, types limited to int32_t, double, and pointers.
 */
#ifndef GRIDSTRIDE_H
#define GRIDSTRIDE_H

#include <stdint.h>

#include "gridstride_status.h"

#define GS_ABI_VERSION 10

#if defined(__GNUC__) || defined(__clang__)
#define GS_API __attribute__((visibility("default")))
#else
#define GS_API
#endif

#ifdef __cplusplus
extern "C" {
#endif

/* ---- command block ------------------------------------------------------------------------ */

#define GS_MAX_COPY_THREADS 16
#define GS_RESULT_SLOTS 8
#define GS_OPERAND_SLOTS 14
/* 32764 bytes of parameters, as CUDA allows, and 64 of them that fill their slots in part. */
#define GS_ARGUMENT_SLOTS 4160

/*
 * One per isolate, owned by JavaScript (a SharedArrayBuffer, which can be neither detached nor
 * transferred), written through a Float64Array. The number of slots and their order are the ABI.
 */
typedef struct gs_command_block {
  double result[GS_RESULT_SLOTS];     /* slots 0-6: what the last hot call returned; slot 7: the
                                         count of gs_memory_press calls when it was made */
  double device;                      /* slot 8: device ordinal */
  double stream;                      /* slot 9: stream handle */
  double operand[GS_OPERAND_SLOTS];   /* slots 10-23: operands, listed at each hot call */
  double argument[GS_ARGUMENT_SLOTS]; /* slots 24-4183: kernel arguments */
} gs_command_block;

/* ---- abi ---------------------------------------------------------------------------------- */

/* The version of this header the library was built from. Called before anything else. */
GS_API int32_t gs_abi_version(void);

/* NUL-terminated JSON: an object of kind ("cuda"|"host"), compiler, architectures, sourceHash and
 * flags. */
GS_API int32_t gs_abi_describe(char* text, int32_t capacity);

/* Registers the calling thread's command block, 8-byte aligned, sizeof(gs_command_block) bytes at
 * least; replaces an earlier one of the thread, which may be that of an isolate that is gone. */
GS_API int32_t gs_block_register(void* block, double bytes);

/* Forgets the calling thread's command block. */
GS_API int32_t gs_block_release(void);

/* Makes the calling thread an isolate that may end before the process. What it makes from now on
 * and does not release is released after the thread has ended and its work is done. */
GS_API int32_t gs_isolate_join(void);

/* The constant's name, such as "cudaErrorMemoryAllocation" or "GS_ERROR_HANDLE". */
GS_API int32_t gs_status_name(int32_t status, char* text, int32_t capacity);

/* One sentence on what the status means. */
GS_API int32_t gs_status_text(int32_t status, char* text, int32_t capacity);

/* The last failure on the calling thread: result[0] status, [1] call id (see gs_call_name) or 0
 * when no CUDA call was involved, [2] device ordinal or -1. */
GS_API int32_t gs_error_last(double* result);

/* ---- calls: names, counts and fault injection --------------------------------------------- */

/* The number of CUDA calls that the library wraps; their ids are 1 to that number. */
GS_API int32_t gs_call_kinds(double* result);

/* The name of a wrapped call, such as "cudaMemcpyAsync". */
GS_API int32_t gs_call_name(int32_t call, char* text, int32_t capacity);

/* How often a wrapped call was made in this process, or failed by gs_call_fail(); id 0: all. */
GS_API int32_t gs_call_tally(int32_t call, double* result);

/* Makes the nth coming call (1 = the next) of this kind, with id 0 of any kind, return status
 * without being made. One injection per kind is held; a later one replaces it. */
GS_API int32_t gs_call_fail(int32_t call, double nth, int32_t status);

/* Forgets all injections. */
GS_API int32_t gs_call_restore(void);

/* Live resources of the process: result[0] allocations, [1] allocated bytes, [2] streams,
 * [3] events, [4] pinned slabs, [5] pinned bytes, [6] address reservations, [7] mapped bytes,
 * [8] graphs, [9] files, [10] modules, [11] programs of NVRTC. */
#define GS_TALLY_SLOTS 12
GS_API int32_t gs_resource_tally(double* result);

/* ---- device ------------------------------------------------------------------------------- */

/* Host library only: sets the fake devices, once; setting the same again succeeds. devices holds
 * count records of GS_TOPOLOGY_RECORD_SLOTS doubles: [0] total memory in bytes, [1 + a] the value
 * of cudaDeviceAttr a or NaN. Without this call there is one device, of capability 8.9. */
#define GS_TOPOLOGY_RECORD_SLOTS 161
GS_API int32_t gs_topology_set(const double* devices, int32_t count);

/* result[0]: number of devices. */
GS_API int32_t gs_device_count(double* result);

/* result[0]: driver version, [1]: runtime version, as CUDA encodes them (13000 = 13.0). */
GS_API int32_t gs_device_versions(double* result);

/* result[0]: the value of a cudaDeviceAttr. Creates no context. */
GS_API int32_t gs_device_attribute(int32_t device, int32_t attribute, double* result);

/* The marketing name. Creates no context. */
GS_API int32_t gs_device_name(int32_t device, char* text, int32_t capacity);

/* The PCI bus id, such as "0000:01:00.0". Creates no context. */
GS_API int32_t gs_device_bus(int32_t device, char* text, int32_t capacity);

/* The uuid as "GPU-xxxxxxxx-xxxx-xxxx-xxxx-xxxxxxxxxxxx". Creates no context. */
GS_API int32_t gs_device_uuid(int32_t device, char* text, int32_t capacity);

/* result[0]: total memory in bytes. Creates no context. */
GS_API int32_t gs_device_capacity(int32_t device, double* result);

/* Memory as reported by NVML, the management library: result[0] free, [1] total bytes. Creates no
 * context. GS_ERROR_UNSUPPORTED without NVML, GS_ERROR_SYSTEM for other failures of NVML. */
GS_API int32_t gs_device_observe(int32_t device, double* result);

/* What NVML reports of a device, without a context: GS_TELEMETRY_FIELDS values, then NVML's code
 * (nvmlReturn_t) for each: 0 for a value, 12 without NVML. In this order: percent of the time in
 * which kernels ran, and in which memory was accessed; used and total bytes; degrees Celsius;
 * milliwatts and their limit; MHz of the multiprocessors and of the memory; bits of
 * nvmlClocksEventReasons. */
#define GS_TELEMETRY_FIELDS 10
GS_API int32_t gs_device_telemetry(int32_t device, double* fields);

/* Creates the device's context. */
GS_API int32_t gs_device_open(int32_t device);

/* result[0] free, [1] total bytes of an opened device. */
GS_API int32_t gs_device_memory(int32_t device, double* result);

/* [waits] Waits for all work of the device. */
GS_API int32_t gs_device_synchronize(int32_t device);

/* result[0]: 1 when device can address the memory of peer, else 0. */
GS_API int32_t gs_device_peer(int32_t device, int32_t peer, double* result);

/* Lets device address the memory of peer. Enabling twice succeeds. */
GS_API int32_t gs_device_join(int32_t device, int32_t peer);

/* The fault that lost the device. The host device names kernel, block, thread and address. For a
 * GPU the text is empty. */
GS_API int32_t gs_device_fault(int32_t device, char* text, int32_t capacity);

/* Host library only: the time in milliseconds, below 2^31, that a launch enqueued later may take
 * from its first block on; 0 for no limit. The default is 600000. A launch that takes longer ends
 * with cudaErrorLaunchTimeout. */
GS_API int32_t gs_device_limit(int32_t device, double milliseconds);

/* ---- memory ------------------------------------------------------------------------------- */

/* Hot. device; operand[0] bytes > 0. result[0]: address, aligned to 256 bytes at least. */
GS_API int32_t gs_memory_allocate(void);

/* Hot. device; operand[0] an address gs_memory_allocate gave. Waits, as cudaFree does. */
GS_API int32_t gs_memory_free(void);

/* Hot. device, stream; operand[0] address, [1] value (the element's bit pattern), [2] element
 * bytes (1, 2 or 4), [3] element count. Enqueues. */
GS_API int32_t gs_memory_set(void);

/* Pins the pages of a page-aligned slab of new JavaScript memory, all zeros: for all devices, in
 * the context of this one. The library keeps them when the slab's isolate has ended. result[0]:
 * handle. */
GS_API int32_t gs_pinned_register(int32_t device, void* slab, double bytes, double* result);

/* [waits] Waits for all devices, then gives a pinned slab back. */
GS_API int32_t gs_pinned_release(int32_t pinned);

/* Copies a part of a slab to JavaScript memory by 1 to GS_MAX_COPY_THREADS threads, of which the
 * calling thread is one; by fewer if the system has no more threads or the copy is small. */
GS_API int32_t gs_pinned_read(int32_t pinned, double offset, void* destination, double bytes,
                              int32_t threads);

/* ---- virtual memory ----------------------------------------------------------------------- */

/* result[0]: the granularity of mapped addresses and sizes. GS_ERROR_UNSUPPORTED without virtual
 * memory management. */
GS_API int32_t gs_virtual_granularity(int32_t device, double* result);

/* Reserves addresses, a multiple of the granularity, with no memory. result[0]: the first. */
GS_API int32_t gs_virtual_reserve(int32_t device, double bytes, double* result);

/* Releases a reservation; cudaErrorInvalidValue while memory is mapped in it. */
GS_API int32_t gs_virtual_release(int32_t device, double address);

/* Hot. device; operand[0] address, [1] bytes, [2] handle bytes, both multiples of the granularity.
 * Puts memory behind the addresses, in pieces of handle bytes, the last of which may be shorter;
 * all or none. The range lies in one reservation of the device and holds no memory yet. */
GS_API int32_t gs_virtual_map(void);

/* Hot. device; operand[0] address, [1] bytes. Unmaps the memory behind the addresses at once. Work
 * that still uses them faults, so the caller waits for it first. The range is whole pieces as they
 * were mapped, of one or several calls; otherwise cudaErrorInvalidValue. */
GS_API int32_t gs_virtual_unmap(void);

/* Lets peer access the memory mapped in [address, address + bytes), whole pieces as for
 * gs_virtual_unmap. Later mappings in the range must be shared again. */
GS_API int32_t gs_virtual_share(int32_t device, int32_t peer, double address, double bytes);

/* ---- memory that a pool divides ------------------------------------------------------------ */

/* Hot. device; operand[0] address, [1] bytes, [2] 1 from now on a live block, 0 not any more. From
 * the first declaration in an allocation or in the mappings of a reservation on, copies, sets and
 * checked kernels may touch only its live blocks. cudaErrorInvalidValue when a new block overlaps a
 * live one, or the block to end is not exactly a live one. Declarations end with their memory. */
GS_API int32_t gs_memory_declare(void);

/* Requests that all caches of the device's memory release their free blocks, by a counter: raise 1
 * increments it, raise 0 only reads it. result[0]: the device's count. Slot 7 of the block: the sum
 * over all devices. */
GS_API int32_t gs_memory_press(int32_t device, int32_t raise, double* result);

/* ---- copies ------------------------------------------------------------------------------- */

/* Hot. device, stream; operand[0] destination, [1] source address, [2] bytes. Enqueues. */
GS_API int32_t gs_copy_device(void);

/* Hot. device, stream; operand[0] destination, [1] its pitch, [2] source, [3] its pitch,
 * [4] width in bytes, [5] height in rows. Enqueues. */
GS_API int32_t gs_copy_device_2d(void);

/* Hot. stream; operand[0] destination, [1] its device, [2] source, [3] its device, [4] bytes.
 * Enqueues; staged through the host where the devices are no peers. */
GS_API int32_t gs_copy_peer(void);

/* Hot. device, stream; operand[0] destination address, [1] pinned handle, [2] byte offset in it,
 * [3] bytes. Enqueues. */
GS_API int32_t gs_copy_from_pinned(void);

/* Hot. device, stream; operand[0] pinned handle, [1] byte offset in it, [2] source address,
 * [3] bytes. Enqueues. */
GS_API int32_t gs_copy_to_pinned(void);

/* Hot. device, stream; operand[0] destination, [1] its pitch, [2] pinned handle, [3] byte offset,
 * [4] pitch in it, [5] width in bytes, [6] height in rows. Enqueues. */
GS_API int32_t gs_copy_from_pinned_2d(void);

/* Hot. device, stream; operand[0] pinned handle, [1] byte offset, [2] pitch in it, [3] source,
 * [4] its pitch, [5] width in bytes, [6] height in rows. Enqueues. */
GS_API int32_t gs_copy_to_pinned_2d(void);

/* [waits] Copies JavaScript memory to the device on stream and waits until that is done. */
GS_API int32_t gs_copy_to_device(int32_t device, int32_t stream, double destination,
                                 const void* source, double bytes);

/* [waits] Copies device memory to JavaScript memory on stream and waits until that is done. */
GS_API int32_t gs_copy_to_host(int32_t device, int32_t stream, void* destination, double source,
                               double bytes);

/* [waits] Pitched twin of gs_copy_to_device. */
GS_API int32_t gs_copy_to_device_2d(int32_t device, int32_t stream, double destination,
                                    double destination_pitch, const void* source,
                                    double source_pitch, double width, double height);

/* [waits] Pitched twin of gs_copy_to_host. */
GS_API int32_t gs_copy_to_host_2d(int32_t device, int32_t stream, void* destination,
                                  double destination_pitch, double source, double source_pitch,
                                  double width, double height);

/* ---- streams ------------------------------------------------------------------------------ */

/* A non-blocking stream. priority: see gs_stream_priorities. result[0]: handle. */
GS_API int32_t gs_stream_create(int32_t device, int32_t priority, double* result);

/* Enqueued work still completes. An adopted stream is forgotten, not destroyed. */
GS_API int32_t gs_stream_destroy(int32_t stream);

/* result[0]: least priority, [1]: greatest priority (a smaller number). */
GS_API int32_t gs_stream_priorities(int32_t device, double* result);

/* A handle for a cudaStream_t that another library made and keeps alive. result[0]: handle. */
GS_API int32_t gs_stream_adopt(int32_t device, double address, double* result);

/* result[0]: the cudaStream_t, for other libraries. */
GS_API int32_t gs_stream_address(int32_t stream, double* result);

/* Hot. stream. result[0]: 1 when all its work is done, else 0. */
GS_API int32_t gs_stream_query(void);

/* Hot. stream; operand[0] event: work enqueued later waits for the event's last record. */
GS_API int32_t gs_stream_wait(void);

/* [waits] Waits for the work enqueued on the stream. */
GS_API int32_t gs_stream_synchronize(int32_t stream);

/* Begins to capture: until gs_stream_capture_end, work for the stream, and for streams that wait
 * for events recorded on it, is not run but put into a graph. mode as cudaStreamCaptureMode: 0
 * global, 1 thread-local, 2 relaxed: the threads that meanwhile may not make calls that a capture
 * forbids, such as waiting for an event or querying it. */
GS_API int32_t gs_stream_capture(int32_t stream, int32_t mode);

/* Ends the capture that began on this stream, also where this fails, and makes its graph ready for
 * launches. result[0]: graph handle. */
GS_API int32_t gs_stream_capture_end(int32_t stream, double* result);

/* result[0]: 0: the stream is not captured, 1: it is, 2: a forbidden call has invalidated the
 * capture; [1]: the id of a valid capture, else 0. */
GS_API int32_t gs_stream_capture_query(int32_t stream, double* result);

/* ---- events ------------------------------------------------------------------------------- */

/* timing 1: for gs_event_elapsed; timing 0: for waiting. result[0]: handle. */
GS_API int32_t gs_event_create(int32_t device, int32_t timing, double* result);

/* Forgets the event. */
GS_API int32_t gs_event_destroy(int32_t event);

/* Hot. stream; operand[0] event of the same device. */
GS_API int32_t gs_event_record(void);

/* Records the event after all work that the device has by now, of all streams and libraries.
 * GS_ERROR_UNSUPPORTED where the driver cannot: it is older than CUDA 12.5. */
GS_API int32_t gs_event_record_device(int32_t device, int32_t event);

/* Hot. operand[0] event. result[0]: 1 when its last record is done, or it has none; else 0. */
GS_API int32_t gs_event_query(void);

/* [waits] Waits for the event's last record. */
GS_API int32_t gs_event_synchronize(int32_t event);

/* result[0]: milliseconds between two recorded and completed timing events. */
GS_API int32_t gs_event_elapsed(int32_t start, int32_t end, double* result);

/* ---- waiters: one thread waits for any number of events ------------------------------------ */

/* result[0]: handle of a waiter without waits. */
GS_API int32_t gs_waiter_create(double* result);

/* Adds a wait for the event's last record; ticket, a safe integer, names it. If the event is
 * recorded again before the wait has ended, the wait is for that record. */
GS_API int32_t gs_waiter_add(int32_t waiter, int32_t event, double ticket);

/* [waits] Returns when a wait has ended, or none is pending. Waits may be added meanwhile. */
GS_API int32_t gs_waiter_next(int32_t waiter);

/* Removes ended waits and writes at most capacity of them, as pairs of ticket and status.
 * result[0]: their number. */
GS_API int32_t gs_waiter_take(int32_t waiter, double* ended, int32_t capacity, double* result);

/* Forgets the waiter and its waits; a running gs_waiter_next returns. */
GS_API int32_t gs_waiter_destroy(int32_t waiter);

/* ---- graphs ------------------------------------------------------------------------------- */

/* Hot. stream, of any device of the graph's; operand[0] graph. Enqueues all of its work. In a
 * captured stream a copy of the graph becomes one node of the captured graph. */
GS_API int32_t gs_graph_launch(void);

/* result[0]: number of nodes. */
GS_API int32_t gs_graph_nodes(int32_t graph, double* result);

/* Forgets the graph; launches of it still complete. */
GS_API int32_t gs_graph_destroy(int32_t graph);

/* ---- files -------------------------------------------------------------------------------- */

/* Opens a file, named by NUL-terminated UTF-8. result[0]: handle, [1]: its bytes. Where there is
 * none GS_ERROR_NOT_FOUND; where it cannot be read or is no regular file GS_ERROR_SYSTEM. */
GS_API int32_t gs_file_open(const char* path, double* result);

/* [waits] Reads bytes from offset of the file to pinned_offset of a pinned slab. GS_ERROR_CAPACITY
 * if either ends before. A read that fails halfway leaves the bytes it has read. */
GS_API int32_t gs_file_read(int32_t file, double offset, int32_t pinned, double pinned_offset,
                            double bytes);

/* Closes the file; a read under way still completes. */
GS_API int32_t gs_file_close(int32_t file);

/* ---- lifelines ---------------------------------------------------------------------------- */

/* Opens a lifeline, which a process that this one starts before gs_lifeline_tie inherits.
 * result[0]: handle. GS_ERROR_UNSUPPORTED but on Linux. */
GS_API int32_t gs_lifeline_open(double* result);

/* From now on the process group of a child ends, by SIGKILL, when the lifeline or this process
 * does. Once per lifeline. GS_ERROR_NOT_FOUND unless the child leads the group and is
 * not reaped. */
GS_API int32_t gs_lifeline_tie(int32_t lifeline, int32_t group);

/* Ends the lifeline, and with it what is left of the process group. */
GS_API int32_t gs_lifeline_end(int32_t lifeline);

/* ---- output ------------------------------------------------------------------------------- */

/* 1: sends the standard output of the process, printing kernels included, to standard error until
 * as many calls with 0 were made. GS_ERROR_SYSTEM if one of the two is closed. */
GS_API int32_t gs_output_divert(int32_t diverted);

#ifdef __cplusplus
}
#endif

#include "gridstride_kernel.h"

#endif
