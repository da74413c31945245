// Modules: kernels by name, their parameters and resources, variables, devices, and unloading.
#include <algorithm>
#include <chrono>
#include <cstring>
#include <thread>
#include <vector>

#include "check.h"
#include "cuda.h"
#include "host/device/device.h"
#include "host/module/loaded_module.h"
#include "module_files.h"
#include "suites.h"

namespace runtime_test {
namespace {

using gridstride::host::find_device;
using gridstride::host::LoadedModule;
using gridstride::host::ModuleVariables;

template <typename... Arguments>
cudaError_t launch(cudaKernel_t kernel, dim3 grid, dim3 block, cudaStream_t stream,
                   Arguments... arguments) {
  void* addresses[] = {&arguments..., nullptr};
  return cudaLaunchKernel(kernel, grid, block, addresses, 0, stream);
}

void check_names() {
  const LoadedLibrary library;
  unsigned count = 0;
  REQUIRE(cudaLibraryGetKernelCount(&count, library.handle()));
  CHECK(count == 8, "a module has as many kernels as its table");
  std::vector<cudaKernel_t> kernels(count + 1, nullptr);
  REQUIRE(cudaLibraryEnumerateKernels(kernels.data(), count + 1, library.handle()));
  const char* name = nullptr;
  CHECK(cuKernelGetName(&name, kernels[2]) == CUDA_SUCCESS &&
            std::strcmp(name, "reverse<double, 32>") == 0 && kernels[count] == nullptr,
        "they are listed in the order of the table, with their names");
  CHECK(library.kernel("reverse<double, 32>") == kernels[2], "a kernel is found by its name");
  cudaKernel_t kernel = nullptr;
  for (const char* wrong : {"", "weig", "weighs", "reverse", "filter::weights"}) {
    CHECK_STATUS(cudaLibraryGetKernel(&kernel, library.handle(), wrong), cudaErrorSymbolNotFound,
                 "there is no kernel \"" + std::string(wrong) + "\"");
  }
  void* address = nullptr;
  CHECK_STATUS(cudaLibraryGetGlobal(&address, nullptr, library.handle(), "weigh"),
               cudaErrorSymbolNotFound, "a kernel is no variable");
}

void check_parameters() {
  const LoadedLibrary library;
  const cudaKernel_t kernel = library.kernel("read_fixed");
  // char, a structure of a double and a char, a pointer, a short.
  const std::size_t offsets[] = {0, 8, 24, 32};
  const std::size_t sizes[] = {1, 16, 8, 2};
  bool right = true;
  for (std::size_t i = 0; i < 4; ++i) {
    std::size_t offset = 99;
    std::size_t bytes = 99;
    right = right && cuKernelGetParamInfo(kernel, i, &offset, &bytes) == CUDA_SUCCESS &&
            offset == offsets[i] && bytes == sizes[i];
  }
  CHECK(right, "parameters are at the offsets of their alignments");
  std::size_t offset = 0;
  CHECK(cuKernelGetParamInfo(kernel, 4, &offset, nullptr) == CUDA_ERROR_INVALID_VALUE,
        "behind the last there is none");
  CHECK(cuKernelGetParamInfo(nullptr, 0, &offset, nullptr) == CUDA_ERROR_INVALID_HANDLE,
        "null is no kernel");
}

// tests/native/runtime_module.cu says which kernel declares what.
void check_resources() {
  const LoadedLibrary library;
  const auto shared = [&](const char* name) {
    cudaFuncAttributes attributes;
    REQUIRE(cudaFuncGetAttributes(&attributes, library.kernel(name)));
    CHECK(attributes.maxDynamicSharedSizeBytes + static_cast<int>(attributes.sharedSizeBytes) ==
              48 * 1024,
          "static shared memory leaves that much less for dynamic");
    return attributes.sharedSizeBytes;
  };
  constexpr std::size_t of_device_functions = 4 * sizeof(float);
  CHECK(shared("weigh") == of_device_functions, "a kernel without arrays has none of its own");
  CHECK(shared("reverse<float, 256>") == 256 * sizeof(float) + of_device_functions,
        "a template's instance has its own array");
  CHECK(shared("reverse<double, 32>") == 32 * sizeof(double) + of_device_functions,
        "and another one another");
  CHECK(shared("spread") == 64 * sizeof(float) + of_device_functions,
        "a kernel of an unnamed namespace has its own too");
  CHECK(shared("meet") == sizeof(int) + of_device_functions, "and so has one with a variable");
}

void check_results() {
  const LoadedLibrary library;
  constexpr int count = 1009;
  float* memory = nullptr;
  REQUIRE(cudaMalloc(&memory, 2 * count * sizeof(float)));
  std::vector<float> values(count);
  for (int i = 0; i < count; ++i) values[static_cast<std::size_t>(i)] = static_cast<float>(i);
  REQUIRE(cudaMemcpy(memory, values.data(), count * sizeof(float), cudaMemcpyHostToDevice));
  const float weights[] = {0.5f, -1, 4};
  void* const constant = library.variable("filter::weights", sizeof weights);
  REQUIRE(cudaMemcpy(constant, weights, sizeof weights, cudaMemcpyHostToDevice));
  REQUIRE(launch(library.kernel("weigh"), 8, 128, nullptr, memory, memory + count, count));
  std::vector<float> result(count);
  REQUIRE(cudaMemcpy(result.data(), memory + count, count * sizeof(float), cudaMemcpyDeviceToHost));
  bool right = true;
  for (std::size_t i = 0; i < result.size(); ++i) {
    right = right && result[i] == values[i] * weights[i % 3];
  }
  CHECK(right, "a kernel reads a __constant__ that was copied to before");
  unsigned launched = 0;
  void* const counter = library.variable("counter", sizeof launched);
  REQUIRE(cudaMemcpy(&launched, counter, sizeof launched, cudaMemcpyDeviceToHost));
  CHECK(launched == 1024, "and writes a __device__ variable that is read afterwards");
  REQUIRE(launch(library.kernel("reverse<float, 256>"), 1, 256, nullptr, memory, memory + count));
  REQUIRE(cudaMemcpy(result.data(), memory + count, 256 * sizeof(float), cudaMemcpyDeviceToHost));
  right = true;
  for (std::size_t i = 0; i < 256; ++i) right = right && result[i] == values[255 - i];
  CHECK(right, "a kernel with a static shared array reverses");
  REQUIRE(launch(library.kernel("spread"), 1, 64, nullptr, memory + 7, memory + count));
  REQUIRE(cudaMemcpy(result.data(), memory + count, 64 * sizeof(float), cudaMemcpyDeviceToHost));
  CHECK(std::count(result.begin(), result.begin() + 64, 7.0f) == 64,
        "a device function with one spreads");
  REQUIRE(cudaFree(memory));
}

struct Wide {
  double first;
  char last;
};

void check_constants() {
  const LoadedLibrary library;
  int* out = nullptr;
  REQUIRE(cudaMalloc(&out, 5 * sizeof(int)));
  REQUIRE(
      launch(library.kernel("read_fixed"), 1, 5, nullptr, char{1}, Wide{100, 'x'}, out, short{2}));
  int result[5] = {};
  REQUIRE(cudaMemcpy(result, out, sizeof result, cudaMemcpyDeviceToHost));
  CHECK(result[0] == 102 && result[4] == 111, "a constant has its initial value");
  void* const fixed = library.variable("filter::fixed", sizeof result);
  const int others[5] = {20, 30, 50, 70, 110};
  CHECK_STATUS(cudaMemcpy(fixed, others, sizeof others, cudaMemcpyHostToDevice), cudaSuccess,
               "one that is const in C++ can be copied to");
  REQUIRE(cudaMemcpy(result, fixed, sizeof result, cudaMemcpyDeviceToHost));
  CHECK(std::memcmp(result, others, sizeof result) == 0, "and from");
  REQUIRE(cudaFree(out));
}

void check_ranges() {
  const LoadedLibrary library;
  constexpr std::size_t bytes = 1000 * sizeof(double);
  auto* const large = static_cast<unsigned char*>(library.variable("large", bytes));
  std::vector<unsigned char> host(bytes + 1);
  const auto refused = cudaErrorInvalidValue;
  CHECK_STATUS(cudaMemset(large, 7, bytes), cudaSuccess, "a variable can be filled");
  CHECK_STATUS(cudaMemset(large, 7, bytes + 1), refused, "but not past its end");
  CHECK_STATUS(cudaMemcpy(host.data(), large, bytes + 1, cudaMemcpyDeviceToHost), refused,
               "nor read there");
  CHECK_STATUS(cudaMemcpy(large + 1, host.data(), bytes, cudaMemcpyHostToDevice), refused,
               "nor written there");
  CHECK_STATUS(cudaMemcpy(large + bytes - 1, host.data(), 1, cudaMemcpyHostToDevice), cudaSuccess,
               "its last byte is its own");
  CHECK_STATUS(cudaMemcpy(host.data(), large, 8, cudaMemcpyHostToDevice), refused,
               "it is no host memory");
  cudaPointerAttributes attributes;
  REQUIRE(cudaPointerGetAttributes(&attributes, large + bytes - 1));
  CHECK(attributes.type == cudaMemoryTypeDevice && attributes.device == first_device &&
            attributes.hostPointer == nullptr,
        "it is memory of its device");
  CHECK_STATUS(cudaFree(large), refused, "that cudaFree does not free");
}

void check_devices_apart() {
  const LoadedLibrary library;
  const float ones[] = {1, 1, 1};
  const float twos[] = {2, 2, 2};
  void* const first = library.variable("filter::weights", sizeof ones);
  REQUIRE(cudaSetDevice(second_device));
  const std::size_t before = find_device(second_device)->memory().free_bytes();
  void* const second = library.variable("filter::weights", sizeof ones);
  CHECK(first != second, "each device has variables of its own");
  // Four variables, each in units of 512 bytes.
  CHECK(before - find_device(second_device)->memory().free_bytes() == 3 * 512 + 8192,
        "which are charged to it");
  CHECK(library.variable("filter::weights", sizeof ones) == second, "at addresses that stay");
  REQUIRE(cudaMemcpy(first, ones, sizeof ones, cudaMemcpyHostToDevice));
  REQUIRE(cudaMemcpy(second, twos, sizeof twos, cudaMemcpyHostToDevice));
  const cudaKernel_t kernel = library.kernel("weigh");
  for (const int device : {second_device, first_device}) {
    REQUIRE(cudaSetDevice(device));
    float* memory = nullptr;
    REQUIRE(cudaMalloc(&memory, 2 * sizeof(float)));
    const float three = 3;
    REQUIRE(cudaMemcpy(memory, &three, sizeof three, cudaMemcpyHostToDevice));
    REQUIRE(launch(kernel, 1, 1, nullptr, memory, memory + 1, 1));
    float result = 0;
    REQUIRE(cudaMemcpy(&result, memory + 1, sizeof result, cudaMemcpyDeviceToHost));
    CHECK(result == (device == first_device ? 3.0f : 6.0f), "and one kernel handle uses them");
    REQUIRE(cudaFree(memory));
  }
}

void check_two_of_one_image() {
  const LoadedLibrary one;
  const LoadedLibrary other;
  void* const counter = one.variable("counter", sizeof(unsigned));
  CHECK(counter != other.variable("counter", sizeof(unsigned)),
        "an image that is loaded twice has variables twice");
  CHECK(one.kernel("weigh") != other.kernel("weigh"), "and kernels");
}

void check_unloading() {
  cudaKernel_t kernel = nullptr;
  void* variable = nullptr;
  cudaLibrary_t handle = nullptr;
  {
    const LoadedLibrary library;
    handle = library.handle();
    kernel = library.kernel("weigh");
    variable = library.variable("counter", sizeof(unsigned));
  }
  CHECK(LoadedModule::live() == 0, "an unloaded module is gone");
  CHECK_STATUS(launch(kernel, 1, 1, nullptr, variable, variable, 0), cudaErrorInvalidDeviceFunction,
               "its kernel is none");
  CHECK_STATUS(cudaMemset(variable, 0, 4), cudaErrorInvalidValue, "its variable is no memory");
  CHECK_STATUS(cudaLibraryUnload(handle), cudaErrorInvalidResourceHandle, "its handle names none");
  CHECK_STATUS(cudaLibraryGetKernel(&kernel, handle, "weigh"), cudaErrorInvalidResourceHandle,
               "and finds nothing");
  unsigned count = 0;
  CHECK_STATUS(cudaLibraryGetKernelCount(&count, handle), cudaErrorInvalidResourceHandle,
               "nor counts anything");
  CHECK_STATUS(cudaLibraryUnload(nullptr), cudaErrorInvalidResourceHandle, "null is no library");
}

// The kernel's code must be there until it ends, and unloading waits for that.
void check_unloading_under_way() {
  cudaStream_t stream = nullptr;
  REQUIRE(cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking));
  int* flag = nullptr;
  REQUIRE(cudaMalloc(&flag, sizeof(int)));
  REQUIRE(cudaMemset(flag, 0, sizeof(int)));
  std::thread setter;
  {
    const LoadedLibrary library;
    const cudaKernel_t kernel = library.kernel("wait_for");
    for (int i = 0; i < 3; ++i) REQUIRE(launch(kernel, 5, 33, stream, flag));
    // Device memory is the process's own here.
    setter = std::thread([flag] {
      std::this_thread::sleep_for(std::chrono::milliseconds(20));
      __atomic_store_n(flag, 1, __ATOMIC_RELEASE);
    });
  }
  CHECK_STATUS(cudaStreamQuery(stream), cudaSuccess, "unloading waits for what was enqueued");
  setter.join();
  REQUIRE(cudaFree(flag));
  REQUIRE(cudaStreamDestroy(stream));
}

// A copy lets go of the module before it counts as done: a thread that waited may unload it.
void check_copies_end() {
  const LoadedLibrary library;
  char* const large = static_cast<char*>(library.variable("large", 8000));
  const auto holders = [=] { return ModuleVariables::instance().module_at(large).use_count(); };
  const long at_rest = holders();
  int held = 0;
  for (int round = 0; round < 5000; ++round) {
    REQUIRE(cudaMemcpyAsync(large, large + 4000, 4000, cudaMemcpyDeviceToDevice, nullptr));
    REQUIRE(cudaStreamSynchronize(nullptr));
    held += holders() != at_rest;
  }
  CHECK(held == 0, "a copy that is done holds no module");
}

void check_capture() {
  const LoadedLibrary library;
  cudaStream_t stream = nullptr;
  REQUIRE(cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking));
  void* const counter = library.variable("counter", sizeof(unsigned));
  REQUIRE(cudaStreamBeginCapture(stream, cudaStreamCaptureModeRelaxed));
  REQUIRE(cudaMemsetAsync(counter, 0, sizeof(unsigned), stream));
  REQUIRE(launch(library.kernel("weigh"), 3, 5, stream, counter, counter, 0));
  cudaGraph_t graph = nullptr;
  cudaGraphExec_t executable = nullptr;
  REQUIRE(cudaStreamEndCapture(stream, &graph));
  REQUIRE(cudaGraphInstantiate(&executable, graph));
  for (int i = 0; i < 2; ++i) REQUIRE(cudaGraphLaunch(executable, stream));
  REQUIRE(cudaStreamSynchronize(stream));
  unsigned launched = 0;
  REQUIRE(cudaMemcpy(&launched, counter, sizeof launched, cudaMemcpyDeviceToHost));
  CHECK(launched == 15, "a graph launches a module's kernel and fills its variable");
  REQUIRE(cudaGraphExecDestroy(executable));
  REQUIRE(cudaGraphDestroy(graph));
  REQUIRE(cudaStreamDestroy(stream));
}

// Loading, launching and unloading by several threads at once, on two devices.
void check_threads_at_once() {
  const auto work = [](int device) {
    REQUIRE(cudaSetDevice(device));
    for (int round = 0; round < 5; ++round) {
      const LoadedLibrary library;
      void* const counter = library.variable("counter", sizeof(unsigned));
      for (int i = 0; i < 4; ++i) {
        REQUIRE(launch(library.kernel("weigh"), 3, 7, nullptr, counter, counter, 0));
      }
      unsigned launched = 0;
      REQUIRE(cudaMemcpy(&launched, counter, sizeof launched, cudaMemcpyDeviceToHost));
      if (launched != 84) CHECK(false, "threads that load modules have modules of their own");
    }
  };
  std::vector<std::thread> threads;
  for (int i = 0; i < 4; ++i) {
    threads.emplace_back(work, i % 2 == 0 ? first_device : second_device);
  }
  for (std::thread& thread : threads) thread.join();
  CHECK(LoadedModule::live() == 0, "and nothing is left of them");
}

}  // namespace

void check_modules() {
  if (image_of(ModuleFile::complete).empty()) {
    CHECK(false, "the program is given the paths of the modules");
    return;
  }
  check_names();
  check_parameters();
  check_resources();
  check_results();
  check_constants();
  check_ranges();
  check_devices_apart();
  check_two_of_one_image();
  check_unloading();
  check_unloading_under_way();
  check_copies_end();
  check_capture();
  check_threads_at_once();
}

void check_module_faults() {
  REQUIRE(cudaSetDevice(module_victim_device));
  const Loading loading = load_image(image_of(ModuleFile::complete));
  REQUIRE(loading.status);
  cudaKernel_t kernel = nullptr;
  REQUIRE(cudaLibraryGetKernel(&kernel, loading.library, "write_null"));
  int* const null = nullptr;
  REQUIRE(launch(kernel, 1, 3, nullptr, null));
  CHECK_STATUS(cudaDeviceSynchronize(), cudaErrorIllegalAddress, "a module's kernel faults");
  const std::string text = gridstride::host::fault_description(module_victim_device);
  CHECK(text.find("kernel write_null, block (0,0,0), thread (0,0,0)") != std::string::npos,
        "by the name that the user knows: " + text);
  const Loading late = load_image(image_of(ModuleFile::complete));
  CHECK_STATUS(late.status, cudaErrorIllegalAddress, "a lost device loads nothing");
  CHECK_STATUS(cudaLibraryUnload(loading.library), cudaErrorIllegalAddress,
               "unloading tells the fault");
  CHECK(LoadedModule::live() == 0, "and unloads");
  REQUIRE(cudaSetDevice(first_device));
  (void)cudaGetLastError();
}

// A graph keeps no module loaded.
void check_lost_kernels() {
  REQUIRE(cudaSetDevice(lost_kernel_victim_device));
  cudaStream_t stream = nullptr;
  REQUIRE(cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking));
  cudaGraph_t graph = nullptr;
  {
    const LoadedLibrary library;
    void* const counter = library.variable("counter", sizeof(unsigned));
    REQUIRE(cudaStreamBeginCapture(stream, cudaStreamCaptureModeRelaxed));
    REQUIRE(launch(library.kernel("weigh"), 1, 1, stream, counter, counter, 0));
    REQUIRE(cudaStreamEndCapture(stream, &graph));
  }
  CHECK(LoadedModule::live() == 0, "a graph does not keep a module loaded");
  cudaGraphExec_t executable = nullptr;
  REQUIRE(cudaGraphInstantiate(&executable, graph));
  REQUIRE(cudaGraphLaunch(executable, stream));
  CHECK_STATUS(cudaStreamSynchronize(stream), cudaErrorInvalidDeviceFunction,
               "and its launch is a fault once that was unloaded");
  const std::string text = gridstride::host::fault_description(lost_kernel_victim_device);
  CHECK(text.find("weigh") != std::string::npos, "that names the kernel: " + text);
  REQUIRE(cudaGraphExecDestroy(executable));
  REQUIRE(cudaGraphDestroy(graph));
  REQUIRE(cudaSetDevice(first_device));
  (void)cudaGetLastError();
}

}  // namespace runtime_test
