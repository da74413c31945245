// Files that are read into pinned slabs: contents, ends, and closing a file during a read.
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <atomic>
#include <cstdlib>
#include <cstring>
#include <string>
#include <thread>
#include <vector>

#include "check.h"
#include "suites.h"

namespace {

constexpr size_t slab_bytes = 1 << 16;
constexpr size_t file_bytes = 100003;

unsigned char byte_at(size_t offset) {
  return static_cast<unsigned char>(offset * 31 + offset / 7);
}

// A file with known bytes, and a pinned slab.
class FileStage {
 public:
  FileStage() {
    char name[] = "/tmp/gridstride-file-checks-XXXXXX";
    const int descriptor = mkstemp(name);
    path = name;
    std::vector<unsigned char> bytes(file_bytes);
    for (size_t offset = 0; offset < file_bytes; offset++) bytes[offset] = byte_at(offset);
    check(write(descriptor, bytes.data(), file_bytes) == static_cast<ssize_t>(file_bytes),
          "making a file");
    close(descriptor);
    slab = static_cast<unsigned char*>(
        mmap(nullptr, slab_bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0));
    double handle = 0;
    gs.gs_pinned_register(0, slab, static_cast<double>(slab_bytes), &handle);
    pinned = static_cast<int32_t>(handle);
  }

  ~FileStage() {
    gs.gs_pinned_release(pinned);
    munmap(slab, slab_bytes);
    unlink(path.c_str());
  }

  int32_t open() const {
    double result[2] = {};
    return gs.gs_file_open(path.c_str(), result) == 0 ? static_cast<int32_t>(result[0]) : 0;
  }

  bool holds(size_t slab_offset, size_t file_offset, size_t bytes) const {
    for (size_t index = 0; index < bytes; index++) {
      if (slab[slab_offset + index] != byte_at(file_offset + index)) return false;
    }
    return true;
  }

  std::string path;
  unsigned char* slab = nullptr;
  int32_t pinned = 0;
};

double open_files() {
  double result[GS_TALLY_SLOTS] = {};
  gs.gs_resource_tally(result);
  return result[9];
}

void check_opening(const FileStage& stage) {
  double result[2] = {};
  check_status(gs.gs_file_open(stage.path.c_str(), result), 0, "opening a file");
  check_equal(result[1], file_bytes, "tells its size");
  check_equal(open_files(), 1, "and counts it");
  const int32_t file = static_cast<int32_t>(result[0]);
  check_status(gs.gs_file_close(file), 0, "closing it");
  check_status(gs.gs_file_close(file), GS_ERROR_HANDLE, "closing it twice");
  check_equal(open_files(), 0, "leaves nothing");

  check_status(gs.gs_file_open(nullptr, result), GS_ERROR_ARGUMENT, "opening no path");
  check_status(gs.gs_file_open("/", nullptr), GS_ERROR_ARGUMENT, "no result");
  check_status(gs.gs_file_open("", result), GS_ERROR_NOT_FOUND, "an empty path");
  const std::string missing = stage.path + ".missing";
  check_status(gs.gs_file_open(missing.c_str(), result), GS_ERROR_NOT_FOUND, "a missing file");
  const std::string below = stage.path + "/below";
  check_status(gs.gs_file_open(below.c_str(), result), GS_ERROR_NOT_FOUND, "a path below a file");
  check_status(gs.gs_file_open("/", result), GS_ERROR_SYSTEM, "a directory");
  check_status(gs.gs_file_open("/dev/null", result), GS_ERROR_SYSTEM, "a device file");
  check(mkfifo(missing.c_str(), 0600) == 0, "making a named pipe");
  check_status(gs.gs_file_open(missing.c_str(), result), GS_ERROR_SYSTEM,
               "a named pipe without a writer");
  unlink(missing.c_str());
  check_equal(open_files(), 0, "nothing of which stays open");
}

void check_reading(const FileStage& stage) {
  const int32_t file = stage.open();
  const double room = slab_bytes;
  check_status(gs.gs_file_read(file, 0, stage.pinned, 0, room), 0, "reading a slab full");
  check(stage.holds(0, 0, slab_bytes), "brings the bytes of the file");
  check_status(gs.gs_file_read(file, 99991, stage.pinned, 17, 12), 0, "reading up to the end");
  check(stage.holds(17, 99991, 12) && stage.holds(0, 0, 17) && stage.holds(29, 29, 1000),
        "changes only what was asked for");

  check_status(gs.gs_file_read(file, 99991, stage.pinned, 0, 13), GS_ERROR_CAPACITY,
               "one byte past the end of the file");
  check(stage.holds(0, 0, 17), "writes nothing");
  check_status(gs.gs_file_read(file, 0, stage.pinned, 1, room), GS_ERROR_CAPACITY,
               "one byte past the end of the slab");
  check_status(gs.gs_file_read(file, file_bytes, stage.pinned, room, 0), 0,
               "0 bytes at the end of both");
  check_status(gs.gs_file_read(file, file_bytes + 1, stage.pinned, 0, 0), GS_ERROR_CAPACITY,
               "0 bytes beyond the end of the file");
  check_status(gs.gs_file_read(file, 9007199254740991.0, stage.pinned, 0, 9007199254740991.0),
               GS_ERROR_CAPACITY, "the largest numbers there are");
  check_status(gs.gs_file_read(file, 0.5, stage.pinned, 0, 1), GS_ERROR_ARGUMENT, "half an offset");
  check_status(gs.gs_file_read(file, 0, stage.pinned, 0, -1), GS_ERROR_ARGUMENT, "-1 bytes");
  check_status(gs.gs_file_read(file, 0, stage.pinned ^ (1 << 20), 0, 1), GS_ERROR_HANDLE,
               "a slab's handle with a bit flipped");
  check_status(gs.gs_file_close(file), 0, "closing the file");
  check_status(gs.gs_file_read(file, 0, stage.pinned, 0, 1), GS_ERROR_HANDLE,
               "reading it after that");
}

// Threads read while this one closes and opens: each read brings the right bytes or says that the
// handle is gone.
void check_closing_meanwhile(const FileStage& stage) {
  std::atomic<int32_t> file{stage.open()};
  std::atomic<bool> is_over{false};
  std::atomic<int> wrong{0};
  std::atomic<int> right{0};
  std::vector<std::thread> readers;
  for (size_t part = 0; part < 4; part++) {
    readers.emplace_back([&, part] {
      const size_t bytes = slab_bytes / 4;
      while (!is_over) {
        const int32_t status = gs.gs_file_read(file, static_cast<double>(1000 * part), stage.pinned,
                                               static_cast<double>(bytes * part), bytes);
        if (status == 0 && stage.holds(bytes * part, 1000 * part, bytes)) {
          right++;
        } else if (status != GS_ERROR_HANDLE) {
          wrong++;
        }
      }
    });
  }
  for (int turn = 0; turn < 2000 || right < 100; turn++) {
    gs.gs_file_close(file.exchange(stage.open()));
  }
  is_over = true;
  for (std::thread& reader : readers) reader.join();
  gs.gs_file_close(file);
  check_equal(wrong, 0, "reads while the file is closed and opened: wrong ones");
  check_equal(open_files(), 0, "and no file stays open");
}

}  // namespace

void check_files() {
  const FileStage stage;
  check_opening(stage);
  check_reading(stage);
  check_closing_meanwhile(stage);
}
