// Reading a module's table.
#include "host/module/loaded_module.h"

#include <sys/mman.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <string>
#include <unordered_set>

#include "host/module/elf_image.h"
#include "host/module/static_shared.h"

namespace gridstride::host {
namespace {

// An address as the library's headers count it.
std::uint64_t relative(std::uintptr_t address, std::uintptr_t base) { return address - base; }

int protection_of(const std::vector<ElfSegment>& segments, std::uint64_t address) {
  int protection = 0;
  // What the loader made read-only comes last.
  for (const ElfSegment& segment : segments) {
    if (address >= segment.address && address - segment.address < segment.bytes) {
      protection = segment.protection;
    }
  }
  return protection;
}

void add_write_permission(const ModuleVariable& variable, int protection) {
  const auto page = static_cast<std::uintptr_t>(sysconf(_SC_PAGESIZE));
  const std::uintptr_t start = variable.address / page * page;
  const std::size_t bytes = variable.address + variable.bytes - start;
  if (mprotect(reinterpret_cast<void*>(start), bytes, protection | PROT_WRITE) == 0) return;
  throw ImageError(cudaErrorOperatingSystem, "Cannot make the constant " +
                                                 std::string(variable.name) +
                                                 " writable: " + std::strerror(errno));
}

}  // namespace

LoadedModule::LoadedModule(const ImageView& image, Device& device)
    : opened_(image), device_(device) {
  read_table();
  check_names();
  measure_shared_memory(image);
  make_writable(image);
  charge();
}

LoadedModule::~LoadedModule() {
  for (const KernelDescriptor& kernel : kernels_) device_.forget_dynamic_shared_limit(kernel);
  device_.memory().discharge(charged_);
}

void LoadedModule::read_table() {
  const ModuleTable& table = opened_.table();
  for (std::uint32_t i = 0; i < table.entry_count; ++i) {
    const ModuleEntry& entry = table.entries[i];
    if (entry.kernel == nullptr) {
      variables_.push_back(
          {entry.name, reinterpret_cast<std::uintptr_t>(entry.variable), entry.variable_bytes});
      continue;
    }
    kernels_.push_back(*entry.kernel);
    kernels_.back().name = entry.name;
  }
}

void LoadedModule::check_names() const {
  std::unordered_set<std::string_view> names;
  const auto check = [&](const char* kind, const char* name) {
    if (names.insert(name).second) return;
    throw ImageError(cudaErrorInvalidKernelImage,
                     "the image has two " + std::string(kind) + " of the name " + name);
  };
  for (const KernelDescriptor& kernel : kernels_) check("kernels", kernel.name);
  names.clear();
  for (const ModuleVariable& variable : variables_) check("variables", variable.name);
}

void LoadedModule::measure_shared_memory(const ImageView& image) {
  std::vector<std::uintptr_t> functions;
  for (const KernelDescriptor& kernel : kernels_) {
    const auto address = reinterpret_cast<std::uintptr_t>(kernel.run_threads);
    functions.push_back(relative(address, opened_.base()));
  }
  const std::vector<std::uint32_t> bytes = static_shared_bytes(image, functions);
  for (std::size_t i = 0; i < kernels_.size(); ++i) kernels_[i].static_shared_bytes = bytes[i];
}

// A constant that is const in C++ too lies among the read-only data, where a copy to it, which CUDA
// allows, would crash the process.
void LoadedModule::make_writable(const ImageView& image) const {
  const std::vector<ElfSegment> segments = elf_segments(image);
  if (segments.empty()) return;
  for (const ModuleVariable& variable : variables_) {
    const int protection = protection_of(segments, relative(variable.address, opened_.base()));
    if (protection == 0) {
      throw ImageError(cudaErrorInvalidKernelImage,
                       "the image does not define its variable " + std::string(variable.name));
    }
    if ((protection & PROT_WRITE) == 0) add_write_permission(variable, protection);
  }
}

void LoadedModule::charge() {
  std::uint64_t bytes = 0;
  for (const ModuleVariable& variable : variables_) {
    bytes += (variable.bytes + DeviceMemory::granularity - 1) / DeviceMemory::granularity *
             DeviceMemory::granularity;
  }
  if (!device_.memory().charge(bytes)) {
    throw ImageError(cudaErrorMemoryAllocation,
                     "the variables of the image take " + std::to_string(bytes) +
                         " bytes of the device, which has " +
                         std::to_string(device_.memory().free_bytes()) + " left");
  }
  charged_ = bytes;
}

}  // namespace gridstride::host
