// A __shared__ array is a thread-local variable whose name begins with the function that declares
// it; the name of a kernel's run_threads names the kernel as the argument of a template:
//
//   tile<float, 32>(float*)::values
//   gridstride::host::KernelThunk<&(void tile<float, 32>(float*)), float*>::run_threads(void**)
#include "host/module/static_shared.h"

#include <algorithm>
#include <string>
#include <string_view>

#include "host/module/demangled_name.h"
#include "host/module/elf_image.h"

namespace gridstride::host {
namespace {

// What a kernel may declare on any GPU.
constexpr std::uint64_t most_static_bytes = 48 * 1024;

bool begins_with(std::string_view text, std::string_view start) {
  return text.substr(0, start.size()) == start;
}

void drop_prefix(std::string_view& text, std::string_view start) {
  if (begins_with(text, start)) text.remove_prefix(start.size());
}

// "tile<float, 32>(float*)" of the array's name above; empty for one of a namespace.
std::string_view declaring_function(std::string_view array) {
  const std::size_t end = array.rfind("::");
  return end == std::string_view::npos ? std::string_view() : array.substr(0, end);
}

// The name without its parameters: "tile<float, 32>".
std::string_view without_parameters(std::string_view function) {
  if (function.empty() || function.back() != ')') return function;
  int depth = 0;
  for (std::size_t i = function.size(); i-- > 0;) {
    depth += function[i] == ')' ? 1 : function[i] == '(' ? -1 : 0;
    if (depth == 0) return function.substr(0, i);
  }
  return function;
}

// From the kernel on: "tile<float, 32>(float*)), float*>::run_threads(void**)".
std::string_view from_kernel(std::string_view thunk) {
  constexpr std::string_view start = "KernelThunk<&";
  const std::size_t at = thunk.find(start);
  if (at == std::string_view::npos) return {};
  thunk.remove_prefix(at + start.size());
  if (!begins_with(thunk, "(anonymous namespace)")) drop_prefix(thunk, "(");
  drop_prefix(thunk, "void ");
  return thunk;
}

bool ends_name(std::string_view rest) {
  return !rest.empty() && (rest[0] == ')' || rest[0] == ',' || rest[0] == '>');
}

// Compilers leave the parameters away where the name is one function's alone.
bool is_function_of(std::string_view kernel, std::string_view function) {
  for (const std::string_view name : {function, without_parameters(function)}) {
    if (!name.empty() && begins_with(kernel, name) && ends_name(kernel.substr(name.size()))) {
      return true;
    }
  }
  return false;
}

struct Array {
  std::string name;
  std::uint64_t bytes;
  bool is_a_kernels = false;
};

std::vector<Array> find_arrays(const std::vector<ElfSymbol>& symbols) {
  std::vector<Array> arrays;
  for (const ElfSymbol& symbol : symbols) {
    if (symbol.kind != ElfSymbol::Kind::thread_local_variable) continue;
    // clang++ divides an array whose elements it can tell apart: "values.0", "values.1".
    const std::string_view undivided = symbol.name.substr(0, symbol.name.find('.'));
    std::string name = demangled(std::string(undivided));
    if (begins_with(name, "gridstride::host::")) continue;  // the module's anchor
    arrays.push_back({std::move(name), symbol.bytes});
  }
  return arrays;
}

std::string find_thunk(const std::vector<ElfSymbol>& symbols, std::uintptr_t address) {
  for (const ElfSymbol& symbol : symbols) {
    if (symbol.kind != ElfSymbol::Kind::function || symbol.address != address) continue;
    std::string name = demangled(std::string(symbol.name));
    if (!from_kernel(name).empty()) return name;
  }
  return {};
}

std::uint64_t own_bytes(std::string_view kernel, std::vector<Array>& arrays) {
  std::uint64_t bytes = 0;
  for (Array& array : arrays) {
    if (!is_function_of(kernel, declaring_function(array.name))) continue;
    array.is_a_kernels = true;
    bytes += array.bytes;
  }
  return bytes;
}

std::uint32_t bounded(std::uint64_t bytes) {
  return static_cast<std::uint32_t>(std::min<std::uint64_t>(bytes, UINT32_MAX));
}

std::uint32_t bytes_of_library(const ImageView& image) {
  constexpr std::uint64_t anchor_bytes = 128;
  const std::uint64_t all = elf_thread_local_bytes(image);
  const std::uint64_t arrays = all > anchor_bytes ? all - anchor_bytes : 0;
  return arrays <= most_static_bytes ? bounded(arrays) : 0;
}

}  // namespace

std::vector<std::uint32_t> static_shared_bytes(const ImageView& image,
                                               const std::vector<std::uintptr_t>& run_threads) {
  const std::vector<ElfSymbol> symbols = elf_symbols(image);
  if (symbols.empty()) {
    return std::vector<std::uint32_t>(run_threads.size(), bytes_of_library(image));
  }
  std::vector<Array> arrays = find_arrays(symbols);
  std::vector<std::uint64_t> own;
  for (const std::uintptr_t address : run_threads) {
    const std::string thunk = find_thunk(symbols, address);
    own.push_back(own_bytes(from_kernel(thunk), arrays));
  }
  std::uint64_t shared_by_all = 0;
  for (const Array& array : arrays) shared_by_all += array.is_a_kernels ? 0 : array.bytes;
  std::vector<std::uint32_t> bytes;
  for (const std::uint64_t one : own) {
    bytes.push_back(bounded(one + shared_by_all <= most_static_bytes ? one + shared_by_all : one));
  }
  return bytes;
}

}  // namespace gridstride::host
