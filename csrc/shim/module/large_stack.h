// Running something on a stack that is large enough for a compiler.
#ifndef GRIDSTRIDE_LARGE_STACK_H
#define GRIDSTRIDE_LARGE_STACK_H

#include <pthread.h>

#include <exception>

#include "shim/guard.h"

namespace gridstride {

// A compiler descends as deep as its source nests, and where its stack ends the process does. NVRTC
// 13.0 takes some 3 KiB for a pair of parentheses and 8 for an instance of a template; threads of
// Deno have 2 MiB. Pages that are not reached cost nothing but addresses, so that a stack can be
// far larger than sources need; where that is more than the system allows, as much as it does.
constexpr size_t most_stack_bytes = size_t{1} << 30;
constexpr size_t least_stack_bytes = size_t{1} << 23;

template <class Body>
struct StackedCall {
  const Body& body;
  std::exception_ptr exception;

  static void* run(void* argument) {
    StackedCall& self = *static_cast<StackedCall*>(argument);
    try {
      self.body();
    } catch (...) {
      self.exception = std::current_exception();
    }
    return nullptr;
  }
};

inline bool start_thread(pthread_t& thread, size_t stack_bytes, void* (*run)(void*),
                         void* argument) {
  pthread_attr_t attributes;
  if (pthread_attr_init(&attributes) != 0) return false;
  const bool is_started = pthread_attr_setstacksize(&attributes, stack_bytes) == 0 &&
                          pthread_create(&thread, &attributes, run, argument) == 0;
  pthread_attr_destroy(&attributes);
  return is_started;
}

// Runs the body in a thread of its own and waits for its end; what it throws, this throws.
template <class Body>
void on_large_stack(const Body& body) {
  StackedCall<Body> call{body, nullptr};
  pthread_t thread;
  size_t bytes = most_stack_bytes;
  while (!start_thread(thread, bytes, &StackedCall<Body>::run, &call)) {
    bytes /= 2;
    require(bytes >= least_stack_bytes, GS_ERROR_SYSTEM);
  }
  pthread_join(thread, nullptr);
  if (call.exception) std::rethrow_exception(call.exception);
}

}  // namespace gridstride

#endif
