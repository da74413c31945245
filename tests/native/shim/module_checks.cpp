// Modules: machine code that is taken or refused, loading it, its kernels and variables.
#include <cstring>
#include <string>
#include <thread>
#include <vector>

#include "check.h"
#include "module_stage.h"
#include "suites.h"

namespace {

constexpr int32_t injected = 999;
// A CUDA status.
constexpr int32_t illegal_state = 401;

template <class Number>
void put(std::vector<char>& image, size_t offset, Number number) {
  std::memcpy(&image[offset], &number, sizeof(number));
}

// A cubin of two sections, one of which has its 16 bytes at the end.
std::vector<char> small_cubin() {
  std::vector<char> image(64 + 2 * 64 + 56 + 16);
  std::memcpy(image.data(),
              "\x7F"
              "ELF\2\1",
              6);
  put<uint16_t>(image, 18, 190);
  put<uint64_t>(image, 32, 192);  // one program header
  put<uint64_t>(image, 40, 64);   // two section headers
  put<uint16_t>(image, 54, 56);
  put<uint16_t>(image, 56, 1);
  put<uint16_t>(image, 58, 64);
  put<uint16_t>(image, 60, 2);
  put<uint32_t>(image, 128 + 4, 1);
  put<uint64_t>(image, 128 + 24, 248);
  put<uint64_t>(image, 128 + 32, 16);
  put<uint64_t>(image, 192 + 8, 64);
  put<uint64_t>(image, 192 + 32, 128);
  return image;
}

std::vector<char> small_fat_binary() {
  std::vector<char> image(16 + 40);
  put<uint32_t>(image, 0, 0xBA55ED50);
  put<uint16_t>(image, 6, 16);
  put<uint64_t>(image, 8, 40);
  return image;
}

int32_t status_of_image(const std::vector<char>& image) {
  // Bytes of their own: a memory checker sees every read beyond them.
  int32_t module = 0;
  const int32_t status = create_module(0, std::vector<char>(image), module);
  if (status == 0) gs.gs_module_destroy(module);
  return status;
}

void check_cut_off(const std::vector<char>& image, const std::string& what) {
  check(status_of_image(image) != GS_ERROR_IMAGE, "a whole " + what + " is not refused as such");
  bool refused = true;
  for (size_t bytes = 1; bytes < image.size(); bytes++) {
    const std::vector<char> part(image.begin(), image.begin() + static_cast<std::ptrdiff_t>(bytes));
    refused = refused && status_of_image(part) == GS_ERROR_IMAGE;
  }
  check(refused, "cut off anywhere it is");
}

// Places that lie outside of the image, the last two so far that sums wrap.
void check_far_places() {
  struct Field {
    const char* name;
    size_t offset;
  };
  for (const Field& field :
       {Field{"section headers", 40}, Field{"a section", 152}, Field{"a section's size", 160},
        Field{"program headers", 32}, Field{"a segment", 200}, Field{"a segment's size", 224}}) {
    bool refused = true;
    for (const uint64_t value :
         {uint64_t{265}, uint64_t{1} << 32, uint64_t{1} << 63, ~uint64_t{0}}) {
      std::vector<char> image = small_cubin();
      put<uint64_t>(image, field.offset, value);
      refused = refused && status_of_image(image) == GS_ERROR_IMAGE;
    }
    check(refused, std::string("a cubin is refused with wrong ") + field.name);
  }
}

void check_images(const std::vector<char>& image) {
  const Tally before = tally();
  int32_t module = 0;
  double result = 0;
  check_status(gs.gs_module_create(0, nullptr, 8, &result), GS_ERROR_ARGUMENT, "no image");
  check_status(gs.gs_module_create(0, image.data(), 0, &result), GS_ERROR_ARGUMENT, "no bytes");
  check_status(create_module(-1, image, module), GS_ERROR_DEVICE, "a module of device -1");
  check_status(create_module(10000, image, module), GS_ERROR_DEVICE, "a module of device 10000");
  for (const size_t bytes : {size_t{1}, size_t{3}, size_t{63}, image.size() / 2}) {
    const std::vector<char> part(image.begin(), image.begin() + static_cast<std::ptrdiff_t>(bytes));
    int32_t status = create_module(0, part, module);
    if (status == 0) {
      status = gs.gs_module_load(module);
      // What CUDA writes into its log is the driver's to say.
      const std::string log = log_of_module(module);
      check(!log.empty() || !is_host(), "what was cut off has a log: " + log);
      check_status(gs.gs_module_destroy(module), 0, "and is given back");
    }
    check(status != 0, "an image cut off after " + std::to_string(bytes) + " bytes is refused");
  }
  check(tally() == before, "refused images leave nothing behind");
}

void check_loading(const std::vector<char>& image) {
  int32_t module = 0;
  check_status(create_module(0, image, module), 0, "a module");
  double result[2] = {};
  char text[64];
  check_status(gs.gs_module_kernel_name(module, 0, text, 64), illegal_state,
               "not yet loaded: name");
  check_status(gs.gs_module_parameter(module, "move", 0, result), illegal_state, "a parameter");
  check_status(find_in_module(module, "store_int", store_parameters).status, illegal_state,
               "a kernel");
  check_status(gs.gs_module_variable(module, "counter", result), illegal_state, "a variable");
  check(log_of_module(module).empty(), "its log is empty");
  gs.gs_call_fail(call_id("cudaLibraryLoadData"), 1, injected);
  check_status(gs.gs_module_load(module), injected, "a load that fails");
  std::vector<std::thread> threads;
  int32_t statuses[4] = {};
  for (int32_t& status : statuses) {
    threads.emplace_back([&status, module] { status = gs.gs_module_load(module); });
  }
  for (std::thread& thread : threads) thread.join();
  check(statuses[0] == 0 && statuses[1] == 0 && statuses[2] == 0 && statuses[3] == 0,
        "four threads load it");
  check_status(gs.gs_module_destroy(module), 0, "it is given back");
  check_status(gs.gs_module_load(module), GS_ERROR_HANDLE, "and its handle ends");
  check_status(gs.gs_module_destroy(module), GS_ERROR_HANDLE, "so that it is given back once");
}

void check_finding(int32_t module) {
  const auto refused = [&](const std::vector<int32_t>& parameters, int32_t status,
                           const char* what) {
    check_status(find_in_module(module, "store_int", parameters).status, status, what);
  };
  const FoundKernel once = find_in_module(module, "store_int", store_parameters);
  check_status(once.status, 0, "a kernel for its parameters");
  check(find_in_module(module, "store_int", store_parameters).id == once.id, "has one id for them");
  const FoundKernel other =
      find_in_module(module, "store_int", {GS_PARAMETER_UNSIGNED, 4, GS_PARAMETER_POINTER, 8});
  check(other.status == 0 && other.id != once.id, "and another for others of the same sizes");
  check_status(find_in_module(module, "none", store_parameters).status, GS_ERROR_NOT_FOUND,
               "no kernel");
  check_status(find_in_module(module, "", {}).status, GS_ERROR_NOT_FOUND, "no name");
  refused({}, GS_ERROR_LAUNCH, "no parameters");
  refused({GS_PARAMETER_SIGNED, 4}, GS_ERROR_LAUNCH, "one too few");
  refused({GS_PARAMETER_SIGNED, 8, GS_PARAMETER_POINTER, 8}, GS_ERROR_LAUNCH, "one too wide");
  std::vector<int32_t> more = store_parameters;
  more.insert(more.end(), {GS_PARAMETER_SIGNED, 4});
  refused(more, GS_ERROR_LAUNCH, "one too many");
  refused({-1, 4, GS_PARAMETER_POINTER, 8}, GS_ERROR_ARGUMENT, "kind -1");
  refused({9, 4, GS_PARAMETER_POINTER, 8}, GS_ERROR_ARGUMENT, "kind 9");
  refused({GS_PARAMETER_SIGNED, 3, GS_PARAMETER_POINTER, 8}, GS_ERROR_ARGUMENT, "3 bytes");
  refused({GS_PARAMETER_FLOAT32, 8, GS_PARAMETER_POINTER, 8}, GS_ERROR_ARGUMENT, "a wide float");
  refused({GS_PARAMETER_BYTES, 0, GS_PARAMETER_POINTER, 8}, GS_ERROR_ARGUMENT, "no bytes");
  refused({GS_PARAMETER_BYTES, 33281, GS_PARAMETER_POINTER, 8}, GS_ERROR_ARGUMENT, "33281 bytes");
  refused({GS_PARAMETER_BYTES, 33280, GS_PARAMETER_POINTER, 8}, GS_ERROR_CAPACITY, "4161 slots");
  double id = 0;
  check_status(gs.gs_module_kernel(module, "store_int", store_parameters.data(), 65, &id),
               GS_ERROR_ARGUMENT, "65 parameters");
  check_status(gs.gs_module_kernel(module, "store_int", store_parameters.data(), -1, &id),
               GS_ERROR_ARGUMENT, "-1 parameters");
  check_status(gs.gs_module_kernel(module, nullptr, store_parameters.data(), 2, &id),
               GS_ERROR_ARGUMENT, "no name at all");
}

}  // namespace

void check_module_images() {
  if (is_host()) return;
  check_cut_off(small_cubin(), "cubin");
  check_cut_off(small_fat_binary(), "fat binary");
  check_far_places();
  std::vector<char> of_processor = small_cubin();
  put<uint16_t>(of_processor, 18, 62);
  check_status(status_of_image(of_processor), GS_ERROR_IMAGE, "a library of the processor");
  std::vector<char> narrow = small_cubin();
  narrow[4] = 1;
  check_status(status_of_image(narrow), GS_ERROR_IMAGE, "a cubin of 32 bits");
  const std::string text = "no machine code";
  check_status(status_of_image({text.begin(), text.end()}), GS_ERROR_IMAGE, "any text");
  const std::vector<char> ptx = machine_code();
  check(status_of_image(ptx) != GS_ERROR_IMAGE, "PTX is machine code");
  std::vector<char> with_nul = ptx;
  with_nul[ptx.size() / 2] = '\0';
  check_status(status_of_image(with_nul), GS_ERROR_IMAGE, "but not with a NUL in it");
  with_nul = ptx;
  with_nul.push_back('\0');
  check(status_of_image(with_nul) != GS_ERROR_IMAGE, "though at its end");
}

void check_modules() {
  const std::vector<char> image = machine_code();
  if (image.empty()) {
    skip("modules: no machine code was given");
    return;
  }
  const Tally before = tally();
  check_images(image);
  check_loading(image);
  const int32_t module = make_loaded_module(0, image);
  check_finding(module);
  check_status(gs.gs_module_destroy(module), 0, "gs_module_destroy()");
  check(tally() == before, "modules leave nothing behind");
}
