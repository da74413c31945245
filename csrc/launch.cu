// Launching: the arguments of the command block become the parameters of the kernel's type.
#include <cstring>

#include "block.h"
#include "kernel_registry.h"
#include "stream.h"

namespace gridstride {

namespace {

// Operands of gs_kernel_launch.
enum LaunchOperand {
  kernel_operand = 0,
  grid_operand = 1,
  block_operand = 4,
  shared_bytes_operand = 7,
  argument_count_operand = 8,
  raw_words_operand = 9,
};

dim3 extent(const Operands& in, int operand) {
  const auto side = [&](int axis) {
    return static_cast<unsigned int>(in.integer(operand + axis, largest_uint32));
  };
  return dim3(side(0), side(1), side(2));
}

// The parameter's bytes are the low ones of the result.
uint64_t signed_bits(double value, int bytes) {
  const double bound = bytes == 8 ? static_cast<double>(largest_safe_integer + 1)
                                  : static_cast<double>(uint64_t{1} << (8 * bytes - 1));
  // An 8-bit -128 is one, a 64-bit -2^53 is none: it is also what -2^53 - 1 rounds to.
  require(value < bound && (bytes == 8 ? value > -bound : value >= -bound), GS_ERROR_ARGUMENT);
  const int64_t integer = static_cast<int64_t>(value);
  require(static_cast<double>(integer) == value, GS_ERROR_ARGUMENT);
  return static_cast<uint64_t>(integer);
}

uint64_t unsigned_bits(double value, int bytes) {
  const uint64_t largest = bytes == 8 ? largest_safe_integer : (uint64_t{1} << (8 * bytes)) - 1;
  return checked_integer(value, largest);
}

template <class Value>
uint64_t bits_of(const Value& value) {
  static_assert(sizeof(Value) <= sizeof(uint64_t), "an argument fills at most one slot");
  uint64_t bits = 0;
  std::memcpy(&bits, &value, sizeof(value));
  return bits;
}

uint64_t converted(double value, const Parameter& parameter) {
  switch (parameter.kind) {
    case ParameterKind::boolean:
      return checked_integer(value, 1);
    case ParameterKind::signed_integer:
      return signed_bits(value, parameter.bytes);
    case ParameterKind::unsigned_integer:
      return unsigned_bits(value, parameter.bytes);
    case ParameterKind::float16:
      return bits_of(__double2half(value));
    case ParameterKind::bfloat16:
      return bits_of(__double2bfloat16(value));
    case ParameterKind::float32:
      return bits_of(static_cast<float>(value));  // beyond the largest float: infinity
    case ParameterKind::float64:
      return bits_of(value);
    case ParameterKind::pointer:
      return checked_integer(value);
  }
  fail(GS_ERROR_INTERNAL);
}

// The parameters of one launch, as cudaLaunchKernel reads them.
class LaunchArguments {
 public:
  LaunchArguments(const Operands& in, const Kernel& kernel) {
    require(in.integer(argument_count_operand) == static_cast<uint64_t>(kernel.parameter_count()),
            GS_ERROR_LAUNCH);
    const uint64_t raw = in.integer(raw_words_operand, largest_uint32) |
                         in.integer(raw_words_operand + 1, largest_uint32) << 32;
    for (int index = 0; index < kernel.parameter_count(); index++) {
      const double slot = in.argument(index);
      const bool is_raw = (raw >> index & 1) != 0;
      values_[index] = is_raw ? bits_of(slot) : converted(slot, kernel.parameter(index));
      pointers_[index] = &values_[index];
    }
  }

  void** pointers() { return pointers_; }

 private:
  // Not initialised: a launch writes and reads as many as the kernel has parameters.
  uint64_t values_[kernel_parameter_limit];
  void* pointers_[kernel_parameter_limit];
};

}  // namespace

}  // namespace gridstride

using namespace gridstride;

int32_t gs_kernel_launch(void) {
  return guarded([] {
    const Operands in = Operands::of_thread();
    const Kernel& kernel = kernel_of(in.handle(kernel_operand));
    const dim3 grid = extent(in, grid_operand);
    const dim3 block = extent(in, block_operand);
    // CUDA takes a size_t here and hands 32 bits of it on.
    const size_t shared_bytes = in.integer(shared_bytes_operand, largest_uint32);
    LaunchArguments arguments(in, kernel);
    const int device = in.device();
    const StreamUse stream = use_stream(in.stream(), device);
    make_current(device);
    GS_CALL(cudaLaunchKernel, kernel.launched(), grid, block, arguments.pointers(), shared_bytes,
            stream->stream);
  });
}

int32_t gs_kernel_reserve(int32_t device, int32_t kernel, double bytes) {
  return guarded([&] {
    const uint64_t shared_bytes = checked_integer(bytes, INT32_MAX);
    const Kernel& reserved = kernel_of(kernel);
    make_current(device);
    GS_CALL(cudaFuncSetAttribute, reserved.launched(), cudaFuncAttributeMaxDynamicSharedMemorySize,
            static_cast<int>(shared_bytes));
  });
}
