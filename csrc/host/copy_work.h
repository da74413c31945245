// Copies and fills as work for the pool: rows of bytes, done in pieces that workers claim.
#ifndef GRIDSTRIDE_HOST_COPY_WORK_H
#define GRIDSTRIDE_HOST_COPY_WORK_H

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>

#include "mapped_range.h"
#include "stream.h"
#include "work.h"

namespace gridstride::host {

// Rows of `width` bytes of which consecutive ones begin `pitch` bytes apart.
template <typename Byte>
struct Rows {
  Byte* address = nullptr;
  std::size_t pitch = 0;
};

// What the work touches stays mapped until it is done.
using HeldRanges = std::array<std::shared_ptr<MappedRange>, 2>;

// Work on width × height bytes. Bytes are counted through the rows as if these lay side by side,
// and cut into pieces, so that few long rows spread over the workers like many short ones.
class RowWork : public Work {
 public:
  bool run_piece(Worker& worker) final;
  void completed() final;
  bool divisible() const final;

  // Does all of it on the calling thread, for which StreamGraph::begin_here claimed the stream.
  void run_here();

 protected:
  RowWork(std::shared_ptr<Stream> stream, HeldRanges held, std::size_t width, std::size_t height)
      : stream_(std::move(stream)), held_(std::move(held)), width_(width), bytes_(width * height) {}

  virtual void run_segment(std::size_t row, std::size_t column, std::size_t bytes) = 0;

 private:
  bool run_next_piece();

  const std::shared_ptr<Stream> stream_;
  const HeldRanges held_;
  const std::size_t width_;
  const std::size_t bytes_;
  std::atomic<std::size_t> claimed_{0};
};

class CopyWork final : public RowWork {
 public:
  CopyWork(std::shared_ptr<Stream> stream, HeldRanges held, Rows<unsigned char> destination,
           Rows<const unsigned char> source, std::size_t width, std::size_t height)
      : RowWork(std::move(stream), std::move(held), width, height),
        destination_(destination),
        source_(source) {}

 private:
  void run_segment(std::size_t row, std::size_t column, std::size_t bytes) override;

  const Rows<unsigned char> destination_;
  const Rows<const unsigned char> source_;
};

// Fills with an element of 1, 2 or 4 bytes; width is a multiple of the element.
class FillWork final : public RowWork {
 public:
  FillWork(std::shared_ptr<Stream> stream, HeldRanges held, Rows<unsigned char> destination,
           std::uint32_t value, std::size_t element_bytes, std::size_t width, std::size_t height)
      : RowWork(std::move(stream), std::move(held), width, height),
        destination_(destination),
        value_(value),
        element_bytes_(element_bytes) {}

 private:
  void run_segment(std::size_t row, std::size_t column, std::size_t bytes) override;

  const Rows<unsigned char> destination_;
  const std::uint32_t value_;
  const std::size_t element_bytes_;
};

}  // namespace gridstride::host

#endif
