// Claiming pieces, and the loops over the rows of a piece.
#include "copy_work.h"

#include <algorithm>
#include <cstring>

#include "stream_graph.h"

namespace gridstride::host {
namespace {

// Large enough to outweigh the claim, small enough that several workers share a copy of a few
// dozen MiB. A multiple of every element, so that no element is cut.
constexpr std::size_t piece_bytes = std::size_t{4} << 20;

}  // namespace

bool RowWork::run_next_piece() {
  std::size_t position = claimed_.fetch_add(piece_bytes, std::memory_order_relaxed);
  if (position >= bytes_) return false;
  const std::size_t limit = std::min(bytes_, position + piece_bytes);
  while (position < limit) {
    const std::size_t row = position / width_;
    const std::size_t column = position % width_;
    const std::size_t bytes = std::min(width_ - column, limit - position);
    run_segment(row, column, bytes);
    position += bytes;
  }
  return true;
}

bool RowWork::run_piece(Worker&) { return run_next_piece(); }

bool RowWork::divisible() const { return bytes_ > piece_bytes; }

void RowWork::completed() { StreamGraph::instance().finish(*stream_); }

void RowWork::run_here() {
  while (run_next_piece()) {
  }
  completed();
}

// Overlapping ranges have no defined result in CUDA; memmove keeps them defined in C++.
void CopyWork::run_segment(std::size_t row, std::size_t column, std::size_t bytes) {
  std::memmove(destination_.address + row * destination_.pitch + column,
               source_.address + row * source_.pitch + column, bytes);
}

void FillWork::run_segment(std::size_t row, std::size_t column, std::size_t bytes) {
  unsigned char* const address = destination_.address + row * destination_.pitch + column;
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
