// The runtime's side of printf() and of the clock that kernels read as %globaltimer.
#include <poll.h>
#include <unistd.h>

#include <cerrno>
#include <chrono>
#include <cstdarg>
#include <cstdio>
#include <cstring>
#include <memory>
#include <mutex>
#include <new>

#include "gridstride/warp_exchange.h"

#define GS_HOST_USER_SOURCE 1
#include "gridstride/kernel_printf.h"
#undef printf

namespace gridstride::host {
namespace {

// The number of arguments of the format: one for each conversion and each `*` in one.
int count_arguments(const char* format) {
  int count = 0;
  for (const char* at = std::strchr(format, '%'); at != nullptr; at = std::strchr(at, '%')) {
    const char* const flags = at + 1;
    const char* const conversion = flags + std::strspn(flags, "#0- +'123456789.*hljztqL");
    for (const char* c = flags; c != conversion; ++c) count += *c == '*';
    if (*conversion == '\0') break;
    count += *conversion != '%';
    at = conversion + 1;
  }
  return count;
}

// One text at a time, as a write to a pipe may take a long one in parts. Nothing in here reads
// memory that a kernel gave: no fault can leave the lock held.
bool write_text(const char* text, size_t bytes) {
  static std::mutex one_at_a_time;
  const std::lock_guard<std::mutex> lock(one_at_a_time);
  while (bytes != 0) {
    const ssize_t written = write(STDOUT_FILENO, text, bytes);
    if (written >= 0) {
      text += written;
      bytes -= static_cast<size_t>(written);
    } else if (errno == EAGAIN || errno == EWOULDBLOCK) {
      pollfd output{STDOUT_FILENO, POLLOUT, 0};
      poll(&output, 1, -1);
    } else if (errno != EINTR) {
      return false;
    }
  }
  return true;
}

// The text of most calls is short enough for the caller's stack.
bool print(const char* format, va_list arguments) {
  char brief[1024];
  va_list again;
  va_copy(again, arguments);
  const int length = std::vsnprintf(brief, sizeof brief, format, arguments);
  bool done = false;
  if (length >= 0) {
    const size_t bytes = static_cast<size_t>(length);
    if (bytes < sizeof brief) {
      done = write_text(brief, bytes);
    } else if (std::unique_ptr<char[]> text{new (std::nothrow) char[bytes + 1]}) {
      std::vsnprintf(text.get(), bytes + 1, format, again);
      done = write_text(text.get(), bytes);
    }
  }
  va_end(again);
  return done;
}

}  // namespace
}  // namespace gridstride::host

GS_HOST_API int gs_host_printf(const char* format, ...) {
  constexpr int no_format = -1;
  constexpr int internal_error = -2;
  // As opaque to the optimizer as it is for callers: the attribute says that it is never null.
  const char* volatile given = format;
  const char* const text = given;
  if (text == nullptr) return no_format;
  va_list arguments;
  va_start(arguments, format);
  const bool done = gridstride::host::print(text, arguments);
  va_end(arguments);
  return done ? gridstride::host::count_arguments(text) : internal_error;
}

// ---- the clock that kernels read as %globaltimer ------------------------------------------------

GS_HOST_API uint64_t gs_host_clock() {
  const auto now = std::chrono::steady_clock::now().time_since_epoch();
  return static_cast<uint64_t>(
      std::chrono::duration_cast<std::chrono::nanoseconds>(now).count());
}
