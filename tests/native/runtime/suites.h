// The suites of the runtime's test program, and the devices they share.
#pragma once

#include <cstdint>
#include <vector>

namespace runtime_test {

// The topology that main() sets. A device with "victim" in its name is lost in the course of a
// suite.
constexpr std::uint64_t mebibyte = std::uint64_t{1} << 20;
constexpr std::uint64_t gibibyte = std::uint64_t{1} << 30;

enum DeviceOrdinal {
  first_device = 0,
  second_device = 1,
  small_device = 2,
  huge_device = 3,
  last_huge_device = 6,
  victim_device = 7,
  assert_victim_device = 8,
  pending_victim_device = 9,
  // For faults by virtual memory.
  kernel_victim_device = 10,
  copy_victim_device = 11,
  fill_victim_device = 12,
  running_victim_device = 13,
  access_victim_device = 14,
  // Has no virtual memory management.
  plain_device = 15,
  // For faults by launched graphs.
  graph_copy_victim_device = 16,
  graph_kernel_victim_device = 17,
  // For a fill that loses its memory midway.
  midway_victim_device = 18,
  // For faults by modules and cooperative launches.
  module_victim_device = 19,
  lost_kernel_victim_device = 20,
  ended_block_victim_device = 21,
  failed_block_victim_device = 22,
  mixed_barrier_victim_device = 23,
  lone_barrier_victim_device = 24,
  overflow_victim_device = 25,
  device_total = 26,
};

constexpr std::uint64_t ordinary_capacity = 2 * gibibyte;
// No multiple of what allocations are rounded up to.
constexpr std::uint64_t small_capacity = 8 * mebibyte + 100;
constexpr std::uint64_t huge_capacity = 80 * gibibyte;

// The records given to set_topology.
std::vector<double> test_topology();

void check_devices();
void check_visibility();
void check_device_memory();
void check_registered_memory();
void check_linear_copies();
void check_pitched_copies();
void check_fills();
void check_streams();
void check_legacy_stream();
void check_events();
void check_launches();
void check_faults();
void check_virtual_addresses();
void check_physical_memory();
void check_mappings();
void check_virtual_access();
void check_virtual_copies();
void check_virtual_capacity();
void check_virtual_threads();
void check_virtual_faults();
void check_threads();
void check_random_graphs();
void check_captures();
void check_graphs();
void check_captured_work();
void check_graph_faults();
void check_modules();
void check_module_images();
void check_module_faults();
void check_lost_kernels();
void check_cooperative_launches();
void check_cooperative_faults();
void check_leaks();

}  // namespace runtime_test
