// Files that are read into pinned slabs, by as many threads at once as the caller has.
//
// A read holds its file and its slab: closing the one leaves the descriptor open until the read is
// over, and releasing the other waits for it. It writes to the library's own mapping of the slab,
// so an isolate that ends during a read takes no memory away from it.
//
// The kernel is given no advice (posix_fadvise): on the one virtual disk where it was measured it
// made no difference beyond the noise to 1, 4 or 8 threads that read a file not yet in memory.
#include "shim/memory/pinned.h"

#include <errno.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>

namespace gridstride {

HandleTable<File> files;

// The result of close() is of no use for a file that was only read: the descriptor is gone anyway.
void File::end() const { close(descriptor); }

namespace {

int open_for_reading(const char* path) {
  int descriptor = -1;
  do {
    // Not blocking: opening a named pipe would otherwise wait for a writer.
    descriptor = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
  } while (descriptor < 0 && errno == EINTR);
  if (descriptor >= 0) return descriptor;
  fail(errno == ENOENT || errno == ENOTDIR ? GS_ERROR_NOT_FOUND : GS_ERROR_SYSTEM);
}

uint64_t bytes_of(int descriptor) {
  struct stat status = {};
  require(fstat(descriptor, &status) == 0 && S_ISREG(status.st_mode), GS_ERROR_SYSTEM);
  const uint64_t bytes = static_cast<uint64_t>(status.st_size);
  // A sparse file may be longer than JavaScript can count.
  require(bytes <= largest_safe_integer, GS_ERROR_UNSUPPORTED);
  return bytes;
}

// Linux reads less than 2 GiB at a time, and macOS refuses to read more.
constexpr uint64_t max_bytes_at_once = uint64_t{1} << 30;

void read_fully(int descriptor, uint64_t offset, const MemoryRange& target) {
  char* next = static_cast<char*>(target.pointer());
  uint64_t left = target.bytes;
  while (left > 0) {
    const ssize_t arrived =
        pread(descriptor, next, std::min(left, max_bytes_at_once), static_cast<off_t>(offset));
    if (arrived < 0 && errno == EINTR) continue;
    require(arrived >= 0, GS_ERROR_SYSTEM);
    // The file has become shorter meanwhile.
    require(arrived > 0, GS_ERROR_CAPACITY);
    next += arrived;
    offset += static_cast<uint64_t>(arrived);
    left -= static_cast<uint64_t>(arrived);
  }
}

}  // namespace

}  // namespace gridstride

using namespace gridstride;

int32_t gs_file_open(const char* path, double* result) {
  return guarded([&] {
    require(path != nullptr && result != nullptr, GS_ERROR_ARGUMENT);
    HandleTable<File>::Reservation made = files.reserve();
    made->descriptor = open_for_reading(path);
    uint64_t bytes = 0;
    try {
      bytes = bytes_of(made->descriptor);
    } catch (...) {
      made->end();
      throw;
    }
    result[0] = made.publish();
    result[1] = static_cast<double>(bytes);
  });
}

int32_t gs_file_read(int32_t file, double offset, int32_t pinned, double pinned_offset,
                     double bytes) {
  return guarded([&] {
    const uint64_t first = checked_integer(offset);
    const uint64_t target_offset = checked_integer(pinned_offset);
    const uint64_t count = checked_integer(bytes);
    const FileUse source = files.use(file);
    const PinnedUse slab = pinned_slabs.use(pinned);
    const uint64_t room = slab->memory.bytes;
    require(target_offset <= room && count <= room - target_offset, GS_ERROR_CAPACITY);
    // Checked beforehand as well: a read that cannot succeed writes nothing.
    require(first + count <= bytes_of(source->descriptor), GS_ERROR_CAPACITY);
    read_fully(source->descriptor, first, pinned_part(slab, target_offset, count));
  });
}

int32_t gs_file_close(int32_t file) {
  return guarded([&] { files.destroy(file); });
}
