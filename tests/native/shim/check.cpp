#include "check.h"

#include <cmath>
#include <cstdio>
#include <cstring>
#include <limits>

namespace {

int failed = 0;

}  // namespace

void check(bool holds, const std::string& what) {
  std::printf("%s %s\n", holds ? "ok  " : "FAIL", what.c_str());
  if (holds) return;
  failed++;
  double last[3] = {};
  gs.gs_error_last(last);
  std::printf("     last failure: %s in call %g on device %g\n",
              status_name(static_cast<int32_t>(last[0])).c_str(), last[1], last[2]);
}

void check_equal(double actual, double expected, const std::string& what) {
  char numbers[96];
  std::snprintf(numbers, sizeof(numbers), ": %.17g, expected %.17g", actual, expected);
  check(actual == expected, what + (actual == expected ? "" : numbers));
}

void skip(const std::string& what) { std::printf("skip %s\n", what.c_str()); }

int failures() { return failed; }

std::string status_name(int32_t status) {
  char name[64] = {};
  if (gs.gs_status_name(status, name, sizeof(name)) == 0) return name;
  return std::to_string(status);
}

void check_status(int32_t actual, int32_t expected, const std::string& what) {
  const bool holds = actual == expected;
  const std::string detail =
      holds ? "" : ": " + status_name(actual) + " instead of " + status_name(expected);
  check(holds, what + " -> " + status_name(expected) + detail);
}

void set_operands(int device, int32_t stream, std::initializer_list<double> operands) {
  const double refused = std::numeric_limits<double>::quiet_NaN();
  for (double& operand : block.operand) operand = refused;
  for (double& result : block.result) result = refused;
  block.device = device;
  block.stream = stream;
  int index = 0;
  for (const double operand : operands) block.operand[index++] = operand;
}

double allocate(int device, double bytes) {
  set_operands(device, 0, {bytes});
  return gs.gs_memory_allocate() == 0 ? block.result[0] : 0;
}

int32_t free_memory(int device, double address) {
  set_operands(device, 0, {address});
  return gs.gs_memory_free();
}

int32_t make_stream(int device) {
  double handle = 0;
  gs.gs_stream_create(device, 0, &handle);
  return static_cast<int32_t>(handle);
}

int32_t make_event(int device, int timing) {
  double handle = 0;
  gs.gs_event_create(device, timing, &handle);
  return static_cast<int32_t>(handle);
}

Tally tally() {
  double result[GS_TALLY_SLOTS] = {};
  gs.gs_resource_tally(result);
  return Tally{result[0], result[1], result[2], result[3],  result[4], result[5],
               result[6], result[7], result[8], result[10], result[11]};
}

bool operator==(const Tally& one, const Tally& other) {
  return one.allocations == other.allocations && one.bytes == other.bytes &&
         one.streams == other.streams && one.events == other.events && one.slabs == other.slabs &&
         one.slab_bytes == other.slab_bytes && one.reservations == other.reservations &&
         one.mapped_bytes == other.mapped_bytes && one.graphs == other.graphs &&
         one.modules == other.modules && one.programs == other.programs;
}

bool is_host() {
  char text[4096] = {};
  gs.gs_abi_describe(text, sizeof(text));
  return std::strstr(text, "\"kind\":\"host\"") != nullptr;
}

int32_t call_id(const std::string& name) {
  double kinds = 0;
  gs.gs_call_kinds(&kinds);
  for (int32_t id = 1; id <= kinds; id++) {
    char text[64];
    if (gs.gs_call_name(id, text, sizeof(text)) == 0 && name == text) return id;
  }
  return -1;
}
