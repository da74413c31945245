// Names and counts of the wrapped CUDA calls, and fault injection.
#include "shim/call.h"

#include <mutex>

#include "shim/guard.h"

namespace gridstride {

CallCounter call_counters[call_kind_count + 1];
std::atomic<int32_t> injections_held{0};

namespace {

#define GS_CALL_NAME(function) #function,
constexpr const char* call_names[] = {"", GS_CALLS(GS_CALL_NAME)};
#undef GS_CALL_NAME

struct Injection {
  uint64_t calls_left = 0;  // 0: none is held
  int32_t status = 0;
};

std::mutex injection_mutex;
Injection injections[call_kind_count + 1];  // index 0: a call of any kind

// One call goes by: the injection's status when it was the awaited one, else 0.
int32_t count_down(Injection& injection) {
  if (injection.calls_left == 0 || --injection.calls_left != 0) return 0;
  injections_held.fetch_sub(1, std::memory_order_relaxed);
  return injection.status;
}

int32_t checked_kind(int32_t call, int32_t first) {
  require(call >= first && call <= call_kind_count, GS_ERROR_NOT_FOUND);
  return call;
}

}  // namespace

int32_t injected_status(CallKind kind) {
  const std::lock_guard<std::mutex> lock(injection_mutex);
  // Both count this call, also when one of them fails it.
  const int32_t of_kind = count_down(injections[static_cast<int32_t>(kind)]);
  const int32_t of_any = count_down(injections[static_cast<int32_t>(CallKind::none)]);
  return of_kind != 0 ? of_kind : of_any;
}

[[gnu::cold]] int32_t settle_failed_call(cudaError_t code) {
  // All libraries on this thread share the slot: an error left there would surface in another.
  static_cast<void>(cudaGetLastError());
  return code == cudaErrorInvalidDevice ? GS_ERROR_DEVICE : static_cast<int32_t>(code);
}

[[gnu::cold]] void fail_call(CallKind kind, int32_t status) {
  throw Failure{status, static_cast<int32_t>(kind), thread_state.device};
}

}  // namespace gridstride

using namespace gridstride;

int32_t gs_call_kinds(double* result) {
  return guarded([&] {
    require(result != nullptr, GS_ERROR_ARGUMENT);
    result[0] = call_kind_count;
  });
}

int32_t gs_call_name(int32_t call, char* text, int32_t capacity) {
  return guarded([&] { write_text(call_names[checked_kind(call, 1)], text, capacity); });
}

int32_t gs_call_tally(int32_t call, double* result) {
  return guarded([&] {
    require(result != nullptr, GS_ERROR_ARGUMENT);
    const int32_t kind = checked_kind(call, 0);
    const int32_t first = kind == 0 ? 1 : kind;
    const int32_t last = kind == 0 ? call_kind_count : kind;
    uint64_t made = 0;
    for (int32_t each = first; each <= last; each++) {
      made += call_counters[each].made.load(std::memory_order_relaxed);
    }
    result[0] = static_cast<double>(made);
  });
}

int32_t gs_call_fail(int32_t call, double nth, int32_t status) {
  return guarded([&] {
    const int32_t kind = checked_kind(call, 0);
    const uint64_t calls_left = checked_integer(nth);
    require(calls_left > 0, GS_ERROR_ARGUMENT);
    // A call that is skipped and reports success would return values that were never written.
    require(status != 0, GS_ERROR_ARGUMENT);
    const std::lock_guard<std::mutex> lock(injection_mutex);
    if (injections[kind].calls_left == 0) injections_held.fetch_add(1, std::memory_order_relaxed);
    injections[kind] = Injection{calls_left, status};
  });
}

int32_t gs_call_restore(void) {
  return guarded([] {
    const std::lock_guard<std::mutex> lock(injection_mutex);
    for (Injection& injection : injections) injection = Injection{};
    injections_held.store(0, std::memory_order_relaxed);
  });
}
