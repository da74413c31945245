// The library under test: every function of csrc/gridstride.h, found by name in an opened library.
#pragma once

#include "gridstride.h"

#define GS_FUNCTIONS(FUNCTION)      \
  FUNCTION(gs_abi_version)          \
  FUNCTION(gs_abi_describe)         \
  FUNCTION(gs_block_register)       \
  FUNCTION(gs_block_release)        \
  FUNCTION(gs_status_name)          \
  FUNCTION(gs_status_text)          \
  FUNCTION(gs_error_last)           \
  FUNCTION(gs_call_kinds)           \
  FUNCTION(gs_call_name)            \
  FUNCTION(gs_call_tally)           \
  FUNCTION(gs_call_fail)            \
  FUNCTION(gs_call_restore)         \
  FUNCTION(gs_resource_tally)       \
  FUNCTION(gs_topology_set)         \
  FUNCTION(gs_device_count)         \
  FUNCTION(gs_device_versions)      \
  FUNCTION(gs_device_attribute)     \
  FUNCTION(gs_device_name)          \
  FUNCTION(gs_device_bus)           \
  FUNCTION(gs_device_uuid)          \
  FUNCTION(gs_device_capacity)      \
  FUNCTION(gs_device_observe)       \
  FUNCTION(gs_device_telemetry)     \
  FUNCTION(gs_device_open)          \
  FUNCTION(gs_device_memory)        \
  FUNCTION(gs_device_synchronize)   \
  FUNCTION(gs_device_peer)          \
  FUNCTION(gs_device_join)          \
  FUNCTION(gs_device_limit)         \
  FUNCTION(gs_device_fault)         \
  FUNCTION(gs_memory_allocate)      \
  FUNCTION(gs_memory_free)          \
  FUNCTION(gs_memory_set)           \
  FUNCTION(gs_pinned_register)      \
  FUNCTION(gs_pinned_release)       \
  FUNCTION(gs_pinned_read)          \
  FUNCTION(gs_virtual_granularity)  \
  FUNCTION(gs_virtual_reserve)      \
  FUNCTION(gs_virtual_release)      \
  FUNCTION(gs_virtual_map)          \
  FUNCTION(gs_virtual_unmap)        \
  FUNCTION(gs_virtual_share)        \
  FUNCTION(gs_memory_declare)       \
  FUNCTION(gs_memory_press)         \
  FUNCTION(gs_copy_device)          \
  FUNCTION(gs_copy_device_2d)       \
  FUNCTION(gs_copy_peer)            \
  FUNCTION(gs_copy_from_pinned)     \
  FUNCTION(gs_copy_to_pinned)       \
  FUNCTION(gs_copy_from_pinned_2d)  \
  FUNCTION(gs_copy_to_pinned_2d)    \
  FUNCTION(gs_copy_to_device)       \
  FUNCTION(gs_copy_to_host)         \
  FUNCTION(gs_copy_to_device_2d)    \
  FUNCTION(gs_copy_to_host_2d)      \
  FUNCTION(gs_stream_create)        \
  FUNCTION(gs_stream_destroy)       \
  FUNCTION(gs_stream_priorities)    \
  FUNCTION(gs_stream_adopt)         \
  FUNCTION(gs_stream_address)       \
  FUNCTION(gs_stream_query)         \
  FUNCTION(gs_stream_wait)          \
  FUNCTION(gs_stream_synchronize)   \
  FUNCTION(gs_stream_capture)       \
  FUNCTION(gs_stream_capture_end)   \
  FUNCTION(gs_stream_capture_query) \
  FUNCTION(gs_graph_launch)         \
  FUNCTION(gs_graph_nodes)          \
  FUNCTION(gs_graph_destroy)        \
  FUNCTION(gs_event_create)         \
  FUNCTION(gs_event_destroy)        \
  FUNCTION(gs_event_record)         \
  FUNCTION(gs_event_record_device)  \
  FUNCTION(gs_event_query)          \
  FUNCTION(gs_event_synchronize)    \
  FUNCTION(gs_event_elapsed)        \
  FUNCTION(gs_file_open)            \
  FUNCTION(gs_file_read)            \
  FUNCTION(gs_file_close)           \
  FUNCTION(gs_kernel_count)         \
  FUNCTION(gs_kernel_describe)      \
  FUNCTION(gs_kernel_find)          \
  FUNCTION(gs_kernel_load)          \
  FUNCTION(gs_kernel_loaded)        \
  FUNCTION(gs_kernel_attributes)    \
  FUNCTION(gs_kernel_reserve)       \
  FUNCTION(gs_kernel_residency)     \
  FUNCTION(gs_module_create)        \
  FUNCTION(gs_module_load)          \
  FUNCTION(gs_module_log)           \
  FUNCTION(gs_module_destroy)       \
  FUNCTION(gs_module_kernel_name)   \
  FUNCTION(gs_module_parameter)     \
  FUNCTION(gs_module_kernel)        \
  FUNCTION(gs_module_variable)      \
  FUNCTION(gs_kernel_launch)

struct Library {
#define GS_MEMBER(function) decltype(&::function) function = nullptr;
  GS_FUNCTIONS(GS_MEMBER)
#undef GS_MEMBER

  // Null unless foreign_memory.cu is linked in.
  double (*foreign_allocate)(int device, double bytes) = nullptr;
  int (*foreign_free)(double address) = nullptr;

  // Null unless declared_block.cu is linked in.
  int (*declared_block)(double address, double* block) = nullptr;

  // Exits with a message when the file is no such library.
  static Library open(const char* path);
};

// The opened library, and the main thread's registered command block.
extern Library gs;
extern gs_command_block block;
