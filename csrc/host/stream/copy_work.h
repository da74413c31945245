// Copies and fills as work for the pool: rows of bytes, done in pieces that workers claim.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>

#include "host/memory/virtual_mappings.h"
#include "host/stream/stream.h"
#include "host/stream/work.h"

namespace gridstride::host {

constexpr int no_device = -1;

// Rows of bytes of which consecutive ones begin `pitch` bytes apart, and what keeps them there.
struct RowEnd {
  std::uintptr_t address = 0;
  std::size_t pitch = 0;
  // An allocation stays mapped, and a variable's module loaded, until the work is done.
  std::shared_ptr<const void> held;
  // Virtual memory does not: each piece checks whether this device may still access it.
  int virtual_for = no_device;
};

// Work on width × height bytes. Bytes are counted through the rows as if these lay side by side,
// and cut into pieces: few long rows spread over the workers like many short ones.
class RowWork : public Work {
 public:
  bool run_piece(Worker& worker) final;
  void completed() final;
  bool divisible() const final;

  // Does all of it on the calling thread, for which StreamGraph::begin_here claimed the stream.
  void run_here();

 protected:
  // A fill has no source.
  RowWork(std::shared_ptr<Stream> stream, RowEnd destination, RowEnd source, std::size_t width,
          std::size_t height)
      : stream_(std::move(stream)),
        destination_(std::move(destination)),
        source_(std::move(source)),
        width_(width),
        bytes_(width * height) {}

  unsigned char* destination_at(std::size_t row, std::size_t column) const;
  const unsigned char* source_at(std::size_t row, std::size_t column) const;

  virtual void run_segment(std::size_t row, std::size_t column, std::size_t bytes) = 0;
  virtual const char* name() const = 0;

 private:
  // Bytes of the work, counted through its rows.
  struct Piece {
    std::size_t begin;
    std::size_t end;
  };

  bool run_next_piece();
  void run_rows(const Piece& piece);
  // Runs body, unless the end is virtual memory that the piece must not touch.
  template <typename Body>
  void run_admitted(const RowEnd& end, AllowedAccess needed, const Piece& piece, Body body);
  void report(const TouchRefusal& refusal, const RowEnd& end, AllowedAccess needed);

  const std::shared_ptr<Stream> stream_;
  RowEnd destination_;
  RowEnd source_;
  const std::size_t width_;
  const std::size_t bytes_;
  std::atomic<std::size_t> claimed_{0};
  std::atomic<bool> faulted_{false};
};

class CopyWork final : public RowWork {
 public:
  CopyWork(std::shared_ptr<Stream> stream, RowEnd destination, RowEnd source, std::size_t width,
           std::size_t height)
      : RowWork(std::move(stream), std::move(destination), std::move(source), width, height) {}

 private:
  void run_segment(std::size_t row, std::size_t column, std::size_t bytes) override;
  const char* name() const override { return "copy"; }
};

// Fills one row with an element of 1, 2 or 4 bytes; the row is a multiple of the element.
class FillWork final : public RowWork {
 public:
  FillWork(std::shared_ptr<Stream> stream, RowEnd destination, std::uint32_t value,
           std::size_t element_bytes, std::size_t bytes)
      : RowWork(std::move(stream), std::move(destination), RowEnd(), bytes, 1),
        value_(value),
        element_bytes_(element_bytes) {}

 private:
  void run_segment(std::size_t row, std::size_t column, std::size_t bytes) override;
  const char* name() const override { return "fill"; }

  const std::uint32_t value_;
  const std::size_t element_bytes_;
};

}  // namespace gridstride::host
