// Images that are no modules: each is an error with its reason, and none a crash.
#include <algorithm>
#include <cstdint>
#include <cstring>
#include <string>

#include "check.h"
#include "host/module/loaded_module.h"
#include "module_files.h"
#include "suites.h"

namespace runtime_test {
namespace {

// Loads an image that must be refused, with a text that has the words.
void check_refused(const Image& image, cudaError_t expected, const std::string& words,
                   const std::string& statement) {
  const Loading loading = load_image(image);
  CHECK_STATUS(loading.status, expected, statement);
  CHECK(loading.log.find(words) != std::string::npos, "and the log says why: " + loading.log);
}

Image text_image(const char* text) {
  const auto* const start = reinterpret_cast<const unsigned char*>(text);
  return Image(start, start + std::strlen(text) + 1);
}

Image with_byte(Image image, std::size_t offset, unsigned char value) {
  image[offset] = value;
  return image;
}

void check_other_kinds() {
  check_refused(text_image(".version 9.0\n.target sm_90\n"), cudaErrorNoKernelImageForDevice, "PTX",
                "PTX is not for this device");
  check_refused({0x50, 0xed, 0x55, 0xba, 1, 0, 16, 0}, cudaErrorNoKernelImageForDevice,
                "fat binary", "nor is a fat binary");
  check_refused({0xcf, 0xfa, 0xed, 0xfe, 7, 0, 0, 1}, cudaErrorNoKernelImageForDevice,
                "another operating system", "nor a library of another system");
  check_refused({1, 2, 3, 4, 5}, cudaErrorInvalidKernelImage, "no shared library",
                "five bytes are no library");
  check_refused({0x7f}, cudaErrorInvalidKernelImage, "has 1 bytes", "nor is one");
  check_refused(image_of(ModuleFile::without_table), cudaErrorInvalidKernelImage,
                "gs_host_module_table", "a library without a table is no module");
}

void check_headers() {
  const Image& sound = image_of(ModuleFile::complete);
  // Offsets into the header of an ELF file: class, byte order, type and machine.
  check_refused(with_byte(sound, 4, 1), cudaErrorNoKernelImageForDevice, "another processor",
                "a 32-bit library is for another processor");
  check_refused(with_byte(sound, 5, 2), cudaErrorNoKernelImageForDevice, "another processor",
                "so is one of the other byte order");
  check_refused(with_byte(sound, 18, 190), cudaErrorNoKernelImageForDevice, "cubin",
                "a cubin is for a GPU");
  check_refused(with_byte(sound, 18, 243), cudaErrorNoKernelImageForDevice, "number 243",
                "a library for RISC-V is for another processor");
  check_refused(with_byte(sound, 16, 1), cudaErrorInvalidKernelImage, "no shared library",
                "an object file is no library");
  check_refused(with_byte(sound, 56, 0), cudaErrorInvalidKernelImage, "nothing to load",
                "a library of no segments is damaged");
}

// A truncated file crashes the system's loader, which maps the missing end.
void check_truncation() {
  const Image& sound = image_of(ModuleFile::complete);
  std::size_t refused = 0;
  std::size_t tried = 0;
  for (std::size_t bytes = 1; bytes < sound.size(); bytes += bytes < 700 ? 1 : 509) {
    const Image shorter(sound.begin(), sound.begin() + static_cast<std::ptrdiff_t>(bytes));
    ++tried;
    refused += load_image(shorter).status == cudaErrorInvalidKernelImage ? 1 : 0;
  }
  CHECK(refused == tried, "a truncated module is refused wherever it ends");
  check_refused(Image(sound.begin(), sound.end() - 1), cudaErrorInvalidKernelImage, "truncated",
                "also without its last byte");
}

// As src/launch/compile/image_seal.ts seals an image.
Image sealed(Image image) {
  std::uint32_t crc = 0xFFFFFFFF;
  for (const unsigned char byte : image) {
    crc ^= byte;
    for (int bit = 0; bit < 8; ++bit) crc = crc >> 1 ^ ((crc & 1) != 0 ? 0xEDB88320 : 0);
  }
  const auto bytes = static_cast<std::uint32_t>(image.size());
  for (const char character : std::string("GSsealed")) {
    image.push_back(static_cast<unsigned char>(character));
  }
  for (const std::uint32_t number : {bytes, ~crc}) {
    for (int byte = 0; byte < 4; ++byte) {
      image.push_back(static_cast<unsigned char>(number >> 8 * byte));
    }
  }
  return image;
}

// One damaged byte of what the system's loader writes to crashes the process.
void check_seals() {
  const Image sound = sealed(image_of(ModuleFile::complete));
  const Loading loading = load_image(sound);
  CHECK_STATUS(loading.status, cudaSuccess, "a sealed module loads");
  REQUIRE(cudaLibraryUnload(loading.library));
  std::size_t refused = 0;
  std::size_t tried = 0;
  for (std::size_t offset = 64; offset < sound.size() - 16; offset += 61) {
    const auto damaged = static_cast<unsigned char>(sound[offset] ^ (1 << offset % 8));
    ++tried;
    refused += load_image(with_byte(sound, offset, damaged)).status == cudaErrorInvalidKernelImage;
  }
  CHECK(refused == tried, "with one damaged bit it is refused, wherever that is");
  check_refused(with_byte(sound, 5000, static_cast<unsigned char>(~sound[5000])),
                cudaErrorInvalidKernelImage, "not those that were compiled", "which the log says");
  Image longer = sound;
  longer.insert(longer.begin() + 4096, 0);
  check_refused(longer, cudaErrorInvalidKernelImage, "damaged", "so is one with a byte more");
}

void check_contents() {
  check_refused(image_of(ModuleFile::other_contract), cudaErrorNoKernelImageForDevice,
                "must be compiled against version", "a module of another contract is refused");
  check_refused(image_of(ModuleFile::unresolved), cudaErrorSharedObjectSymbolNotFound,
                "undefined symbol: defined_elsewhere(int)", "so is one that lacks a function");
  check_refused(image_of(ModuleFile::ambiguous), cudaErrorInvalidKernelImage,
                "two kernels of the name twin", "and one with two kernels of one name");
  REQUIRE(cudaSetDevice(small_device));
  check_refused(image_of(ModuleFile::large), cudaErrorMemoryAllocation, "16777216 bytes",
                "variables that the device has no room for are refused");
  REQUIRE(cudaSetDevice(second_device));
  Loading loading = load_image(image_of(ModuleFile::large));
  CHECK_STATUS(loading.status, cudaSuccess, "one that has loads them");
  REQUIRE(cudaSetDevice(small_device));
  void* address = nullptr;
  CHECK_STATUS(cudaLibraryGetGlobal(&address, nullptr, loading.library, "table"),
               cudaErrorMemoryAllocation, "but not for the other");
  REQUIRE(cudaLibraryUnload(loading.library));
  REQUIRE(cudaSetDevice(first_device));
}

void check_arguments() {
  const Image& sound = image_of(ModuleFile::complete);
  cudaLibrary_t library = nullptr;
  const auto load = [&](cudaJitOption option, void* value, unsigned count) {
    return cudaLibraryLoadData(&library, sound.data(), &option, &value, count, nullptr, nullptr, 0);
  };
  CHECK_STATUS(cudaLibraryLoadData(nullptr, sound.data(), nullptr, nullptr, 0, nullptr, nullptr, 0),
               cudaErrorInvalidValue, "a library needs a place for its handle");
  CHECK_STATUS(cudaLibraryLoadData(&library, nullptr, nullptr, nullptr, 0, nullptr, nullptr, 0),
               cudaErrorInvalidValue, "and an image");
  CHECK_STATUS(
      cudaLibraryLoadData(&library, sound.data(), nullptr, nullptr, 1, nullptr, nullptr, 0),
      cudaErrorInvalidValue, "options that are counted must be given");
  CHECK_STATUS(load(static_cast<cudaJitOption>(99), nullptr, 1), cudaErrorInvalidValue,
               "an unknown option is refused");
  CHECK_STATUS(load(gridstrideJitImageBytes, nullptr, 1), cudaErrorInvalidValue,
               "an image has bytes");
  CHECK_STATUS(load(cudaJitMaxRegisters, nullptr, 1), cudaSuccess,
               "an image without a size has the one that it says");
  REQUIRE(cudaLibraryUnload(library));
  char log[8];
  cudaJitOption options[] = {cudaJitErrorLogBuffer, cudaJitErrorLogBufferSizeBytes};
  void* values[] = {log, reinterpret_cast<void*>(sizeof log)};
  CHECK_STATUS(cudaLibraryLoadData(&library, "no module", options, values, 2, nullptr, nullptr, 0),
               cudaErrorNoKernelImageForDevice, "a text is no module");
  CHECK(std::string(log) == "the ima" && values[1] == reinterpret_cast<void*>(8),
        "a log ends where its buffer does");
}

}  // namespace

void check_module_images() {
  if (image_of(ModuleFile::without_table).empty()) {
    CHECK(false, "the program is given the paths of the modules");
    return;
  }
  check_other_kinds();
  check_headers();
  check_truncation();
  check_seals();
  check_contents();
  check_arguments();
  CHECK(gridstride::host::LoadedModule::live() == 0, "nothing is left of what was refused");
}

}  // namespace runtime_test
