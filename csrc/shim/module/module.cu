// Modules: kernels and variables that a program brings itself.
#include "shim/module/module.h"

#include <memory>

#include "shim/device/device.h"
#include "shim/guard.h"
#include "shim/launch/kernel_registry.h"
#include "shim/memory/memory.h"

namespace gridstride {

HandleTable<Module> modules;

void Module::end() const {
  try {
    // First: where this fails nothing has happened yet.
    loaded->wait();
    loaded->end_kernels();
    loaded->unload();
  } catch (...) {
    if (exception_tells_loss()) {
      loaded->end_kernels();
      delete loaded;
    }
    throw;
  }
  delete loaded;
}

namespace {

void require_device(int32_t device) {
  concern(device);
  int count = 0;
  GS_CALL(cudaGetDeviceCount, &count);
  require(device < count, GS_ERROR_DEVICE);
}

bool is_width(ParameterKind kind, int32_t bytes) {
  switch (kind) {
    case ParameterKind::boolean: return bytes == 1;
    case ParameterKind::signed_integer:
    case ParameterKind::unsigned_integer:
      return bytes == 1 || bytes == 2 || bytes == 4 || bytes == 8;
    case ParameterKind::float16:
    case ParameterKind::bfloat16: return bytes == 2;
    case ParameterKind::float32: return bytes == 4;
    case ParameterKind::float64:
    case ParameterKind::pointer: return bytes == 8;
    case ParameterKind::raw_bytes:
      return bytes >= 1 && bytes <= GS_ARGUMENT_SLOTS * static_cast<int32_t>(sizeof(double));
  }
  return false;
}

Parameter checked_parameter(int32_t kind, int32_t bytes) {
  require(kind >= GS_PARAMETER_BOOLEAN && kind <= GS_PARAMETER_BYTES, GS_ERROR_ARGUMENT);
  const ParameterKind known = static_cast<ParameterKind>(kind);
  require(is_width(known, bytes), GS_ERROR_ARGUMENT);
  return Parameter{known, static_cast<uint16_t>(bytes)};
}

// As gs_module_kernel takes them: of each its kind and its bytes.
std::vector<Parameter> checked_parameters(const int32_t* numbers, int32_t count) {
  require(count >= 0 && count <= kernel_parameter_limit, GS_ERROR_ARGUMENT);
  require(numbers != nullptr || count == 0, GS_ERROR_ARGUMENT);
  std::vector<Parameter> parameters;
  int slots = 0;
  for (int32_t index = 0; index < count; index++) {
    parameters.push_back(checked_parameter(numbers[2 * index], numbers[2 * index + 1]));
    slots += slots_of(parameters.back().bytes);
  }
  require(slots <= GS_ARGUMENT_SLOTS, GS_ERROR_CAPACITY);
  return parameters;
}

}  // namespace

}  // namespace gridstride

using namespace gridstride;

int32_t gs_module_create(int32_t device, const void* image, double bytes, double* result) {
  return guarded([&] {
    require(image != nullptr && result != nullptr, GS_ERROR_ARGUMENT);
    const uint64_t size = checked_integer(bytes);
    require(size > 0, GS_ERROR_ARGUMENT);
    auto created = std::make_unique<LoadedModule>(device, image, size);
    require_device(device);
    HandleTable<Module>::Reservation made = modules.reserve();
    made->loaded = created.release();
    result[0] = made.publish();
  });
}

int32_t gs_module_load(int32_t module) {
  return guarded([&] { modules.use(module)->loaded->load(); });
}

int32_t gs_module_log(int32_t module, char* text, int32_t capacity) {
  return guarded([&] { write_text(modules.use(module)->loaded->log(), text, capacity); });
}

int32_t gs_module_destroy(int32_t module) {
  return guarded([&] { modules.destroy_after_users(module); });
}

int32_t gs_module_kernel_name(int32_t module, int32_t index, char* text, int32_t capacity) {
  return guarded([&] {
    require(index >= 0, GS_ERROR_ARGUMENT);
    write_text(modules.use(module)->loaded->kernel_name(index), text, capacity);
  });
}

int32_t gs_module_parameter(int32_t module, const char* name, int32_t index, double* result) {
  return guarded([&] {
    require(name != nullptr && index >= 0 && result != nullptr, GS_ERROR_ARGUMENT);
    const ModuleUse used = modules.use(module);
    const LoadedModule::Place place =
        used->loaded->parameter(used->loaded->kernel(name), static_cast<size_t>(index));
    result[0] = static_cast<double>(place.offset);
    result[1] = static_cast<double>(place.bytes);
  });
}

int32_t gs_module_kernel(int32_t module, const char* name, const int32_t* parameters, int32_t count,
                         double* result) {
  return guarded([&] {
    require(name != nullptr && result != nullptr, GS_ERROR_ARGUMENT);
    std::vector<Parameter> checked = checked_parameters(parameters, count);
    const ModuleUse used = modules.use(module);
    result[0] = used->loaded->launchable_kernel(used->loaded->kernel(name), std::move(checked));
  });
}

int32_t gs_module_variable(int32_t module, const char* name, double* result) {
  return guarded([&] {
    require(name != nullptr && result != nullptr, GS_ERROR_ARGUMENT);
    const LoadedModule::Variable found = modules.use(module)->loaded->variable(name);
    result[0] = static_cast<double>(address_of(found.address));
    result[1] = static_cast<double>(found.bytes);
  });
}
