// Source lines of instructions, for the descriptions of faults.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>

namespace gridstride::host {

// The line table of a loaded library (.debug_line of DWARF 2 to 4), copied. It is read only when a
// kernel has faulted.
class SourceLines {
 public:
  // The address of the library's code, and its table; 0 bytes for none.
  SourceLines(uintptr_t base, const unsigned char* table, size_t bytes);
  ~SourceLines();
  SourceLines(const SourceLines&) = delete;
  SourceLines& operator=(const SourceLines&) = delete;

 private:
  uintptr_t base_;
};

// " (at axpy.cu:7)" for an instruction of the library at `base`. " (near axpy.cu:7)" where it comes
// from a function of the language's headers and the line is the last one before it in the machine
// code. Empty where nothing is known.
std::string source_place(uintptr_t base, uintptr_t instruction);

}  // namespace gridstride::host
