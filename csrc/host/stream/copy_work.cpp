// Claiming pieces, being admitted to virtual memory, and the loops over the rows of a piece.
#include "host/stream/copy_work.h"

#include <algorithm>
#include <cstdio>
#include <cstring>

#include "host/device/device.h"
#include "host/stream/stream_graph.h"
#include "host/memory/virtual_memory.h"

namespace gridstride::host {
namespace {

// Large enough to outweigh the claim, small enough that several workers share a copy of a few dozen
// MiB. A multiple of every element size: no element is cut.
constexpr std::size_t piece_bytes = std::size_t{4} << 20;

}  // namespace

unsigned char* RowWork::destination_at(std::size_t row, std::size_t column) const {
  return reinterpret_cast<unsigned char*>(destination_.address + row * destination_.pitch + column);
}

const unsigned char* RowWork::source_at(std::size_t row, std::size_t column) const {
  return reinterpret_cast<const unsigned char*>(source_.address + row * source_.pitch + column);
}

bool RowWork::run_next_piece() {
  if (faulted_.load(std::memory_order_relaxed)) return false;
  const std::size_t begin = claimed_.fetch_add(piece_bytes, std::memory_order_relaxed);
  if (begin >= bytes_) return false;
  const Piece piece = {begin, std::min(bytes_, begin + piece_bytes)};
  run_admitted(destination_, AllowedAccess::read_write, piece, [&] {
    run_admitted(source_, AllowedAccess::read, piece, [&] { run_rows(piece); });
  });
  return true;
}

// From the piece's first byte to its last, with what lies between the rows.
template <typename Body>
void RowWork::run_admitted(const RowEnd& end, AllowedAccess needed, const Piece& piece, Body body) {
  if (end.virtual_for == no_device) return body();
  const std::size_t last = piece.end - 1;
  const std::uintptr_t first_address =
      end.address + piece.begin / width_ * end.pitch + piece.begin % width_;
  const std::uintptr_t last_address = end.address + last / width_ * end.pitch + last % width_;
  const AdmittedTouch touch(
      VirtualMemory::instance().mappings(),
      {first_address, last_address - first_address + 1, end.virtual_for, needed});
  if (touch.refusal().address == 0) return body();
  report(touch.refusal(), end, needed);
}

void RowWork::report(const TouchRefusal& refusal, const RowEnd& end, AllowedAccess needed) {
  faulted_.store(true, std::memory_order_relaxed);
  const char* const access = needed == AllowedAccess::read ? "read of" : "write to";
  char text[160];
  if (refusal.is_mapped) {
    std::snprintf(text, sizeof text,
                  "%s of %zu bytes: %s address 0x%llx, which device %d is not allowed", name(),
                  bytes_, access, static_cast<unsigned long long>(refusal.address),
                  end.virtual_for);
  } else {
    std::snprintf(text, sizeof text, "%s of %zu bytes: %s address 0x%llx, where no memory is",
                  name(), bytes_, access, static_cast<unsigned long long>(refusal.address));
  }
  stream_->device().report_fault(cudaErrorIllegalAddress, text);
}

void RowWork::run_rows(const Piece& piece) {
  std::size_t position = piece.begin;
  while (position < piece.end) {
    const std::size_t row = position / width_;
    const std::size_t column = position % width_;
    const std::size_t bytes = std::min(width_ - column, piece.end - position);
    run_segment(row, column, bytes);
    position += bytes;
  }
}

bool RowWork::run_piece(Worker&) { return run_next_piece(); }

bool RowWork::divisible() const { return bytes_ > piece_bytes; }

// Memory and module are released before waiting threads are notified: one may be about to unload
// the module.
void RowWork::completed() {
  destination_.held = nullptr;
  source_.held = nullptr;
  StreamGraph::instance().finish(*stream_);
}

void RowWork::run_here() {
  while (run_next_piece()) {
  }
  completed();
}

// Overlapping ranges have no defined result in CUDA; memmove keeps them defined in C++.
void CopyWork::run_segment(std::size_t row, std::size_t column, std::size_t bytes) {
  std::memmove(destination_at(row, column), source_at(row, column), bytes);
}

void FillWork::run_segment(std::size_t row, std::size_t column, std::size_t bytes) {
  unsigned char* const address = destination_at(row, column);
  if (element_bytes_ == 1 || value_ == 0) {
    std::memset(address, static_cast<int>(value_), bytes);
  } else if (element_bytes_ == 2) {
    std::fill_n(reinterpret_cast<std::uint16_t*>(address), bytes / 2,
                static_cast<std::uint16_t>(value_));
  } else {
    std::fill_n(reinterpret_cast<std::uint32_t*>(address), bytes / 4, value_);
  }
}

}  // namespace gridstride::host
