// The names of C++ as they stand in the source.
#ifndef GRIDSTRIDE_HOST_DEMANGLED_NAME_H
#define GRIDSTRIDE_HOST_DEMANGLED_NAME_H

#include <cxxabi.h>

#include <cstdlib>
#include <memory>
#include <string>

namespace gridstride::host {

// The symbol itself where it is no C++ function or variable.
inline std::string demangled(const std::string& symbol) {
  int status = 0;
  const std::unique_ptr<char, void (*)(void*)> text(
      abi::__cxa_demangle(symbol.c_str(), nullptr, nullptr, &status), &std::free);
  return status == 0 && text != nullptr ? std::string(text.get()) : symbol;
}

}  // namespace gridstride::host

#endif
