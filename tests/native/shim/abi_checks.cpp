// Version, build record, command block, statuses, call names: what works without a device.
#include <cstring>
#include <string>
#include <thread>
#include <vector>

#include "check.h"
#include "suites.h"

namespace {

void check_build_record() {
  check_equal(gs.gs_abi_version(), GS_ABI_VERSION, "gs_abi_version() is the header's");
  char text[4096];
  check_status(gs.gs_abi_describe(text, sizeof(text)), 0, "gs_abi_describe()");
  const std::string json = text;
  for (const char* key : {"kind", "compiler", "architectures", "sourceHash", "flags"}) {
    check(json.find('"' + std::string(key) + "\":\"") != std::string::npos,
          std::string("the build record has ") + key);
  }
}

// All text functions go through one writer, so one of them stands for all.
void check_text_capacity() {
  char text[64];
  const std::string name = "GS_ERROR_HANDLE";
  const int32_t size = static_cast<int32_t>(name.size()) + 1;
  std::memset(text, 'x', sizeof(text));
  check_status(gs.gs_status_name(GS_ERROR_HANDLE, text, size), 0, "a buffer that just suffices");
  check(name == text && text[size] == 'x', "is filled and not overrun");
  std::memset(text, 'x', sizeof(text));
  check_status(gs.gs_status_name(GS_ERROR_HANDLE, text, size - 1), GS_ERROR_CAPACITY,
               "a buffer one byte too small");
  check(text[0] == '\0' && text[1] == 'x', "gets a NUL and nothing else");
  check_status(gs.gs_status_name(GS_ERROR_HANDLE, text, 0), GS_ERROR_CAPACITY, "capacity 0");
  check_status(gs.gs_status_name(GS_ERROR_HANDLE, text, -1), GS_ERROR_CAPACITY, "capacity -1");
  check_status(gs.gs_status_name(GS_ERROR_HANDLE, nullptr, 64), GS_ERROR_ARGUMENT, "no buffer");
}

void check_statuses() {
  bool all_named = true;
  for (int32_t status = -1; status >= GS_ERROR_IMAGE; status--) {
    char name[64];
    char text[256];
    all_named = all_named && gs.gs_status_name(status, name, sizeof(name)) == 0 &&
                gs.gs_status_text(status, text, sizeof(text)) == 0 &&
                std::strncmp(name, "GS_ERROR_", 9) == 0 && std::strlen(text) > 10;
  }
  check(all_named, "every status of the header has a name and a text");
  check(status_name(0) == "cudaSuccess", "status 0 is cudaSuccess");
  check(status_name(2) == "cudaErrorMemoryAllocation", "status 2 is cudaErrorMemoryAllocation");
  check(status_name(700) == "cudaErrorIllegalAddress", "status 700 is cudaErrorIllegalAddress");
  char text[256];
  for (const int32_t unknown : {GS_ERROR_IMAGE - 1, INT32_MIN, 77777, INT32_MAX}) {
    check_status(gs.gs_status_name(unknown, text, sizeof(text)), GS_ERROR_ARGUMENT,
                 "the name of " + std::to_string(unknown));
    check_status(gs.gs_status_text(unknown, text, sizeof(text)), GS_ERROR_ARGUMENT,
                 "the text of " + std::to_string(unknown));
  }
}

void check_command_block() {
  check_status(gs.gs_stream_query(), GS_ERROR_NO_BLOCK, "a hot call without a command block");
  check_status(gs.gs_block_register(nullptr, sizeof(block)), GS_ERROR_ARGUMENT, "no block");
  check_status(gs.gs_block_register(&block, sizeof(block) - 1), GS_ERROR_CAPACITY,
               "a block one byte too small");
  char* const odd = reinterpret_cast<char*>(&block) + 4;
  check_status(gs.gs_block_register(odd, sizeof(block)), GS_ERROR_ALIGNMENT,
               "a block off alignment");
  check_status(gs.gs_block_register(&block, sizeof(block)), 0, "a block");
  set_operands(0, 12345, {});
  check_status(gs.gs_stream_query(), GS_ERROR_HANDLE, "a hot call with a command block");
  int32_t elsewhere = 0;
  std::thread([&] { elsewhere = gs.gs_stream_query(); }).join();
  check_status(elsewhere, GS_ERROR_NO_BLOCK, "the same call on a thread of its own");
  check_status(gs.gs_block_release(), 0, "releasing the block");
  check_status(gs.gs_stream_query(), GS_ERROR_NO_BLOCK, "a hot call after that");
  check_status(gs.gs_block_register(&block, sizeof(block)), 0, "registering it again");
}

void check_last_failure() {
  double last[3] = {};
  gs.gs_stream_destroy(-7);
  check_status(gs.gs_error_last(last), 0, "gs_error_last()");
  check_equal(last[0], GS_ERROR_HANDLE, "tells the status");
  check_equal(last[1], 0, "tells that no CUDA call was involved");
  check_equal(last[2], -1, "tells that no device was concerned");
  double elsewhere[3] = {9, 9, 9};
  std::thread([&] { gs.gs_error_last(elsewhere); }).join();
  check(elsewhere[0] == 0 && elsewhere[1] == 0 && elsewhere[2] == -1,
        "a thread without a failure has none to tell");
}

void check_call_names() {
  double kinds = 0;
  check_status(gs.gs_call_kinds(&kinds), 0, "gs_call_kinds()");
  std::vector<std::string> names;
  for (int32_t id = 1; id <= kinds; id++) {
    char name[64] = {};
    if (gs.gs_call_name(id, name, sizeof(name)) == 0) names.push_back(name);
  }
  check_equal(static_cast<double>(names.size()), kinds, "every kind of call has a name");
  check(call_id("cudaMalloc") > 0 && call_id("cudaLaunchKernel") > 0, "names are CUDA's");
  char name[64];
  check_status(gs.gs_call_name(0, name, 64), GS_ERROR_NOT_FOUND, "the name of call 0");
  check_status(gs.gs_call_name(static_cast<int32_t>(kinds) + 1, name, 64), GS_ERROR_NOT_FOUND,
               "the name of the call after the last");
}

}  // namespace

void check_abi() {
  check_build_record();
  check_text_capacity();
  check_statuses();
  check_command_block();
  check_last_failure();
  check_call_names();
}
