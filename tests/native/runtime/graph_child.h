// Child graphs in captures.
#pragma once

#include <cstddef>

#include "check.h"

namespace runtime_test {

// Adds a child to the graph that the stream is captured into, as its next node.
inline void add_child(cudaStream_t stream, cudaGraph_t child) {
  cudaStreamCaptureStatus status = cudaStreamCaptureStatusNone;
  cudaGraph_t graph = nullptr;
  const cudaGraphNode_t* before = nullptr;
  std::size_t count = 0;
  REQUIRE(cudaStreamGetCaptureInfo(stream, &status, nullptr, &graph, &before, nullptr, &count));
  cudaGraphNode_t node = nullptr;
  REQUIRE(cudaGraphAddChildGraphNode(&node, graph, before, count, child));
  REQUIRE(cudaStreamUpdateCaptureDependencies(stream, &node, nullptr, 1,
                                              cudaStreamSetCaptureDependencies));
}

}  // namespace runtime_test
