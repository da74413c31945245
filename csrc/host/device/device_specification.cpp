// Device records: validation, the default device, and the identity derived from the ordinal.
#include "host/device/device_specification.h"

#include <cmath>
#include <cstdio>
#include <cstring>
#include <limits>
#include <thread>

#include "host/device/machine.h"
#include "host/execution/block_region.h"

namespace gridstride::host {
namespace {

// What the checks of a launch read: a device without them could not run anything.
constexpr cudaDeviceAttr required_attributes[] = {
    cudaDevAttrMaxThreadsPerBlock,    cudaDevAttrMaxBlockDimX,
    cudaDevAttrMaxBlockDimY,          cudaDevAttrMaxBlockDimZ,
    cudaDevAttrMaxGridDimX,           cudaDevAttrMaxGridDimY,
    cudaDevAttrMaxGridDimZ,           cudaDevAttrMaxSharedMemoryPerBlock,
    cudaDevAttrWarpSize,              cudaDevAttrMultiProcessorCount,
    cudaDevAttrComputeCapabilityMajor, cudaDevAttrComputeCapabilityMinor,
    cudaDevAttrMaxSharedMemoryPerBlockOptin,
};

// Addresses of several devices have to fit into 47 bits.
constexpr double max_memory = 0x1p44;

struct AttributeValue {
  cudaDeviceAttr attribute;
  double value;
};

// Source: CUDA C++ Programming Guide, technical specifications per compute capability (8.9). The
// flags say what this runtime does: kernels read host memory, nothing is managed, and launches may
// be cooperative.
constexpr AttributeValue default_attributes[] = {
    {cudaDevAttrMaxThreadsPerBlock, 1024},
    {cudaDevAttrMaxBlockDimX, 1024},
    {cudaDevAttrMaxBlockDimY, 1024},
    {cudaDevAttrMaxBlockDimZ, 64},
    {cudaDevAttrMaxGridDimX, 2147483647},
    {cudaDevAttrMaxGridDimY, 65535},
    {cudaDevAttrMaxGridDimZ, 65535},
    {cudaDevAttrMaxSharedMemoryPerBlock, 48 * 1024},
    {cudaDevAttrTotalConstantMemory, 64 * 1024},
    {cudaDevAttrWarpSize, 32},
    {cudaDevAttrMaxPitch, 2147483647},
    {cudaDevAttrMaxRegistersPerBlock, 65536},
    {cudaDevAttrTextureAlignment, 512},
    {cudaDevAttrGpuOverlap, 1},
    {cudaDevAttrKernelExecTimeout, 0},
    {cudaDevAttrIntegrated, 1},
    {cudaDevAttrCanMapHostMemory, 1},
    {cudaDevAttrComputeMode, 0},
    {cudaDevAttrConcurrentKernels, 1},
    {cudaDevAttrEccEnabled, 0},
    {cudaDevAttrTccDriver, 0},
    {cudaDevAttrMaxThreadsPerMultiProcessor, 1536},
    {cudaDevAttrAsyncEngineCount, 2},
    {cudaDevAttrUnifiedAddressing, 1},
    {cudaDevAttrTexturePitchAlignment, 32},
    {cudaDevAttrComputeCapabilityMajor, 8},
    {cudaDevAttrComputeCapabilityMinor, 9},
    {cudaDevAttrStreamPrioritiesSupported, 1},
    {cudaDevAttrGlobalL1CacheSupported, 1},
    {cudaDevAttrLocalL1CacheSupported, 1},
    {cudaDevAttrMaxSharedMemoryPerMultiprocessor, 100 * 1024},
    {cudaDevAttrMaxRegistersPerMultiprocessor, 65536},
    {cudaDevAttrManagedMemory, 0},
    {cudaDevAttrIsMultiGpuBoard, 0},
    {cudaDevAttrHostNativeAtomicSupported, 1},
    {cudaDevAttrPageableMemoryAccess, 1},
    {cudaDevAttrConcurrentManagedAccess, 0},
    {cudaDevAttrComputePreemptionSupported, 0},
    {cudaDevAttrCanUseHostPointerForRegisteredMem, 1},
    {cudaDevAttrCooperativeLaunch, 1},
    {cudaDevAttrMaxSharedMemoryPerBlockOptin, 99 * 1024},
    {cudaDevAttrCanFlushRemoteWrites, 0},
    {cudaDevAttrHostRegisterSupported, 1},
    {cudaDevAttrPageableMemoryAccessUsesHostPageTables, 1},
    {cudaDevAttrDirectManagedMemAccessFromHost, 0},
    {virtual_memory_attribute, 1},
    {cudaDevAttrMaxBlocksPerMultiprocessor, 24},
    {cudaDevAttrReservedSharedMemoryPerBlock, 1024},
    {cudaDevAttrHostRegisterReadOnlySupported, 1},
    {cudaDevAttrMemoryPoolsSupported, 0},
    {cudaDevAttrClusterLaunch, 0},
};

double value_of(const DeviceRecord& record, int attribute) { return record[1 + attribute]; }

bool is_integer_between(double value, double low, double high) {
  return value >= low && value <= high && std::floor(value) == value;
}

// The first bytes differ from device to device: a short prefix names one; the rest spells
// "gridstride". The multiplier is odd, hence no two ordinals share the first bytes.
cudaUUID_t uuid_of(int ordinal) {
  const std::uint32_t mixed = (static_cast<std::uint32_t>(ordinal) + 1) * 0x9e3779b1u;
  cudaUUID_t uuid = {};
  for (int byte = 0; byte < 4; ++byte) {
    uuid.bytes[byte] = static_cast<char>(mixed >> (24 - 8 * byte));
  }
  std::memcpy(uuid.bytes + 4, "gridstride", 10);
  uuid.bytes[14] = static_cast<char>(ordinal >> 8);
  uuid.bytes[15] = static_cast<char>(ordinal);
  return uuid;
}

// A bus per device, as in a machine with boards in consecutive slots.
void give_bus(DeviceRecord& record, int ordinal) {
  record[1 + cudaDevAttrPciDomainId] = 0;
  record[1 + cudaDevAttrPciBusId] = ordinal + 1;
  record[1 + cudaDevAttrPciDeviceId] = 0;
}

}  // namespace

DeviceSpecification::DeviceSpecification(const DeviceRecord& record, int ordinal)
    : total_memory_(static_cast<std::uint64_t>(record[0])),
      record_(record),
      uuid_(uuid_of(ordinal)) {
  give_bus(record_, ordinal);
}

std::optional<int> DeviceSpecification::attribute(int id) const {
  if (id < 1 || 1 + id >= record_slots) return std::nullopt;
  const double value = value_of(record_, id);
  if (std::isnan(value)) return std::nullopt;
  return static_cast<int>(value);
}

std::string DeviceSpecification::name() const {
  return "Gridstride host device (" +
         std::to_string(attribute_or_zero(cudaDevAttrComputeCapabilityMajor)) + "." +
         std::to_string(attribute_or_zero(cudaDevAttrComputeCapabilityMinor)) + ")";
}

std::string DeviceSpecification::bus_id() const {
  char text[32];
  std::snprintf(text, sizeof text, "%04x:%02x:%02x.0", attribute_or_zero(cudaDevAttrPciDomainId),
                attribute_or_zero(cudaDevAttrPciBusId), attribute_or_zero(cudaDevAttrPciDeviceId));
  return text;
}

bool is_valid_record(const DeviceRecord& record) {
  if (!is_integer_between(record[0], 1, max_memory)) return false;
  for (int slot = 1; slot < record_slots; ++slot) {
    const double value = record[slot];
    if (std::isnan(value)) continue;
    if (!is_integer_between(value, std::numeric_limits<int>::min(),
                            std::numeric_limits<int>::max())) {
      return false;
    }
  }
  for (const cudaDeviceAttr attribute : required_attributes) {
    if (!(value_of(record, attribute) >= 0)) return false;
  }
  return value_of(record, cudaDevAttrMaxThreadsPerBlock) <= max_block_threads &&
         value_of(record, cudaDevAttrMaxSharedMemoryPerBlock) <= max_dynamic_shared_bytes &&
         value_of(record, cudaDevAttrMaxSharedMemoryPerBlockOptin) <= max_dynamic_shared_bytes &&
         value_of(record, cudaDevAttrWarpSize) == warp_lanes;
}

DeviceRecord default_record() {
  DeviceRecord record;
  record.fill(std::numeric_limits<double>::quiet_NaN());
  constexpr std::uint64_t mebibyte = std::uint64_t{1} << 20;
  const std::uint64_t half = machine_memory_bytes() / 2;
  record[0] = static_cast<double>(half < mebibyte ? mebibyte : half / mebibyte * mebibyte);
  for (const AttributeValue& entry : default_attributes) record[1 + entry.attribute] = entry.value;
  const unsigned cores = std::thread::hardware_concurrency();
  record[1 + cudaDevAttrMultiProcessorCount] = cores == 0 ? 1 : cores;
  return record;
}

std::string uuid_text(const cudaUUID_t& uuid) {
  std::string text = "GPU-";
  for (int byte = 0; byte < 16; ++byte) {
    if (byte == 4 || byte == 6 || byte == 8 || byte == 10) text += '-';
    char digits[3];
    std::snprintf(digits, sizeof digits, "%02x", static_cast<unsigned char>(uuid.bytes[byte]));
    text += digits;
  }
  return text;
}

}  // namespace gridstride::host
