// Launching: the arguments of the command block become the parameters of the kernel's type.
#include <cstring>

#include "shim/block.h"
#include "shim/guard.h"
#include "shim/module/module.h"
#include "shim/stream/stream.h"

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

// The words that say which arguments are raw bytes: for most launches none.
uint64_t raw_words(const Operands& in) {
  const double low = in.number(raw_words_operand);
  const double high = in.number(raw_words_operand + 1);
  if (__builtin_expect(low == 0 && high == 0, 1)) return 0;
  return checked_integer(low, largest_uint32) | checked_integer(high, largest_uint32) << 32;
}

// The parameters of one launch, as cudaLaunchKernel reads them.
class LaunchArguments {
 public:
  LaunchArguments(const Operands& in, const Launchable& kernel) {
    require(in.integer(argument_count_operand) == static_cast<uint64_t>(kernel.parameter_count),
            GS_ERROR_LAUNCH);
    const uint64_t raw = raw_words(in);
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

// Where a launch runs, and how many blocks.
struct LaunchShape {
  dim3 grid;
  dim3 block;
  size_t shared_bytes;
  cudaStream_t stream;
};

// Which blocks of a launch run at once.
class LaunchAttributes {
 public:
  // As the operands have them.
  LaunchAttributes(double flags, double cluster) {
    if (checked_integer(flags, GS_LAUNCH_COOPERATIVE) != 0) {
      added(cudaLaunchAttributeCooperative).val.cooperative = 1;
    }
    const uint64_t extents = checked_integer(cluster, 0xFFFFFF);
    if (extents == 0) return;
    const auto side = [&](int axis) {
      return static_cast<unsigned int>(extents >> 8 * axis & 0xFF);
    };
    require(side(0) > 0 && side(1) > 0 && side(2) > 0, GS_ERROR_ARGUMENT);
    auto& dimensions = added(cudaLaunchAttributeClusterDimension).val.clusterDim;
    dimensions.x = side(0);
    dimensions.y = side(1);
    dimensions.z = side(2);
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

// Not inlined: the frame of a plain launch stays small.
[[gnu::noinline]] void launch_together(const void* function, const LaunchShape& shape,
                                       void** arguments, LaunchAttributes attributes) {
  // Not by name: gridDim and blockDim are macros of the host device's kernel language.
  const cudaLaunchConfig_t config{shape.grid,   shape.block,       shape.shared_bytes,
                                  shape.stream, attributes.data(), attributes.count()};
  GS_CALL(cudaLaunchKernelExC, &config, function, arguments);
}

void launch(const Operands& in, const Launchable& kernel, int device) {
  const dim3 grid = extent(in, grid_operand);
  const dim3 block = extent(in, block_operand);
  // CUDA takes a size_t here and hands 32 bits of it on.
  const size_t shared_bytes = in.integer(shared_bytes_operand, largest_uint32);
  const double flags = in.number(flags_operand);
  const double cluster = in.number(cluster_operand);
  LaunchArguments arguments(in, kernel);
  const StreamUse stream = use_stream(in.stream(), device);
  make_current(device);
  if (__builtin_expect(flags == 0 && cluster == 0, 1)) {
    GS_CALL(cudaLaunchKernel, kernel.function, grid, block, arguments.pointers(), shared_bytes,
            stream->stream);
  } else {
    launch_together(kernel.function, {grid, block, shared_bytes, stream->stream},
                    arguments.pointers(), {flags, cluster});
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

// ---- loading and attributes --------------------------------------------------------------------

namespace {

// Calls body with the kernel as the driver has it, and its device current.
template <class Body>
void with_driver_kernel(int32_t id, int32_t device, const Body& body) {
  with_kernel(id, device, [&](const Launchable& kernel) {
    make_current(device);
    cudaKernel_t found = static_cast<cudaKernel_t>(const_cast<void*>(kernel.function));
    if (is_built_in(id)) GS_CALL(cudaGetKernel, &found, kernel.function);
    body(found);
  });
}

}  // namespace

int32_t gs_kernel_load(int32_t device, int32_t kernel) {
  return guarded([&] {
    with_driver_kernel(kernel, device, [](cudaKernel_t loaded) {
      const RelaxedCapture relaxed;
      load_kernel(loaded);
    });
  });
}

int32_t gs_kernel_loaded(int32_t device, int32_t kernel, double* result) {
  return guarded([&] {
    require(result != nullptr, GS_ERROR_ARGUMENT);
    with_driver_kernel(kernel, device,
                       [&](cudaKernel_t asked) { result[0] = is_kernel_loaded(asked) ? 1 : 0; });
  });
}

int32_t gs_kernel_attributes(int32_t device, int32_t kernel, double* result) {
  return guarded([&] {
    require(result != nullptr, GS_ERROR_ARGUMENT);
    with_kernel(kernel, device, [&](const Launchable& asked) {
      make_current(device);
      cudaFuncAttributes attributes = {};
      GS_CALL(cudaFuncGetAttributes, &attributes, asked.function);
      result[0] = attributes.maxThreadsPerBlock;
      result[1] = attributes.numRegs;
      result[2] = static_cast<double>(attributes.sharedSizeBytes);
      result[3] = static_cast<double>(attributes.constSizeBytes);
      result[4] = static_cast<double>(attributes.localSizeBytes);
      result[5] = attributes.maxDynamicSharedSizeBytes;
      result[6] = attributes.binaryVersion;
      result[7] = attributes.ptxVersion;
    });
  });
}

int32_t gs_kernel_reserve(int32_t device, int32_t kernel, double bytes) {
  return guarded([&] {
    const int shared_bytes = static_cast<int>(checked_integer(bytes, INT32_MAX));
    with_kernel(kernel, device, [&](const Launchable& reserved) {
      make_current(device);
      GS_CALL(cudaFuncSetAttribute, reserved.function, cudaFuncAttributeMaxDynamicSharedMemorySize,
              shared_bytes);
    });
  });
}

int32_t gs_kernel_residency(int32_t device, int32_t kernel, int32_t threads, double shared_bytes,
                            double* result) {
  return guarded([&] {
    require(result != nullptr && threads > 0, GS_ERROR_ARGUMENT);
    const size_t dynamic_bytes = checked_integer(shared_bytes, largest_uint32);
    with_kernel(kernel, device, [&](const Launchable& asked) {
      make_current(device);
      int blocks = 0;
      GS_CALL(cudaOccupancyMaxActiveBlocksPerMultiprocessor, &blocks, asked.function, threads,
              dynamic_bytes);
      result[0] = blocks;
    });
  });
}
