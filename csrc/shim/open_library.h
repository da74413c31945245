// Libraries that the caller names and that stay open: NVRTC and cuBLASLt.
#pragma once

#include <dlfcn.h>

#include <memory>
#include <string>

#include "shim/guard.h"

namespace gridstride {

using OpenLibrary = std::unique_ptr<void, int (*)(void*)>;

// Null after a failure; `problem` is then the loader's text.
inline OpenLibrary open_library(const char* path, std::string& problem) {
  OpenLibrary library(dlopen(path, RTLD_NOW | RTLD_LOCAL), &dlclose);
  if (library == nullptr) problem = dlerror();
  return library;
}

// The function of a library by name; null with a problem if it lacks it.
template <class Function>
void find_function(const OpenLibrary& library, const char* name, Function& function,
                   std::string& problem) {
  function = reinterpret_cast<Function>(dlsym(library.get(), name));
  if (function == nullptr) problem = std::string("it lacks the function ") + name;
}

// The path of the library of a function, which a search by name does not reveal beforehand.
inline std::string library_path(const void* function) {
  Dl_info information = {};
  const bool is_known = dladdr(function, &information) != 0;
  return is_known && information.dli_fname != nullptr ? information.dli_fname : "";
}

// As much of a text as there is room for: it is for people.
inline void write_start(std::string text, char* out, int32_t capacity) {
  if (text.size() >= static_cast<size_t>(capacity)) text.resize(static_cast<size_t>(capacity) - 1);
  write_text(text, out, capacity);
}

}  // namespace gridstride
