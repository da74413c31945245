// Version and build record of the library, and command block registration.
#include <string>

#include "shim/device/device.h"
#include "shim/guard.h"
#include "shim/memory/memory.h"

// The build passes these as strings.
#ifndef GS_BUILD_COMPILER
#define GS_BUILD_COMPILER "unknown"
#endif
#ifndef GS_BUILD_ARCHITECTURES
#define GS_BUILD_ARCHITECTURES "unknown"
#endif
#ifndef GS_BUILD_SOURCE_HASH
#define GS_BUILD_SOURCE_HASH "unknown"
#endif
#ifndef GS_BUILD_FLAGS
#define GS_BUILD_FLAGS "unknown"
#endif

static_assert(sizeof(gs_command_block) ==
                  (GS_RESULT_SLOTS + 2 + GS_OPERAND_SLOTS + GS_ARGUMENT_SLOTS) * sizeof(double),
              "the command block is an array of doubles to JavaScript");

namespace gridstride {

namespace {

void append_json_string(std::string& json, std::string_view text) {
  static constexpr char digits[] = "0123456789abcdef";
  json += '"';
  for (const char letter : text) {
    const unsigned char byte = static_cast<unsigned char>(letter);
    if (letter == '"' || letter == '\\') {
      json += '\\';
      json += letter;
    } else if (byte < 0x20) {
      json += "\\u00";
      json += digits[byte >> 4];
      json += digits[byte & 15];
    } else {
      json += letter;
    }
  }
  json += '"';
}

std::string build_record() {
  const struct {
    const char* key;
    const char* value;
  } members[] = {
      {"kind", library_kind()},
      {"compiler", GS_BUILD_COMPILER},
      {"architectures", GS_BUILD_ARCHITECTURES},
      {"sourceHash", GS_BUILD_SOURCE_HASH},
      {"flags", GS_BUILD_FLAGS},
  };
  std::string json;
  for (const auto& member : members) {
    json += json.empty() ? '{' : ',';
    append_json_string(json, member.key);
    json += ':';
    append_json_string(json, member.value);
  }
  json += '}';
  return json;
}

}  // namespace

}  // namespace gridstride

using namespace gridstride;

int32_t gs_abi_version(void) { return GS_ABI_VERSION; }

int32_t gs_abi_describe(char* text, int32_t capacity) {
  return guarded([&] { write_text(build_record(), text, capacity); });
}

int32_t gs_block_register(void* block, double bytes) {
  return guarded([&] {
    require(block != nullptr, GS_ERROR_ARGUMENT);
    require(checked_integer(bytes) >= sizeof(gs_command_block), GS_ERROR_CAPACITY);
    require(address_of(block) % alignof(gs_command_block) == 0, GS_ERROR_ALIGNMENT);
    thread_state.block = static_cast<gs_command_block*>(block);
  });
}

int32_t gs_block_release(void) {
  return guarded([] { thread_state.block = nullptr; });
}
