#include "module_stage.h"

#include <fstream>
#include <iterator>

namespace {

constexpr char module_ptx[] = R"(
.version 7.0
.target sm_75
.address_size 64

.visible .global .align 4 .u32 counter = 3;
.visible .const .align 4 .b8 weights[16];

.visible .entry store_int(.param .u32 value, .param .u64 out) {
  .reg .b32 %r<2>;
  .reg .b64 %rd<2>;
  ld.param.u32 %r1, [value];
  ld.param.u64 %rd1, [out];
  st.global.u32 [%rd1], %r1;
  ret;
}

.visible .entry move(.param .align 8 .b8 moved[24], .param .align 16 .b8 by[16], .param .u64 out) {
  .reg .f32 %f<7>;
  .reg .b32 %r<2>;
  .reg .f64 %fd<5>;
  .reg .b64 %rd<2>;
  ld.param.u64 %rd1, [out];
  ld.param.f64 %fd1, [moved];
  st.global.f64 [%rd1], %fd1;
  ld.param.f32 %f1, [moved+8];
  ld.param.f32 %f2, [by];
  add.f32 %f3, %f1, %f2;
  cvt.f64.f32 %fd2, %f3;
  st.global.f64 [%rd1+8], %fd2;
  ld.param.f32 %f4, [moved+16];
  ld.param.f32 %f5, [by+12];
  add.f32 %f6, %f4, %f5;
  cvt.f64.f32 %fd3, %f6;
  st.global.f64 [%rd1+16], %fd3;
  ld.param.u32 %r1, [moved+20];
  cvt.rn.f64.s32 %fd4, %r1;
  st.global.f64 [%rd1+24], %fd4;
  ret;
}

.visible .entry spin(.param .u64 ticks, .param .u64 out) {
  .reg .pred %p<2>;
  .reg .b32 %r<2>;
  .reg .b64 %rd<6>;
  ld.param.u64 %rd1, [ticks];
  ld.param.u64 %rd2, [out];
  mov.u64 %rd3, %clock64;
again:
  mov.u64 %rd4, %clock64;
  sub.s64 %rd5, %rd4, %rd3;
  setp.lt.s64 %p1, %rd5, %rd1;
  @%p1 bra again;
  mov.u32 %r1, 1;
  st.global.u32 [%rd2], %r1;
  ret;
}

.visible .entry count(.param .u32 by) {
  .reg .b32 %r<4>;
  ld.param.u32 %r1, [by];
  ld.global.u32 %r2, [counter];
  add.s32 %r3, %r2, %r1;
  st.global.u32 [counter], %r3;
  ret;
}

.visible .entry weigh(.param .u64 out) {
  .reg .f32 %f<2>;
  .reg .b64 %rd<2>;
  ld.param.u64 %rd1, [out];
  ld.const.f32 %f1, [weights+12];
  st.global.f32 [%rd1], %f1;
  ret;
}

.visible .entry ends(.param .align 1 .b8 large[4088], .param .u64 out) {
  .reg .b32 %r<3>;
  .reg .b64 %rd<2>;
  ld.param.u64 %rd1, [out];
  ld.param.u8 %r1, [large];
  st.global.u8 [%rd1], %r1;
  ld.param.u8 %r2, [large+4087];
  st.global.u8 [%rd1+1], %r2;
  ret;
}
)";

}  // namespace

std::vector<char> machine_code() {
  if (!is_host()) return std::vector<char>(module_ptx, module_ptx + sizeof(module_ptx) - 1);
  std::ifstream file(module_file, std::ios::binary);
  return std::vector<char>(std::istreambuf_iterator<char>(file), std::istreambuf_iterator<char>());
}

int32_t create_module(int32_t device, const std::vector<char>& image, int32_t& module) {
  double result = 0;
  const double bytes = static_cast<double>(image.size());
  const int32_t status = gs.gs_module_create(device, image.data(), bytes, &result);
  module = static_cast<int32_t>(result);
  return status;
}

int32_t make_loaded_module(int32_t device, const std::vector<char>& image) {
  int32_t module = 0;
  check_status(create_module(device, image, module), 0, "gs_module_create()");
  check_status(gs.gs_module_load(module), 0, "gs_module_load()");
  return module;
}

std::string log_of_module(int32_t module) {
  char text[32768] = {};
  return gs.gs_module_log(module, text, sizeof(text)) == 0 ? text : "no log";
}

FoundKernel find_in_module(int32_t module, const char* name,
                           const std::vector<int32_t>& parameters) {
  double id = 0;
  const int32_t count = static_cast<int32_t>(parameters.size() / 2);
  const int32_t status = gs.gs_module_kernel(module, name, parameters.data(), count, &id);
  return {status, static_cast<int32_t>(id)};
}

int32_t launch_slots(int32_t stream, int32_t kernel, const std::vector<double>& slots, double count,
                     const LaunchExtras& extras) {
  set_operands(extras.device, stream,
               {static_cast<double>(kernel), 1, 1, 1, 1, 1, 1, 0, count, 0, 0, extras.flags,
                extras.cluster});
  for (size_t slot = 0; slot < slots.size(); slot++) block.argument[slot] = slots[slot];
  return gs.gs_kernel_launch();
}
