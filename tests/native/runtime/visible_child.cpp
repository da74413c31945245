// Roles of the child: what a process with other environment variables sees.
#include "visible_child.h"

#include <sys/wait.h>

#include <chrono>
#include <cstdio>
#include <thread>

#include "gate.h"
#include "host/device/device.h"
#include "suites.h"
#include "virtual_range.h"

namespace runtime_test {
namespace {

std::string program_path;

// The bus ids of the visible devices, which stay with the devices whatever their ordinals are.
int print_visible_devices() {
  int count = -1;
  const cudaError_t status = cudaGetDeviceCount(&count);
  std::string text = std::string(cudaGetErrorName(status)) + " " + std::to_string(count);
  for (int device = 0; device < count; ++device) {
    char bus[32] = "";
    if (cudaDeviceGetPCIBusId(bus, sizeof bus, device) != cudaSuccess) return 1;
    text += std::string(" ") + bus;
  }
  std::printf("%s\n", text.c_str());
  return 0;
}

__global__ void wait_a_moment(int* done) {
  std::this_thread::sleep_for(std::chrono::milliseconds(20));
  *done = 1;
}

int print_launch_blocking() {
  int* done = nullptr;
  cudaStream_t stream = nullptr;
  if (cudaMalloc(&done, sizeof(int)) != cudaSuccess) return 1;
  if (cudaMemset(done, 0, sizeof(int)) != cudaSuccess) return 1;
  if (cudaDeviceSynchronize() != cudaSuccess) return 1;
  if (cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking) != cudaSuccess) return 1;
  void* arguments[] = {&done};
  const auto* const kernel =
      gridstride::host::kernel_descriptor<&wait_a_moment>("wait_a_moment");
  if (cudaLaunchKernel(kernel, 1, 1, arguments, 0, stream) != cudaSuccess) return 1;
  std::printf("%s\n", cudaGetErrorName(cudaStreamQuery(stream)));
  return cudaStreamSynchronize(stream) == cudaSuccess ? 0 : 1;
}

int print_default_device() {
  cudaDeviceProp properties;
  if (cudaGetDeviceProperties(&properties, 0) != cudaSuccess) return 1;
  int count = 0;
  if (cudaGetDeviceCount(&count) != cudaSuccess) return 1;
  const bool has_memory = properties.totalGlobalMem >= mebibyte;
  std::printf("%d %s %s\n", count, properties.name, has_memory ? "with memory" : "empty");
  // Fixed by the calls above: another topology comes too late.
  const auto topology = test_topology();
  return gridstride::host::set_topology(topology.data(), device_total) == 1 ? 0 : 1;
}

}  // namespace

void set_program_path(const char* path) { program_path = path; }

bool is_child_role(const std::string& role) { return role.rfind("child-", 0) == 0; }

int run_child(const std::string& role) {
  if (role == "child-default") return print_default_device();
  const std::vector<double> topology = test_topology();
  if (gridstride::host::set_topology(topology.data(), device_total) != 0) return 2;
  if (role == "child-visible") return print_visible_devices();
  if (role == "child-blocking") return print_launch_blocking();
  if (role == "child-no-memory-files") return check_without_memory_files();
  return 2;
}

std::string run_as_child(const std::string& role, const std::string& variable,
                         const std::string& value) {
  const std::string command =
      variable + "='" + value + "' '" + program_path + "' " + role + " 2>&1";
  FILE* const output = popen(command.c_str(), "r");
  if (output == nullptr) return "cannot start";
  std::string text;
  char part[256];
  while (std::fgets(part, sizeof part, output) != nullptr) text += part;
  const int status = pclose(output);
  if (!WIFEXITED(status) || WEXITSTATUS(status) != 0) {
    return "exit " + std::to_string(status) + ": " + text;
  }
  if (!text.empty() && text.back() == '\n') text.pop_back();
  return text;
}

}  // namespace runtime_test
