// The memory behind virtual addresses: one file in memory, of which parts are shown at addresses.
#ifndef GRIDSTRIDE_HOST_PAGE_FILE_H
#define GRIDSTRIDE_HOST_PAGE_FILE_H

#include <cstddef>
#include <cstdint>

#include "host/memory/memory_access.h"

namespace gridstride::host {

// The file has room for a part at every address's own number, and as much again beyond. Memory that
// is shown at the addresses of its own numbers costs one entry of the system's map of the process
// with all such memory beside it, in whatever order it came: Linux joins neighbours that continue
// each other in the file.
//
// Without memory files (systems other than Linux, some sandboxes, a limit on the size of files)
// every address has memory of its own that lasts until it is hidden.
class PageFile {
 public:
  static PageFile& instance();

  // Whether a part can be shown at several addresses, and at others than before.
  bool is_shareable() const { return file_ >= 0; }

  // Puts the part of the file at offset behind inaccessible addresses; access is not none. False
  // when the system refuses.
  bool show(std::uintptr_t address, std::size_t bytes, std::uint64_t offset, AllowedAccess access);

  // Changes the access to what is shown. False when the system refuses; then nothing has changed.
  bool protect(std::uintptr_t address, std::size_t bytes, AllowedAccess access);

  // Makes addresses inaccessible, whatever is shown there. False as for protect.
  bool hide(std::uintptr_t address, std::size_t bytes);

  // Gives the memory of a part back that is shown nowhere; it reads as zeros when shown again.
  void discard(std::uint64_t offset, std::size_t bytes);

 private:
  PageFile();

  const int file_;
};

// The first number beyond all addresses, and where the file ends.
constexpr std::uint64_t page_file_spare_offset = std::uint64_t{1} << 47;
constexpr std::uint64_t page_file_bytes = 2 * page_file_spare_offset;

}  // namespace gridstride::host

#endif
