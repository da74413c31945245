// A kernel that faults: the device is lost, says why, and takes no other device with it. Runs last
// and on the host device only: a GPU's fault would end what the process can do with that GPU.
#include <sys/mman.h>
#include <unistd.h>

#include <cstring>
#include <string>

#include "check.h"
#include "suites.h"

namespace {

std::string fault_of(int32_t device) {
  char text[1024] = {};
  return gs.gs_device_fault(device, text, sizeof(text)) == 0 ? text : "no answer";
}

// The registration needs a context: that of the device named, whatever the calls before it named.
void check_pinning_beside(int32_t lost, int32_t kept, int32_t fault) {
  const size_t bytes = static_cast<size_t>(sysconf(_SC_PAGESIZE));
  void* const slab =
      mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  double handle = 0;
  check_status(gs.gs_pinned_register(lost, slab, static_cast<double>(bytes), &handle), fault,
               "pinning memory for the lost device");
  check_status(gs.gs_pinned_register(kept, slab, static_cast<double>(bytes), &handle), 0,
               "pinning memory for the other");
  check_status(gs.gs_pinned_release(static_cast<int32_t>(handle)), 0, "giving that back");
  munmap(slab, bytes);
}

}  // namespace

void check_faults() {
  double kernel = 0;
  if (!is_host() || gs.gs_kernel_find("fault_trap", &kernel) != 0) {
    skip("faults: this is no host library that holds fault_trap");
    return;
  }
  const int32_t lost = make_stream(1);
  const int32_t kept = make_stream(0);
  const double memory = allocate(1, 256);
  set_operands(1, lost, {kernel, 1, 1, 1, 1, 1, 1, 0, 0, 0, 0});
  check_status(gs.gs_kernel_launch(), 0, "launching a kernel that traps");
  const int32_t fault = gs.gs_stream_synchronize(lost);
  check(fault > 0, "waiting for it fails with a CUDA status (" + status_name(fault) + ")");
  double last[3] = {};
  gs.gs_error_last(last);
  check(last[0] == fault && last[1] == call_id("cudaStreamSynchronize") && last[2] == 1,
        "which is told with its call and its device");
  check_status(gs.gs_device_synchronize(1), fault, "it stays: waiting for the device");
  check_status(free_memory(1, memory), fault, "freeing its memory");
  check_equal(tally().allocations, 1, "which stays counted");
  check(fault_of(1).find("fault_trap") != std::string::npos, "the fault names the kernel");
  check(fault_of(0).empty(), "the other device has no fault");
  check_status(gs.gs_stream_synchronize(kept), 0, "and goes on");
  check_pinning_beside(1, 0, fault);
}
