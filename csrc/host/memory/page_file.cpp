// Memory files by memfd_create; elsewhere anonymous memory.
#include "host/memory/page_file.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <unistd.h>

#include <cerrno>

#include "host/memory/address_space.h"

namespace gridstride::host {
namespace {

int protection_of(AllowedAccess access) {
  switch (access) {
    case AllowedAccess::none: return PROT_NONE;
    case AllowedAccess::read: return PROT_READ;
    case AllowedAccess::read_write: break;
  }
  return PROT_READ | PROT_WRITE;
}

#if defined(__linux__)

// Resizing a file beyond this limit does not just fail but raises a signal.
bool is_size_allowed() {
  rlimit limit = {};
  return getrlimit(RLIMIT_FSIZE, &limit) == 0 &&
         (limit.rlim_cur == RLIM_INFINITY || limit.rlim_cur >= page_file_bytes);
}

// The file is sparse: its size costs nothing.
int open_page_file() {
  if (!is_size_allowed()) return -1;
  const int file = memfd_create("gridstride-device-memory", MFD_CLOEXEC);
  if (file < 0) return -1;
  if (ftruncate(file, static_cast<off_t>(page_file_bytes)) == 0) return file;
  close(file);
  return -1;
}

void* map_part(int file, std::uintptr_t address, std::size_t bytes, std::uint64_t offset,
               int protection) {
  void* const mapped =
      mmap(reinterpret_cast<void*>(address), bytes, protection,
           MAP_SHARED | MAP_FIXED | MAP_NORESERVE, file, static_cast<off_t>(offset));
  // Dumping core would give every page of it memory, written to or not.
  if (mapped != MAP_FAILED) (void)madvise(mapped, bytes, MADV_DONTDUMP);
  return mapped;
}

void punch_hole(int file, std::uint64_t offset, std::size_t bytes) {
  int punched = 0;
  do {
    punched = fallocate(file, FALLOC_FL_PUNCH_HOLE | FALLOC_FL_KEEP_SIZE,
                        static_cast<off_t>(offset), static_cast<off_t>(bytes));
  } while (punched != 0 && errno == EINTR);
}

#else

int open_page_file() { return -1; }
void* map_part(int, std::uintptr_t, std::size_t, std::uint64_t, int) { return MAP_FAILED; }
void punch_hole(int, std::uint64_t, std::size_t) {}

#endif

}  // namespace

PageFile::PageFile() : file_(open_page_file()) {}

PageFile& PageFile::instance() {
  static PageFile& only = *new PageFile;
  return only;
}

bool PageFile::show(std::uintptr_t address, std::size_t bytes, std::uint64_t offset,
                    AllowedAccess access) {
  if (is_shareable()) {
    return map_part(file_, address, bytes, offset, protection_of(access)) != MAP_FAILED;
  }
  return map_private_memory(address, bytes) && protect(address, bytes, access);
}

bool PageFile::protect(std::uintptr_t address, std::size_t bytes, AllowedAccess access) {
  return mprotect(reinterpret_cast<void*>(address), bytes, protection_of(access)) == 0;
}

bool PageFile::hide(std::uintptr_t address, std::size_t bytes) {
  return make_inaccessible(address, bytes);
}

void PageFile::discard(std::uint64_t offset, std::size_t bytes) {
  if (is_shareable()) punch_hole(file_, offset, bytes);
}

}  // namespace gridstride::host
