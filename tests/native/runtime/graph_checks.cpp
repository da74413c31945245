// Graphs: what a launch runs, in which order, and what becomes of it.
#include <atomic>
#include <chrono>
#include <string>
#include <thread>
#include <vector>

#include "check.h"
#include "gate.h"
#include "graph_child.h"
#include "host/device/device.h"
#include "suites.h"

namespace runtime_test {
namespace {

using gridstride::host::fault_description;
using gridstride::host::kernel_descriptor;

__global__ void add_to(int* value, int added) { *value += added; }

// Each of two runs of this ends only while the other runs as well, or after the limit.
__global__ void meet(std::atomic<int>* arrived, int* met) {
  arrived->fetch_add(1);
  for (int turn = 0; turn < 200000 && arrived->load() < 2; ++turn) __nanosleep(1000);
  *met = arrived->load() >= 2 ? 1 : 0;
}

template <typename... Arguments>
cudaError_t launch(const void* function, cudaStream_t stream, Arguments... arguments) {
  void* addresses[] = {&arguments...};
  return cudaLaunchKernel(function, 1, 1, addresses, 0, stream);
}

cudaError_t launch_add(int* value, int added, cudaStream_t stream) {
  return launch(kernel_descriptor<&add_to>("add_to"), stream, value, added);
}

cudaStream_t make_stream() {
  cudaStream_t stream = nullptr;
  REQUIRE(cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking));
  return stream;
}

// Some zeros on the current device.
int* make_values(std::size_t count) {
  int* values = nullptr;
  REQUIRE(cudaMalloc(&values, count * sizeof(int)));
  REQUIRE(cudaMemset(values, 0, count * sizeof(int)));
  REQUIRE(cudaDeviceSynchronize());
  return values;
}

int read(const int* value) {
  int result = -1;
  REQUIRE(cudaMemcpy(&result, value, sizeof result, cudaMemcpyDefault));
  return result;
}

// What body gives the stream.
template <typename Body>
cudaGraph_t capture_graph(cudaStream_t stream, std::size_t expected_nodes, Body body) {
  cudaGraph_t graph = nullptr;
  std::size_t nodes = 0;
  REQUIRE(cudaStreamBeginCapture(stream, cudaStreamCaptureModeThreadLocal));
  body();
  REQUIRE(cudaStreamEndCapture(stream, &graph));
  REQUIRE(cudaGraphGetNodes(graph, nullptr, &nodes));
  CHECK(nodes == expected_nodes, "a graph has " + std::to_string(expected_nodes) + " nodes");
  return graph;
}

// The same, ready to be launched.
template <typename Body>
cudaGraphExec_t capture(cudaStream_t stream, std::size_t expected_nodes, Body body) {
  const cudaGraph_t graph = capture_graph(stream, expected_nodes, body);
  cudaGraphExec_t executable = nullptr;
  REQUIRE(cudaGraphInstantiateWithFlags(&executable, graph, 0));
  REQUIRE(cudaGraphDestroy(graph));
  return executable;
}

// Lets the streams wait for all that the stream has by now.
void fork(cudaStream_t from, const std::vector<cudaStream_t>& streams) {
  cudaEvent_t event = nullptr;
  REQUIRE(cudaEventCreateWithFlags(&event, cudaEventDisableTiming));
  REQUIRE(cudaEventRecord(event, from));
  for (const cudaStream_t stream : streams) REQUIRE(cudaStreamWaitEvent(stream, event));
  REQUIRE(cudaEventDestroy(event));
}

// Every kind of node, in a chain; each sees what the one before it wrote.
void check_nodes() {
  static int host[4] = {};
  REQUIRE(cudaHostRegister(host, sizeof host, 0));
  int* const values = make_values(4);
  const cudaStream_t stream = make_stream();
  const cudaStream_t elsewhere = make_stream();
  const cudaGraphExec_t graph = capture(stream, 6, [&] {
    REQUIRE(cudaMemcpyAsync(values, host, 4, cudaMemcpyHostToDevice, stream));
    REQUIRE(launch_add(values, 5, stream));
    REQUIRE(cudaMemcpy2DAsync(values + 1, 4, values, 4, 4, 1, cudaMemcpyDeviceToDevice, stream));
    REQUIRE(cudaMemsetAsync(values + 2, 1, 4, stream));
    REQUIRE(cudaLaunchHostFunc(
        stream, [](void* data) { static_cast<int*>(data)[0] += 100; }, host));
    REQUIRE(cudaMemcpyAsync(host + 1, values + 1, 4, cudaMemcpyDeviceToHost, stream));
    REQUIRE(cudaMemsetAsync(values + 2, 1, 0, stream));
  });
  REQUIRE(cudaStreamSynchronize(stream));
  CHECK(read(values) == 0 && host[0] == 0, "a capture runs nothing");
  for (int round = 0; round < 3; ++round) {
    host[0] = 10 * round;
    REQUIRE(cudaGraphLaunch(graph, round == 1 ? elsewhere : stream));
    REQUIRE(cudaStreamSynchronize(round == 1 ? elsewhere : stream));
    CHECK(host[1] == 10 * round + 5, "a launch works on what is there at its time");
    CHECK(host[0] == 10 * round + 100 && read(values + 2) == 0x01010101, "and runs all nodes");
  }
  REQUIRE(cudaGraphExecDestroy(graph));
  REQUIRE(cudaStreamDestroy(stream));
  REQUIRE(cudaStreamDestroy(elsewhere));
  REQUIRE(cudaFree(values));
  REQUIRE(cudaHostUnregister(host));
}

void check_order() {
  int* const value = make_values(1);
  const cudaStream_t first = make_stream();
  const cudaStream_t second = make_stream();
  const cudaGraphExec_t graph = capture(first, 2, [&] {
    REQUIRE(launch_add(value, 1, first));
    REQUIRE(cudaMemcpyAsync(value, value, 4, cudaMemcpyDeviceToDevice, first));
  });
  {
    Gate gate(first);
    REQUIRE(cudaGraphLaunch(graph, first));
    REQUIRE(cudaGraphLaunch(graph, second));
    CHECK_STATUS(cudaStreamQuery(second), cudaErrorNotReady,
                 "a launch waits for the one before it, also in another stream");
    REQUIRE(cudaMemsetAsync(value, 0, 4, second));
    REQUIRE(cudaGraphLaunch(graph, second));
    CHECK_STATUS(cudaGraphExecDestroy(graph), cudaSuccess, "a graph can be destroyed in use");
    CHECK_STATUS(cudaGraphLaunch(graph, second), cudaErrorInvalidValue, "its handle is gone");
    CHECK(read(value) == 0, "nothing has run so far");
  }
  REQUIRE(cudaDeviceSynchronize());
  CHECK(read(value) == 1, "work in between is done in its place, and launches complete");
  REQUIRE(cudaStreamDestroy(first));
  REQUIRE(cudaStreamDestroy(second));
  REQUIRE(cudaFree(value));
}

void check_branches() {
  if (std::thread::hardware_concurrency() < 2) return;
  int* const met = make_values(3);
  std::atomic<int> arrived{0};
  const cudaStream_t stream = make_stream();
  const cudaStream_t side = make_stream();
  const void* const kernel = kernel_descriptor<&meet>("meet");
  const cudaGraphExec_t graph = capture(stream, 3, [&] {
    fork(stream, {side});
    REQUIRE(launch(kernel, stream, &arrived, met));
    REQUIRE(launch(kernel, side, &arrived, met + 1));
    fork(side, {stream});
    REQUIRE(cudaMemcpyAsync(met + 2, met + 1, 4, cudaMemcpyDeviceToDevice, stream));
  });
  REQUIRE(cudaGraphLaunch(graph, stream));
  REQUIRE(cudaStreamSynchronize(stream));
  CHECK(read(met) == 1 && read(met + 1) == 1, "branches of a graph run side by side");
  CHECK(read(met + 2) == 1, "and what joins them waits for both");
  REQUIRE(cudaGraphExecDestroy(graph));
  REQUIRE(cudaStreamDestroy(stream));
  REQUIRE(cudaStreamDestroy(side));
  REQUIRE(cudaFree(met));
}

void check_two_devices() {
  int* const here = make_values(1);
  const cudaStream_t stream = make_stream();
  REQUIRE(cudaSetDevice(second_device));
  int* const there = make_values(1);
  const cudaStream_t remote = make_stream();
  cudaEvent_t remote_done = nullptr;
  REQUIRE(cudaEventCreateWithFlags(&remote_done, cudaEventDisableTiming));
  REQUIRE(cudaSetDevice(first_device));
  const cudaGraphExec_t graph = capture(stream, 4, [&] {
    REQUIRE(launch_add(here, 1, stream));
    fork(stream, {remote});
    REQUIRE(cudaMemcpyPeerAsync(there, second_device, here, first_device, 4, remote));
    REQUIRE(cudaSetDevice(second_device));
    REQUIRE(launch_add(there, 10, remote));
    REQUIRE(cudaEventRecord(remote_done, remote));
    REQUIRE(cudaSetDevice(first_device));
    REQUIRE(cudaStreamWaitEvent(stream, remote_done));
    REQUIRE(cudaMemcpyPeerAsync(here, first_device, there, second_device, 4, stream));
  });
  REQUIRE(cudaGraphLaunch(graph, stream));
  REQUIRE(cudaGraphLaunch(graph, remote));
  REQUIRE(cudaStreamSynchronize(remote));
  CHECK(read(here) == 22, "a graph of two devices is launched in streams of both");
  REQUIRE(cudaGraphExecDestroy(graph));
  REQUIRE(cudaEventDestroy(remote_done));
  REQUIRE(cudaStreamDestroy(stream));
  REQUIRE(cudaStreamDestroy(remote));
  REQUIRE(cudaFree(here));
  REQUIRE(cudaFree(there));
}

// A graph with branches, as a part of others.
void check_children() {
  int* const values = make_values(2);
  const cudaStream_t stream = make_stream();
  const cudaStream_t side = make_stream();
  const cudaGraph_t empty = capture_graph(stream, 0, [] {});
  const cudaGraph_t child = capture_graph(stream, 3, [&] {
    fork(stream, {side});
    REQUIRE(launch_add(values, 1, stream));
    REQUIRE(launch_add(values + 1, 2, side));
    fork(side, {stream});
    REQUIRE(cudaMemcpyAsync(values + 1, values, 4, cudaMemcpyDeviceToDevice, stream));
  });
  const cudaGraph_t parent = capture_graph(stream, 5, [&] {
    add_child(stream, child);
    add_child(stream, empty);
    REQUIRE(launch_add(values + 1, 40, stream));
    REQUIRE(cudaMemcpyAsync(values, values + 1, 4, cudaMemcpyDeviceToDevice, stream));
    add_child(stream, child);
  });
  REQUIRE(cudaGraphDestroy(child));
  cudaGraphExec_t executable = nullptr;
  REQUIRE(cudaGraphInstantiate(&executable, parent));
  REQUIRE(cudaGraphLaunch(executable, stream));
  REQUIRE(cudaStreamSynchronize(stream));
  REQUIRE(cudaGraphExecDestroy(executable));
  CHECK(read(values) == 42 && read(values + 1) == 42, "a graph can be part of another");
  const cudaGraphExec_t grandparent = capture(side, 1, [&] { add_child(side, parent); });
  REQUIRE(cudaGraphDestroy(parent));
  REQUIRE(cudaGraphLaunch(grandparent, stream));
  REQUIRE(cudaStreamSynchronize(stream));
  CHECK(read(values) == 84, "and that of a third, also when the others are destroyed");
  REQUIRE(cudaGraphExecDestroy(grandparent));
  REQUIRE(cudaGraphDestroy(empty));
  REQUIRE(cudaStreamDestroy(stream));
  REQUIRE(cudaStreamDestroy(side));
  REQUIRE(cudaFree(values));
}

// Children of two captured streams, and a child of a graph that is not captured any more.
void check_children_of_branches() {
  if (std::thread::hardware_concurrency() < 2) return;
  int* const met = make_values(2);
  std::atomic<int> arrived{0};
  const cudaStream_t stream = make_stream();
  const cudaStream_t side = make_stream();
  const void* const kernel = kernel_descriptor<&meet>("meet");
  const auto child_of = [&](int* result) {
    return capture_graph(stream, 1, [&] { REQUIRE(launch(kernel, stream, &arrived, result)); });
  };
  const cudaGraph_t here = child_of(met);
  const cudaGraph_t there = child_of(met + 1);
  const cudaGraphExec_t both = capture(stream, 3, [&] {
    REQUIRE(cudaMemsetAsync(met, 0, 8, stream));
    fork(stream, {side});
    add_child(stream, here);
    add_child(side, there);
    fork(side, {stream});
  });
  REQUIRE(cudaGraphLaunch(both, stream));
  REQUIRE(cudaStreamSynchronize(stream));
  CHECK(read(met) == 1 && read(met + 1) == 1, "children of two streams run side by side");
  arrived = 1;
  REQUIRE(cudaMemset(met, 0, 8));
  cudaGraphNode_t node = nullptr;
  cudaGraphExec_t later = nullptr;
  CHECK_STATUS(cudaGraphAddChildGraphNode(&node, here, nullptr, 0, there), cudaSuccess,
               "a graph takes children after its capture");
  REQUIRE(cudaGraphInstantiate(&later, here));
  REQUIRE(cudaGraphLaunch(later, stream));
  REQUIRE(cudaStreamSynchronize(stream));
  CHECK(read(met) == 1 && read(met + 1) == 1, "and runs them");
  for (const cudaGraphExec_t each : {both, later}) REQUIRE(cudaGraphExecDestroy(each));
  for (const cudaGraph_t each : {here, there}) REQUIRE(cudaGraphDestroy(each));
  for (const cudaStream_t each : {stream, side}) REQUIRE(cudaStreamDestroy(each));
  REQUIRE(cudaFree(met));
}

void check_child_arguments() {
  const cudaStream_t stream = make_stream();
  const cudaGraph_t one = capture_graph(stream, 1, [&] {
    REQUIRE(cudaLaunchHostFunc(
        stream, [](void*) {}, nullptr));
  });
  const cudaGraph_t other = capture_graph(stream, 0, [] {});
  cudaGraphNode_t node = nullptr;
  cudaGraphNode_t of_one = nullptr;
  std::size_t count = 1;
  REQUIRE(cudaGraphGetNodes(one, &of_one, &count));
  const cudaError_t invalid = cudaErrorInvalidValue;
  CHECK_STATUS(cudaGraphAddChildGraphNode(&node, one, nullptr, 0, one), invalid,
               "no graph is its own child");
  CHECK_STATUS(cudaGraphAddChildGraphNode(nullptr, one, nullptr, 0, other), invalid,
               "a child needs a place for its node");
  CHECK_STATUS(cudaGraphAddChildGraphNode(&node, one, nullptr, 1, other), invalid,
               "nodes before it if there are some");
  CHECK_STATUS(cudaGraphAddChildGraphNode(&node, other, &of_one, 1, one), invalid,
               "which are nodes of the graph");
  CHECK_STATUS(cudaGraphAddChildGraphNode(&node, one, &of_one, 1, other), cudaSuccess,
               "such as this one");
  CHECK_STATUS(cudaStreamUpdateCaptureDependencies(stream, &node, nullptr, 1, 0),
               cudaErrorIllegalState, "streams that are not captured come after no nodes");
  REQUIRE(cudaStreamBeginCapture(stream, cudaStreamCaptureModeThreadLocal));
  CHECK_STATUS(cudaStreamUpdateCaptureDependencies(stream, &node, nullptr, 1, 0), invalid,
               "captured ones after none of another graph");
  CHECK_STATUS(cudaStreamUpdateCaptureDependencies(stream, nullptr, nullptr, 0, 2), invalid,
               "flags are checked");
  cudaGraph_t ended = nullptr;
  REQUIRE(cudaStreamEndCapture(stream, &ended));
  for (const cudaGraph_t each : {one, other, ended}) REQUIRE(cudaGraphDestroy(each));
  REQUIRE(cudaStreamDestroy(stream));
}

void check_long_graph() {
  constexpr std::size_t length = 5000;
  int* const value = make_values(1);
  const cudaStream_t stream = make_stream();
  const cudaStream_t side = make_stream();
  const cudaGraphExec_t graph = capture(stream, length, [&] {
    for (std::size_t index = 0; index < length; index += 2) {
      fork(stream, {side});
      REQUIRE(launch_add(value, 1, side));
      fork(side, {stream});
      REQUIRE(launch_add(value, 1, stream));
    }
  });
  for (int round = 0; round < 3; ++round) REQUIRE(cudaGraphLaunch(graph, stream));
  REQUIRE(cudaGraphExecDestroy(graph));
  REQUIRE(cudaStreamSynchronize(stream));
  CHECK(read(value) == 3 * static_cast<int>(length), "5000 nodes run in their order, three times");
  REQUIRE(cudaStreamDestroy(stream));
  REQUIRE(cudaStreamDestroy(side));
  REQUIRE(cudaFree(value));
}

void check_arguments() {
  const cudaStream_t stream = make_stream();
  cudaGraph_t graph = nullptr;
  cudaGraphExec_t executable = nullptr;
  std::size_t count = 0;
  REQUIRE(cudaStreamBeginCapture(stream, cudaStreamCaptureModeThreadLocal));
  REQUIRE(cudaLaunchHostFunc(
      stream, [](void*) {}, nullptr));
  REQUIRE(cudaStreamEndCapture(stream, &graph));
  CHECK_STATUS(cudaGraphGetNodes(graph, nullptr, nullptr), cudaErrorInvalidValue,
               "counting nodes needs a place for the count");
  CHECK_STATUS(cudaGraphGetNodes(nullptr, nullptr, &count), cudaErrorInvalidValue, "and a graph");
  cudaGraphNode_t nodes[3] = {nullptr, reinterpret_cast<cudaGraphNode_t>(&count), nullptr};
  count = 3;
  CHECK_STATUS(cudaGraphGetNodes(graph, nodes, &count), cudaSuccess, "nodes can be listed");
  CHECK(count == 1 && nodes[0] != nullptr && nodes[1] == nullptr, "places left are cleared");
  CHECK_STATUS(cudaGraphInstantiate(nullptr, graph), cudaErrorInvalidValue,
               "a graph needs a place for its executable");
  CHECK_STATUS(cudaGraphInstantiate(&executable, nullptr), cudaErrorInvalidValue, "and to exist");
  CHECK_STATUS(cudaGraphInstantiate(&executable, graph, 16), cudaErrorInvalidValue,
               "flags are checked");
  CHECK_STATUS(cudaGraphInstantiate(&executable, graph, cudaGraphInstantiateFlagDeviceLaunch),
               cudaErrorNotSupported, "kernels launch no graphs");
  CHECK_STATUS(cudaGraphInstantiate(&executable, graph, cudaGraphInstantiateFlagUseNodePriority),
               cudaSuccess, "other flags are accepted");
  CHECK_STATUS(cudaGraphLaunch(executable, reinterpret_cast<cudaStream_t>(graph)),
               cudaErrorInvalidResourceHandle, "a launch needs a stream");
  CHECK_STATUS(cudaGraphLaunch(reinterpret_cast<cudaGraphExec_t>(graph), stream),
               cudaErrorInvalidValue, "and an executable");
  CHECK_STATUS(cudaGraphLaunch(executable, nullptr), cudaSuccess, "the legacy stream will do");
  REQUIRE(cudaGraphExecDestroy(executable));
  CHECK_STATUS(cudaGraphExecDestroy(executable), cudaErrorInvalidValue, "none is destroyed twice");
  REQUIRE(cudaGraphDestroy(graph));
  CHECK_STATUS(cudaGraphDestroy(graph), cudaErrorInvalidValue, "nor is a graph");
  REQUIRE(cudaDeviceSynchronize());
  REQUIRE(cudaStreamDestroy(stream));
}

}  // namespace

void check_graphs() {
  check_nodes();
  check_order();
  check_branches();
  check_two_devices();
  check_children();
  check_children_of_branches();
  check_child_arguments();
  check_long_graph();
  check_arguments();
}

// A node that touches memory that has gone is a fault of its device, like a kernel that does.
void check_graph_faults() {
  for (const bool by_copy : {true, false}) {
    const int device = by_copy ? graph_copy_victim_device : graph_kernel_victim_device;
    REQUIRE(cudaSetDevice(device));
    int* const value = make_values(2);
    const cudaStream_t stream = make_stream();
    const cudaGraphExec_t graph = capture(stream, 2, [&] {
      REQUIRE(cudaLaunchHostFunc(
          stream, [](void*) {}, nullptr));
      if (by_copy) {
        REQUIRE(cudaMemcpyAsync(value + 1, value, 4, cudaMemcpyDeviceToDevice, stream));
      } else {
        REQUIRE(launch_add(value, 1, stream));
      }
    });
    REQUIRE(cudaGraphLaunch(graph, stream));
    CHECK_STATUS(cudaStreamSynchronize(stream), cudaSuccess,
                 "a launch works while memory is there");
    REQUIRE(cudaFree(value));
    CHECK_STATUS(cudaGraphLaunch(graph, stream), cudaSuccess, "a launch without it is accepted");
    CHECK_STATUS(cudaStreamSynchronize(stream), cudaErrorIllegalAddress, "and is a fault");
    CHECK(fault_description(device).find(by_copy ? "copy" : "add_to") != std::string::npos,
          "that names what did it");
    CHECK_STATUS(cudaGraphLaunch(graph, stream), cudaErrorIllegalAddress, "and sticks");
    CHECK_STATUS(cudaStreamBeginCapture(stream, cudaStreamCaptureModeRelaxed),
                 cudaErrorIllegalAddress, "also for captures");
    (void)cudaGraphExecDestroy(graph);
    (void)cudaStreamDestroy(stream);
    REQUIRE(cudaSetDevice(first_device));
    (void)cudaGetLastError();
  }
}

}  // namespace runtime_test
