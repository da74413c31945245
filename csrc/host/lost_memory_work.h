// What a node of a graph runs as when the memory it was captured with has gone.
#ifndef GRIDSTRIDE_HOST_LOST_MEMORY_WORK_H
#define GRIDSTRIDE_HOST_LOST_MEMORY_WORK_H

#include <memory>
#include <string>
#include <utility>

#include "device.h"
#include "stream_graph.h"
#include "work.h"

namespace gridstride::host {

// A copy or fill that ends with the fault that a kernel gets for such an address.
class LostMemoryWork final : public Work {
 public:
  LostMemoryWork(std::shared_ptr<Stream> stream, std::string description)
      : stream_(std::move(stream)), description_(std::move(description)) {}

  bool run_piece(Worker&) override { return false; }

  void completed() override {
    stream_->device().report_fault(cudaErrorIllegalAddress, std::move(description_));
    StreamGraph::instance().finish(*stream_);
  }

 private:
  const std::shared_ptr<Stream> stream_;
  std::string description_;
};

}  // namespace gridstride::host

#endif
