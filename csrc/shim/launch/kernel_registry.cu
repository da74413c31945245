// The list of kernels that loading the library makes, in order and by name.
#include "shim/launch/kernel_registry.h"

#include <algorithm>

#include "shim/guard.h"

namespace gridstride {

namespace {

// Constant-initialised: it must be there before the first of the static objects it links.
Kernel* first_kernel = nullptr;

std::vector<const Kernel*> sorted_kernels() {
  std::vector<const Kernel*> sorted;
  for (const Kernel* kernel = first_kernel; kernel != nullptr; kernel = kernel->next()) {
    sorted.push_back(kernel);
  }
  const auto by_name = [](const Kernel* one, const Kernel* other) {
    return one->name() < other->name();
  };
  std::sort(sorted.begin(), sorted.end(), by_name);
  const auto same_name = [](const Kernel* one, const Kernel* other) {
    return one->name() == other->name();
  };
  const bool twice = std::adjacent_find(sorted.begin(), sorted.end(), same_name) != sorted.end();
  require(!twice, GS_ERROR_INTERNAL);
  return sorted;
}

}  // namespace

void Kernel::link() {
  next_ = first_kernel;
  first_kernel = this;
}

std::string Kernel::declaration() const {
  std::string text(name_);
  text += '(';
  for (int index = 0; index < launchable_.parameter_count; index++) {
    if (index > 0) text += ',';
    if (types_[index].points_to_const) text += "const ";
    text += types_[index].name;
    if (launchable_.parameters[index].kind == ParameterKind::pointer) text += '*';
  }
  text += ')';
  return text;
}

const std::vector<const Kernel*>& kernels() {
  // Never destroyed: a launch may still be running when the process exits.
  static const std::vector<const Kernel*>& sorted =
      *new std::vector<const Kernel*>(sorted_kernels());
  return sorted;
}

const Kernel& kernel_of(int64_t id) {
  const std::vector<const Kernel*>& all = kernels();
  require(id >= 1 && id <= static_cast<int64_t>(all.size()), GS_ERROR_NOT_FOUND);
  return *all[static_cast<size_t>(id - 1)];
}

}  // namespace gridstride

using namespace gridstride;

int32_t gs_kernel_count(double* result) {
  return guarded([&] {
    require(result != nullptr, GS_ERROR_ARGUMENT);
    result[0] = static_cast<double>(kernels().size());
  });
}

int32_t gs_kernel_describe(int32_t kernel, char* text, int32_t capacity) {
  return guarded([&] { write_text(kernel_of(kernel).declaration(), text, capacity); });
}

int32_t gs_kernel_find(const char* name, double* result) {
  return guarded([&] {
    require(name != nullptr && result != nullptr, GS_ERROR_ARGUMENT);
    const std::vector<const Kernel*>& all = kernels();
    const auto found = std::lower_bound(
        all.begin(), all.end(), std::string_view(name),
        [](const Kernel* kernel, std::string_view wanted) { return kernel->name() < wanted; });
    require(found != all.end() && (*found)->name() == name, GS_ERROR_NOT_FOUND);
    result[0] = static_cast<double>(found - all.begin() + 1);
  });
}
