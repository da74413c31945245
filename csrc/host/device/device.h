// The devices of the host runtime, and what each of them owns.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <unordered_set>
#include <vector>

#include "gridstride/runtime_types.h"
#include "host/device/device_specification.h"
#include "host/memory/device_memory.h"

namespace gridstride::host {

struct KernelDescriptor;
class Stream;

// ---- for the shim ------------------------------------------------------------------------------

// Sets the devices: count records of record_slots doubles each, see gs_topology_set. 0 when they
// are set, or were set the same before; 1 when there are other devices already, also by default
// because a function of the runtime was called before; 2 when the records make no sense.
int set_topology(const double* records, int count);

// Which kernel, block and thread made the device unusable, and how. Empty without a fault.
std::string fault_description(int device);

// Limits the time of each launch that is enqueued from now on; 0 for no limit. False where there is
// no such device.
bool set_time_limit(int device, double milliseconds);

// ---- for the runtime ---------------------------------------------------------------------------

class Device {
 public:
  Device(const DeviceSpecification& specification, int ordinal);

  int ordinal() const { return ordinal_; }
  const DeviceSpecification& specification() const { return specification_; }
  DeviceMemory& memory() { return memory_; }

  // The code of the first kernel that faulted, as long as the process lives: the work such a
  // kernel left behind cannot be trusted, and CUDA too gives such a context up.
  cudaError_t fault_code() const { return fault_code_.load(std::memory_order_acquire); }
  void report_fault(cudaError_t code, std::string description);
  std::string fault_description() const;

  // Nanoseconds that a launch may take; 0 for no limit. By default so long that a kernel that takes
  // longer in all likelihood never ends.
  std::atomic<std::int64_t> time_limit{std::int64_t{600} * 1'000'000'000};

  // The stream that CUDA calls the legacy default stream: handle 0.
  const std::shared_ptr<Stream>& legacy_stream() const { return legacy_stream_; }
  bool is_legacy_stream(const Stream& stream) const { return &stream == legacy_stream_.get(); }

  // Streams with pending work. Guarded by the lock of the StreamGraph.
  std::vector<std::shared_ptr<Stream>>& active_streams() { return active_streams_; }

  // The largest dynamic shared memory that launches of the kernel may request.
  int dynamic_shared_limit(const KernelDescriptor& kernel) const;
  // False when the device has less shared memory than that.
  bool set_dynamic_shared_limit(const KernelDescriptor& kernel, int bytes);

  // CUDA loads a kernel at its first use, or before when asked to. Here only the mark is needed.
  void load(const KernelDescriptor& kernel);
  bool is_loaded(const KernelDescriptor& kernel) const;

  // For a kernel that is about to be unloaded: another may come to lie where it was.
  void forget(const KernelDescriptor& kernel);

  // False when it was enabled before.
  bool enable_peer(int peer);

 private:
  const DeviceSpecification specification_;
  const int ordinal_;
  DeviceMemory memory_;
  std::shared_ptr<Stream> legacy_stream_;
  std::vector<std::shared_ptr<Stream>> active_streams_;

  std::atomic<cudaError_t> fault_code_{cudaSuccess};
  // Guards what follows.
  mutable std::mutex mutex_;
  std::string fault_description_;
  std::map<const KernelDescriptor*, int> dynamic_shared_limits_;
  std::unordered_set<const KernelDescriptor*> loaded_;
  std::vector<bool> peers_;
};

// The visible devices. The first call fixes them: what set_topology gave, else one default device,
// filtered by CUDA_VISIBLE_DEVICES. They are never destroyed, as work may outlast main().
const std::vector<Device*>& devices();

// Null for an ordinal that no visible device has.
Device* find_device(int ordinal);

// The calling thread's device; null when no device is visible.
Device* current_device();
int current_ordinal();
void set_current_ordinal(int ordinal);

// The device with the reservation that contains the address; null for host memory.
Device* device_of_address(const void* address);

// How many blocks a device holds at once, by its limits.

// Blocks of so many threads that a multiprocessor of the device holds, which may be none. A limit
// that the device has no value for limits nothing, and neither do registers.
int resident_blocks(const Device& device, const KernelDescriptor& kernel, int block_threads,
                    std::size_t dynamic_shared_bytes);

// The same on all multiprocessors: what a cooperative launch may have.
std::uint64_t resident_grid(const Device& device, const KernelDescriptor& kernel, int block_threads,
                            std::size_t dynamic_shared_bytes);

}  // namespace gridstride::host
