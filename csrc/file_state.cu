// What the file system says of many files at once.
//
// Whether a compiler is still the same is told by a hundred files. To ask for them one by one from
// TypeScript takes longer than to find and load what it has compiled. All numbers are those of
// Deno.stat(), which tells them where this may not be asked.
#include <errno.h>
#include <sys/stat.h>

#include <cstring>

#include "checked_integer.h"

namespace gridstride {
namespace {

constexpr size_t state_slots = GS_FILE_STATE_SLOTS;
constexpr double absent = -1;

// Whole milliseconds since 1970, cut off towards it.
double milliseconds(const timespec& time) {
  constexpr int64_t nanoseconds = 1'000'000'000;
  constexpr int64_t nanoseconds_each = 1'000'000;
  int64_t seconds = time.tv_sec;
  int64_t fraction = time.tv_nsec;
  if (seconds < 0 && fraction > 0) {
    seconds++;
    fraction -= nanoseconds;
  }
  return static_cast<double>(seconds) * 1000 + static_cast<double>(fraction / nanoseconds_each);
}

#if defined(__APPLE__)
timespec modified(const struct stat& status) { return status.st_mtimespec; }
#else
timespec modified(const struct stat& status) { return status.st_mtim; }
#endif

void write_state(const char* path, bool follows_links, double* state) {
  struct stat status = {};
  const int result = follows_links ? stat(path, &status) : lstat(path, &status);
  if (result != 0) {
    require(errno == ENOENT || errno == ENOTDIR, GS_ERROR_SYSTEM);
    for (size_t slot = 0; slot < state_slots; slot++) state[slot] = absent;
    return;
  }
  state[0] = static_cast<double>(status.st_dev);
  state[1] = static_cast<double>(status.st_ino);
  state[2] = static_cast<double>(status.st_size);
  state[3] = milliseconds(modified(status));
  state[4] = static_cast<double>(status.st_ctime) * 1000;
  state[5] = static_cast<double>(status.st_mode);
  state[6] = static_cast<double>(status.st_uid);
}

}  // namespace
}  // namespace gridstride

using namespace gridstride;

int32_t gs_file_states(const char* paths, double bytes, int32_t follow, double* states,
                       int32_t count) {
  return guarded([&] {
    require(paths != nullptr && states != nullptr && count > 0, GS_ERROR_ARGUMENT);
    require(follow == 0 || follow == 1, GS_ERROR_ARGUMENT);
    const char* const end = paths + checked_integer(bytes);
    const char* path = paths;
    for (int32_t index = 0; index < count; index++) {
      const void* const terminator = std::memchr(path, '\0', static_cast<size_t>(end - path));
      require(terminator != nullptr, GS_ERROR_ARGUMENT);
      write_state(path, follow == 1, states + static_cast<size_t>(index) * state_slots);
      path = static_cast<const char*>(terminator) + 1;
    }
    require(path == end, GS_ERROR_ARGUMENT);
  });
}
