// Launching: the arguments of the command block become the parameters of the kernel's type.
#include <cstring>

#include "block.h"
#include "module_kernel.h"
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
  flags_operand = 11,
  cluster_operand = 12,
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
    case ParameterKind::boolean: return checked_integer(value, 1);
    case ParameterKind::signed_integer: return signed_bits(value, parameter.bytes);
    case ParameterKind::unsigned_integer: return unsigned_bits(value, parameter.bytes);
    case ParameterKind::float16: return bits_of(__double2half(value));
    case ParameterKind::bfloat16: return bits_of(__double2bfloat16(value));
    case ParameterKind::float32:
      return bits_of(static_cast<float>(value));  // beyond the largest float: infinity
    case ParameterKind::float64: return bits_of(value);
    case ParameterKind::pointer: return checked_integer(value);
    case ParameterKind::raw_bytes: break;
  }
  fail(GS_ERROR_INTERNAL);
}

// The parameters of one launch, as cudaLaunchKernel reads them.
class LaunchArguments {
 public:
  LaunchArguments(const Operands& in, const Launchable& kernel) {
    require(in.integer(argument_count_operand) == static_cast<uint64_t>(kernel.parameter_count),
            GS_ERROR_LAUNCH);
    const uint64_t raw = in.integer(raw_words_operand, largest_uint32) |
                         in.integer(raw_words_operand + 1, largest_uint32) << 32;
    int slot = 0;
    for (int index = 0; index < kernel.parameter_count; index++) {
      const Parameter& parameter = kernel.parameters[index];
      pointers_[index] = &values_[slot];
      if (parameter.kind == ParameterKind::raw_bytes) {
        slot = copy_raw(in, slot, slot + slots_of(parameter.bytes));
        continue;
      }
      const double value = in.argument(slot);
      const bool is_raw = (raw >> index & 1) != 0;
      values_[slot++] = is_raw ? bits_of(value) : converted(value, parameter);
    }
  }

  void** pointers() { return pointers_; }

 private:
  int copy_raw(const Operands& in, int first, int end) {
    for (int slot = first; slot < end; slot++) values_[slot] = bits_of(in.argument(slot));
    return end;
  }

  // Not initialised: a launch writes and reads as much as the kernel's parameters take.
  uint64_t values_[GS_ARGUMENT_SLOTS];
  void* pointers_[kernel_parameter_limit];
};

// Where and how the blocks of a launch run.
struct LaunchShape {
  explicit LaunchShape(const Operands& in)
      : grid(extent(in, grid_operand)),
        block(extent(in, block_operand)),
        // CUDA takes a size_t here and hands 32 bits of it on.
        shared_bytes(in.integer(shared_bytes_operand, largest_uint32)),
        is_cooperative(in.integer(flags_operand, GS_LAUNCH_COOPERATIVE) != 0),
        cluster(static_cast<uint32_t>(in.integer(cluster_operand, 0xFFFFFF))) {}

  bool is_plain() const { return !is_cooperative && cluster == 0; }

  dim3 grid;
  dim3 block;
  size_t shared_bytes;
  bool is_cooperative;
  uint32_t cluster;  // three extents of 8 bits each, x in the lowest; 0: no cluster
};

// The attributes of a launch that is not plain.
class LaunchAttributes {
 public:
  explicit LaunchAttributes(const LaunchShape& shape) {
    if (shape.is_cooperative) {
      cudaLaunchAttribute& cooperative = added(cudaLaunchAttributeCooperative);
      cooperative.val.cooperative = 1;
    }
    if (shape.cluster == 0) return;
    const auto side = [&](int axis) { return shape.cluster >> (8 * axis) & 0xFF; };
    require(side(0) > 0 && side(1) > 0 && side(2) > 0, GS_ERROR_ARGUMENT);
    cudaLaunchAttribute& cluster = added(cudaLaunchAttributeClusterDimension);
    cluster.val.clusterDim.x = side(0);
    cluster.val.clusterDim.y = side(1);
    cluster.val.clusterDim.z = side(2);
  }

  cudaLaunchAttribute* data() { return attributes_; }
  unsigned int count() const { return count_; }

 private:
  cudaLaunchAttribute& added(cudaLaunchAttributeID id) {
    cudaLaunchAttribute& attribute = attributes_[count_++];
    attribute.id = id;
    return attribute;
  }

  cudaLaunchAttribute attributes_[2] = {};
  unsigned int count_ = 0;
};

// Apart, so that the frame of a plain launch has no room for it.
[[gnu::noinline]] void launch_with_attributes(const LaunchShape& shape, const void* function,
                                              void** arguments, cudaStream_t stream) {
  LaunchAttributes attributes(shape);
  // Not by name: gridDim and blockDim are macros of the host device's kernel language.
  const cudaLaunchConfig_t config{shape.grid, shape.block,       shape.shared_bytes,
                                  stream,     attributes.data(), attributes.count()};
  GS_CALL(cudaLaunchKernelExC, &config, function, arguments);
}

void launch(const Operands& in, const Launchable& kernel, int device) {
  const LaunchShape shape(in);
  LaunchArguments arguments(in, kernel);
  const StreamUse stream = use_stream(in.stream(), device);
  make_current(device);
  if (__builtin_expect(shape.is_plain(), 1)) {
    GS_CALL(cudaLaunchKernel, kernel.function, shape.grid, shape.block, arguments.pointers(),
            shape.shared_bytes, stream->stream);
  } else {
    launch_with_attributes(shape, kernel.function, arguments.pointers(), stream->stream);
  }
}

}  // namespace

}  // namespace gridstride

using namespace gridstride;

int32_t gs_kernel_launch(void) {
  return guarded([] {
    const Operands in = Operands::of_thread();
    const int device = in.device();
    with_kernel(in.handle(kernel_operand), device,
                [&](const Launchable& kernel) { launch(in, kernel, device); });
  });
}
