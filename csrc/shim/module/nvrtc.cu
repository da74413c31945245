// Programs for NVRTC, by handle.
#include <cstring>

#include "shim/checked_integer.h"
#include "shim/module/nvrtc_program.h"
#include "shim/text.h"

using namespace gridstride;

int32_t gs_nvrtc_create(const char* texts, double bytes, int32_t options, int32_t headers,
                        int32_t expressions, double* result) {
  return guarded([&] {
    require(texts != nullptr && result != nullptr, GS_ERROR_ARGUMENT);
    require(options >= 0 && headers >= 0 && expressions >= 0, GS_ERROR_ARGUMENT);
    const size_t size = static_cast<size_t>(checked_integer(bytes));
    HandleTable<HeldNvrtcProgram>::Reservation made = nvrtc_programs.reserve();
    const NvrtcProgramCounts counts = {options, headers, expressions};
    made->program = new NvrtcProgram(texts, size, counts);
    result[0] = made.publish();
  });
}

int32_t gs_nvrtc_compile(int32_t program) {
  return guarded([&] { nvrtc_programs.use(program)->program->compile(); });
}

int32_t gs_nvrtc_output(int32_t program, int32_t kind, void* output, double capacity,
                        double* result) {
  return guarded([&] {
    require(result != nullptr, GS_ERROR_ARGUMENT);
    const uint64_t room = checked_integer(capacity);
    require(output != nullptr || room == 0, GS_ERROR_ARGUMENT);
    const auto use = nvrtc_programs.use(program);
    const std::string& made = use->program->output(kind);
    if (made.size() <= room && !made.empty()) std::memcpy(output, made.data(), made.size());
    result[0] = static_cast<double>(made.size());
  });
}

int32_t gs_nvrtc_lowered_name(int32_t program, int32_t expression, char* text, int32_t capacity) {
  return guarded([&] {
    const auto use = nvrtc_programs.use(program);
    write_text(use->program->lowered_name(expression), text, capacity);
  });
}

int32_t gs_nvrtc_destroy(int32_t program) {
  return guarded([&] { nvrtc_programs.destroy(program); });
}
