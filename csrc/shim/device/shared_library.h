// Libraries of the driver's that are opened when they are first needed, and never closed.
#ifndef GRIDSTRIDE_SHARED_LIBRARY_H
#define GRIDSTRIDE_SHARED_LIBRARY_H

#include <dlfcn.h>

#include <initializer_list>

namespace gridstride {

// The first of the libraries that opens, or null. Not to find one is an answer, not a failure: the
// machine has no such driver.
inline void* open_first_library(std::initializer_list<const char*> names) {
  for (const char* name : names) {
    if (void* library = dlopen(name, RTLD_NOW | RTLD_LOCAL)) return library;
  }
  return nullptr;
}

// Null where the library is null or lacks the symbol.
inline void* library_symbol(void* library, const char* symbol) {
  return library == nullptr ? nullptr : dlsym(library, symbol);
}

}  // namespace gridstride

#endif
