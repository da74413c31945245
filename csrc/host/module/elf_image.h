// Shared libraries as Linux and other systems have them: ELF files.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string_view>
#include <vector>

#include "host/module/module_image.h"

namespace gridstride::host {

// See stated_image_bytes and check_image; the magic number is right.
std::size_t stated_elf_bytes(const unsigned char* data);
void check_elf(const ImageView& image);

// What follows takes an image that passed check_elf.

// Memory that the loader maps. Addresses are relative to where it does.
struct ElfSegment {
  std::uint64_t address;
  std::uint64_t bytes;
  // In terms of mprotect.
  int protection;
};

// The loaded segments, and last, without write permission, what the loader makes read-only again
// once it has linked the library.
std::vector<ElfSegment> elf_segments(const ImageView& image);

// How much thread-local memory the library has; all __shared__ arrays are in it.
std::uint64_t elf_thread_local_bytes(const ImageView& image);

struct ElfSymbol {
  std::string_view name;
  // Relative to the library, or of a thread-local variable to its thread-local memory.
  std::uint64_t address;
  std::uint64_t bytes;
  enum class Kind { function, thread_local_variable } kind;
};

// Functions and thread-local variables, local ones too; none where the library was stripped.
std::vector<ElfSymbol> elf_symbols(const ImageView& image);

// The lines of the source (.debug_line), 0 bytes where the library has none or they are compressed.
ImageView elf_line_table(const ImageView& image);

}  // namespace gridstride::host
