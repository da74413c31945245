// A kernel that faults: the device is lost, says why, and takes no other device with it. Runs last
// and on the host device only: a GPU's fault would end what the process can do with that GPU.
#include <sys/mman.h>
#include <unistd.h>

#include <cstring>
#include <string>

#include "module_stage.h"
#include "suites.h"
#include "virtual_range.h"

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

// Something of everything, which the library counts. Device 1 has work on the slab.
struct Belongings {
  double memory = allocate(1, 256);
  double page = granularity_of(1);
  double addresses = page == 0 ? 0 : reserve(1, page);
  int32_t stream = make_stream(1);
  int32_t event = make_event(1, 0);
  int32_t graph = 0;
  int32_t pinned = 0;
  int32_t module = 0;  // 0 where there is no machine code
  int32_t kernel = 0;
  size_t slab_bytes = static_cast<size_t>(sysconf(_SC_PAGESIZE));
  void* slab =
      mmap(nullptr, slab_bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

  Belongings() {
    double handle = 0;
    if (page > 0) map(1, addresses, page, page);
    gs.gs_stream_capture(stream, 1);
    gs.gs_stream_capture_end(stream, &handle);
    graph = static_cast<int32_t>(handle);
    gs.gs_pinned_register(0, slab, static_cast<double>(slab_bytes), &handle);
    pinned = static_cast<int32_t>(handle);
    set_operands(1, stream, {memory, handle, 0, 256});
    gs.gs_copy_from_pinned();
    const std::vector<char> code = machine_code();
    if (code.empty()) return;
    module = make_loaded_module(1, code);
    kernel = find_in_module(module, "store_int", store_parameters).id;
  }
  ~Belongings() { munmap(slab, slab_bytes); }
};

// The resources of a lost device are gone and no longer counted, whatever CUDA returns.
void check_belongings(const Belongings& lost, const Tally& before, int32_t fault) {
  check_status(free_memory(1, lost.memory), fault, "freeing its memory");
  check(free_memory(1, lost.memory) == 1, "which then is not known any more");
  if (lost.page > 0) {
    check_status(unmap(1, lost.addresses, lost.page), fault, "unmapping");
    const int32_t released = gs.gs_virtual_release(1, lost.addresses);
    check(released == 0 || released == fault, "its addresses are released");
  }
  check_status(gs.gs_pinned_release(lost.pinned), fault, "giving back pinned memory that it used");
  if (lost.module != 0) {
    check_status(launch_slots(lost.stream, lost.kernel, {1, lost.memory}, 2, {0, 0, 1}), fault,
                 "launching a kernel of its module");
    check_status(gs.gs_module_destroy(lost.module), fault, "giving the module back");
    double attributes[8];
    check_status(gs.gs_kernel_attributes(1, lost.kernel, attributes), GS_ERROR_HANDLE,
                 "whose kernels have ended");
  }
  // Whether these fail is CUDA's to say; what counts is the tally.
  gs.gs_graph_destroy(lost.graph);
  gs.gs_event_destroy(lost.event);
  gs.gs_stream_destroy(lost.stream);
  check(tally() == before, "nothing of it is counted any more");
}

// The same by injection, at every call that gives something back.
void check_injected_losses(int32_t fault) {
  const Tally before = tally();
  const int32_t stream = make_stream(0);
  const int32_t event = make_event(0, 0);
  const double memory = allocate(0, 256);
  const auto fail_next = [&](const char* call) { gs.gs_call_fail(call_id(call), 1, fault); };
  fail_next("cudaStreamDestroy");
  check_status(gs.gs_stream_destroy(stream), fault, "destroying a stream of a lost device");
  check(gs.gs_stream_destroy(stream) == GS_ERROR_HANDLE, "ends its handle");
  fail_next("cudaEventDestroy");
  check_status(gs.gs_event_destroy(event), fault, "destroying an event of a lost device");
  check(gs.gs_event_destroy(event) == GS_ERROR_HANDLE, "ends its handle");
  fail_next("cudaSetDevice");
  check_status(free_memory(0, memory), fault, "freeing memory of a lost device");
  const std::vector<char> code = machine_code();
  for (const char* call : {"cudaDeviceSynchronize", "cudaLibraryUnload"}) {
    if (code.empty()) break;
    const int32_t module = make_loaded_module(0, code);
    fail_next(call);
    check_status(gs.gs_module_destroy(module), fault, "giving back a module of a lost device");
    check(gs.gs_module_destroy(module) == GS_ERROR_HANDLE, "ends its handle");
  }
  check(tally() == before, "nothing of them is counted any more");
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
  const Tally before = tally();
  const Belongings belongings;
  set_operands(1, lost, {kernel, 1, 1, 1, 1, 1, 1, 0, 0, 0, 0, 0, 0});
  check_status(gs.gs_kernel_launch(), 0, "launching a kernel that traps");
  const int32_t fault = gs.gs_stream_synchronize(lost);
  check(fault > 0, "waiting for it fails with a CUDA status (" + status_name(fault) + ")");
  double last[3] = {};
  gs.gs_error_last(last);
  check(last[0] == fault && last[1] == call_id("cudaStreamSynchronize") && last[2] == 1,
        "which is told with its call and its device");
  check_status(gs.gs_device_synchronize(1), fault, "it stays: waiting for the device");
  check_belongings(belongings, before, fault);
  check(fault_of(1).find("fault_trap") != std::string::npos, "the fault names the kernel");
  check(fault_of(0).empty(), "the other device has no fault");
  check_status(gs.gs_stream_synchronize(kept), 0, "and goes on");
  check_pinning_beside(1, 0, fault);
  check_injected_losses(fault);
}
