// What a node of a graph runs as when what it was captured with has gone: memory, or a kernel.
#ifndef GRIDSTRIDE_HOST_LOST_MEMORY_WORK_H
#define GRIDSTRIDE_HOST_LOST_MEMORY_WORK_H

#include <memory>
#include <string>
#include <utility>

#include "host/device/device.h"
#include "host/stream/stream_graph.h"
#include "host/stream/work.h"

namespace gridstride::host {

// A copy or fill that ends with the fault that a kernel gets for such an address, or a launch that
// ends with another.
class LostMemoryWork final : public Work {
 public:
  LostMemoryWork(std::shared_ptr<Stream> stream, std::string description,
                 cudaError_t code = cudaErrorIllegalAddress)
      : stream_(std::move(stream)), description_(std::move(description)), code_(code) {}

  bool run_piece(Worker&) override { return false; }

  void completed() override {
    stream_->device().report_fault(code_, std::move(description_));
    StreamGraph::instance().finish(*stream_);
  }

 private:
  const std::shared_ptr<Stream> stream_;
  std::string description_;
  const cudaError_t code_;
};

}  // namespace gridstride::host

#endif
