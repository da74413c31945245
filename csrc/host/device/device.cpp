// Devices: state of one, the list of all, and the current one of each thread.
#include "host/device/device.h"

#include <algorithm>
#include <climits>
#include <optional>

#include "gridstride/kernel_descriptor.h"
#include "host/device/topology.h"
#include "host/stream/stream.h"

namespace gridstride::host {
namespace {

thread_local int thread_ordinal = 0;

std::vector<Device*>* make_devices() {
  auto* const made = new std::vector<Device*>;
  for (const DeviceSpecification& specification : fix_topology()) {
    made->push_back(new Device(specification, static_cast<int>(made->size())));
  }
  return made;
}

}  // namespace

Device::Device(const DeviceSpecification& specification, int ordinal)
    : specification_(specification),
      ordinal_(ordinal),
      memory_(specification.total_memory()),
      legacy_stream_(std::make_shared<Stream>(*this, cudaStreamDefault, 0)) {}

// The description is written before the code: a thread that sees the code finds the description.
void Device::report_fault(cudaError_t code, std::string description) {
  const std::lock_guard<std::mutex> lock(mutex_);
  if (fault_code() != cudaSuccess) return;
  fault_description_ = std::move(description);
  fault_code_.store(code, std::memory_order_release);
}

std::string Device::fault_description() const {
  const std::lock_guard<std::mutex> lock(mutex_);
  return fault_description_;
}

int Device::dynamic_shared_limit(const KernelDescriptor& kernel) const {
  {
    const std::lock_guard<std::mutex> lock(mutex_);
    const auto entry = dynamic_shared_limits_.find(&kernel);
    if (entry != dynamic_shared_limits_.end()) return entry->second;
  }
  return specification_.attribute_or_zero(cudaDevAttrMaxSharedMemoryPerBlock) -
         static_cast<int>(kernel.static_shared_bytes);
}

bool Device::set_dynamic_shared_limit(const KernelDescriptor& kernel, int bytes) {
  const int most = specification_.attribute_or_zero(cudaDevAttrMaxSharedMemoryPerBlockOptin) -
                   static_cast<int>(kernel.static_shared_bytes);
  if (bytes < 0 || bytes > most) return false;
  const std::lock_guard<std::mutex> lock(mutex_);
  dynamic_shared_limits_[&kernel] = bytes;
  return true;
}

void Device::load(const KernelDescriptor& kernel) {
  const std::lock_guard<std::mutex> lock(mutex_);
  loaded_.insert(&kernel);
}

bool Device::is_loaded(const KernelDescriptor& kernel) const {
  const std::lock_guard<std::mutex> lock(mutex_);
  return loaded_.count(&kernel) != 0;
}

void Device::forget(const KernelDescriptor& kernel) {
  const std::lock_guard<std::mutex> lock(mutex_);
  dynamic_shared_limits_.erase(&kernel);
  loaded_.erase(&kernel);
}

bool Device::enable_peer(int peer) {
  const std::lock_guard<std::mutex> lock(mutex_);
  const auto index = static_cast<std::size_t>(peer);
  if (peers_.size() <= index) peers_.resize(index + 1);
  if (peers_[index]) return false;
  peers_[index] = true;
  return true;
}

const std::vector<Device*>& devices() {
  static const std::vector<Device*>& all = *make_devices();
  return all;
}

Device* find_device(int ordinal) {
  const std::vector<Device*>& all = devices();
  if (ordinal < 0 || static_cast<std::size_t>(ordinal) >= all.size()) return nullptr;
  return all[static_cast<std::size_t>(ordinal)];
}

Device* current_device() { return find_device(thread_ordinal); }

int current_ordinal() { return thread_ordinal; }

void set_current_ordinal(int ordinal) { thread_ordinal = ordinal; }

Device* device_of_address(const void* address) {
  for (Device* const device : devices()) {
    if (device->memory().reserves(address)) return device;
  }
  return nullptr;
}

std::string fault_description(int device) {
  const Device* const found = find_device(device);
  return found == nullptr ? std::string() : found->fault_description();
}

bool set_time_limit(int device, double milliseconds) {
  Device* const found = find_device(device);
  if (found != nullptr) found->time_limit = static_cast<std::int64_t>(milliseconds * 1e6);
  return found != nullptr;
}

// ---- occupancy, by the rules of CUDA's own calculator (cuda_occupancy.h of the toolkit) ---------

namespace {

std::uint64_t round_up(std::uint64_t value, std::uint64_t unit) {
  return (value + unit - 1) / unit * unit;
}

std::uint64_t limit_or_none(const DeviceSpecification& limits, cudaDeviceAttr id) {
  const std::optional<int> value = limits.attribute(id);
  return value ? static_cast<std::uint64_t>(std::max(*value, 0)) : INT_MAX;
}

// Threads are given out in whole warps.
std::uint64_t blocks_by_threads(const DeviceSpecification& limits, int block_threads) {
  const std::uint64_t warp = limit_or_none(limits, cudaDevAttrWarpSize);
  return limit_or_none(limits, cudaDevAttrMaxThreadsPerMultiProcessor) /
         round_up(static_cast<std::uint64_t>(block_threads), warp);
}

// Shared memory is given out in units, and the system keeps some of it in every block.
std::uint64_t blocks_by_shared_memory(const DeviceSpecification& limits, std::uint64_t bytes) {
  const std::uint64_t unit =
      limits.attribute_or_zero(cudaDevAttrComputeCapabilityMajor) < 8 ? 256 : 128;
  const int reserved = limits.attribute_or_zero(cudaDevAttrReservedSharedMemoryPerBlock);
  const std::uint64_t taken = round_up(bytes + static_cast<std::uint64_t>(reserved), unit);
  if (taken == 0) return INT_MAX;
  return limit_or_none(limits, cudaDevAttrMaxSharedMemoryPerMultiprocessor) / taken;
}

}  // namespace

int resident_blocks(const Device& device, const KernelDescriptor& kernel, int block_threads,
                    std::size_t dynamic_shared_bytes) {
  const DeviceSpecification& limits = device.specification();
  const int shared_limit = device.dynamic_shared_limit(kernel);
  if (block_threads > limits.attribute_or_zero(cudaDevAttrMaxThreadsPerBlock) || shared_limit < 0 ||
      dynamic_shared_bytes > static_cast<std::size_t>(shared_limit)) {
    return 0;
  }
  const std::uint64_t blocks = std::min(
      {limit_or_none(limits, cudaDevAttrMaxBlocksPerMultiprocessor),
       blocks_by_threads(limits, block_threads),
       blocks_by_shared_memory(limits, kernel.static_shared_bytes + dynamic_shared_bytes)});
  return static_cast<int>(blocks);
}

std::uint64_t resident_grid(const Device& device, const KernelDescriptor& kernel, int block_threads,
                            std::size_t dynamic_shared_bytes) {
  const auto multiprocessors = static_cast<std::uint64_t>(
      device.specification().attribute_or_zero(cudaDevAttrMultiProcessorCount));
  return multiprocessors * static_cast<std::uint64_t>(resident_blocks(device, kernel, block_threads,
                                                                      dynamic_shared_bytes));
}

}  // namespace gridstride::host
