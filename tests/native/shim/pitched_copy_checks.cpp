// Pitched copies, against a copy by loops.
#include <cstring>
#include <numeric>
#include <vector>

#include "check.h"
#include "suites.h"

namespace {

constexpr int32_t invalid_value = 1;
constexpr int32_t invalid_pitch = 12;

using Bytes = std::vector<unsigned char>;

Bytes counting(size_t bytes) {
  Bytes values(bytes);
  std::iota(values.begin(), values.end(), static_cast<unsigned char>(1));
  return values;
}

void copy_rows(Bytes& to, size_t to_start, size_t to_pitch, const Bytes& from, size_t from_start,
               size_t from_pitch, size_t width, size_t height) {
  for (size_t row = 0; row < height; row++) {
    std::memcpy(&to[to_start + row * to_pitch], &from[from_start + row * from_pitch], width);
  }
}

Bytes contents(int32_t stream, double address, size_t bytes) {
  Bytes host(bytes);
  gs.gs_copy_to_host(0, stream, host.data(), address, static_cast<double>(bytes));
  return host;
}

int32_t copy_within(int32_t stream, double to, double to_pitch, double from, double from_pitch,
                    double width, double height) {
  set_operands(0, stream, {to, to_pitch, from, from_pitch, width, height});
  return gs.gs_copy_device_2d();
}

void check_shapes(int32_t stream) {
  constexpr size_t size = 4096;
  struct Shape {
    size_t to_pitch, from_pitch, width, height;
  };
  bool right = true;
  for (const Shape& shape : {Shape{1, 1, 1, 1}, Shape{7, 13, 5, 11}, Shape{64, 64, 64, 63},
                             Shape{100, 33, 33, 31}, Shape{3, 997, 3, 4}, Shape{4096, 1, 1, 1}}) {
    const Bytes sent = counting(size);
    Bytes expected(size, 0);
    copy_rows(expected, 0, shape.to_pitch, sent, 0, shape.from_pitch, shape.width, shape.height);
    const double memory = allocate(0, size);
    const double other = allocate(0, size);
    set_operands(0, stream, {memory, 0, 1, size});
    right = right && gs.gs_memory_set() == 0;
    set_operands(0, stream, {other, 0, 1, size});
    right = right && gs.gs_memory_set() == 0;
    const double to_pitch = static_cast<double>(shape.to_pitch);
    const double from_pitch = static_cast<double>(shape.from_pitch);
    const double width = static_cast<double>(shape.width);
    const double height = static_cast<double>(shape.height);
    right = right && gs.gs_copy_to_device_2d(0, stream, memory, to_pitch, sent.data(), from_pitch,
                                             width, height) == 0;
    right = right && contents(stream, memory, size) == expected;
    right = right && copy_within(stream, other, to_pitch, memory, to_pitch, width, height) == 0;
    right = right && contents(stream, other, size) == expected;
    Bytes received(size, 0);
    Bytes packed(size, 0);
    right = right && gs.gs_copy_to_host_2d(0, stream, received.data(), width, other, to_pitch,
                                           width, height) == 0;
    copy_rows(packed, 0, shape.width, expected, 0, shape.to_pitch, shape.width, shape.height);
    right = right && received == packed;
    free_memory(0, memory);
    free_memory(0, other);
  }
  check(right, "six shapes go to the device, within it, and back, and touch no other byte");
}

void check_overlaps(int32_t stream) {
  const double memory = allocate(0, 4096);
  // A matrix of 16 rows of 64 bytes.
  check_status(copy_within(stream, memory + 32, 64, memory, 64, 32, 16), 0,
               "the left half of a matrix to its right half");
  check_status(copy_within(stream, memory, 64, memory + 32, 64, 32, 16), 0, "and back");
  check_status(copy_within(stream, memory + 31, 64, memory, 64, 32, 16), GS_ERROR_OVERLAP,
               "halves that share a column");
  check_status(copy_within(stream, memory + 33, 64, memory, 64, 32, 16), GS_ERROR_OVERLAP,
               "a half that reaches into the next row of the other");
  check_status(copy_within(stream, memory + 33, 64, memory, 64, 32, 1), 0, "the same with one row");
  check_status(copy_within(stream, memory + 1024, 64, memory, 64, 64, 16), 0, "the rows below");
  check_status(copy_within(stream, memory + 960, 64, memory, 64, 64, 16), GS_ERROR_OVERLAP,
               "the rows below and the last one");
  check_status(copy_within(stream, memory + 8, 32, memory, 16, 8, 16), 0,
               "every second gap of a denser matrix");
  check_status(copy_within(stream, memory + 8, 24, memory, 16, 8, 16), GS_ERROR_OVERLAP,
               "a gap, then a row");
  // Interleaved: no two rows ever meet, and there are too many to try one by one.
  check_status(copy_within(stream, memory + 1, 4, memory, 2, 1, 0x1p50), invalid_value,
               "more rows than there is memory");
  check_status(copy_within(stream, memory, 2, memory + 1, 4, 1, 0x1p50), invalid_value,
               "more rows than there is memory, the other way");
  check_status(copy_within(stream, memory + 100, 9, memory, 10, 2, 300), GS_ERROR_OVERLAP,
               "rows that meet only after some");
  free_memory(0, memory);
}

void check_refusals(int32_t stream) {
  Bytes host(8192);
  const double memory = allocate(0, 4096);
  const auto to_device = [&](double address, double pitch, double width, double height) {
    return gs.gs_copy_to_device_2d(0, stream, address, pitch, host.data(), 64, width, height);
  };
  check_status(to_device(memory, 64, 64, 64), 0, "64 rows of 64 bytes fill 4 KiB");
  check_status(to_device(memory, 64, 64, 65), invalid_value, "65 rows are too many");
  check_status(to_device(memory + 1, 64, 64, 64), invalid_value, "so are 64 one byte further");
  check_status(to_device(memory + 32, 64, 32, 64), 0, "the last row needs no pitch");
  check_status(to_device(memory, 63, 64, 2), invalid_pitch, "a pitch smaller than the width");
  check_status(to_device(memory, 9007199254740991.0, 64, 9007199254740991.0), GS_ERROR_ARGUMENT,
               "a product beyond 2^64");
  check_status(to_device(memory, 9007199254740991.0, 64, 2), GS_ERROR_ARGUMENT,
               "a sum beyond 2^53");
  check_status(to_device(memory, 64, 64.5, 1), GS_ERROR_ARGUMENT, "a fraction of a byte");
  check_status(to_device(0, 0, 0, 9007199254740991.0), 0, "rows of no bytes");
  check_status(to_device(0, 0, 64, 0), 0, "no rows");
  check_status(gs.gs_copy_to_device_2d(0, stream, memory, 64, nullptr, 64, 64, 1),
               GS_ERROR_ARGUMENT, "no source");
  check_status(gs.gs_copy_to_host_2d(0, stream, nullptr, 64, memory, 64, 64, 1), GS_ERROR_ARGUMENT,
               "no destination");
  check_status(gs.gs_copy_to_host_2d(0, stream, host.data(), 64, memory, 64, 64, 65), invalid_value,
               "65 rows back");
  free_memory(0, memory);
}

}  // namespace

void check_pitched_copies() {
  const int32_t stream = make_stream(0);
  check_shapes(stream);
  check_overlaps(stream);
  check_refusals(stream);
  gs.gs_stream_destroy(stream);
}
