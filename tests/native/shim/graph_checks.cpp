// Stream capture and graphs: capturing, launching, refused calls, and the state after a failure.
#include <string>

#include "check.h"
#include "suites.h"

namespace {

constexpr int32_t injected = 999;
// CUDA's numbers.
constexpr int32_t illegal_state = 401;
constexpr int32_t unsupported = 900;
constexpr int32_t invalidated = 901;

constexpr int32_t global_mode = 0;
constexpr int32_t thread_local_mode = 1;

int32_t on_stream(int32_t (*hot)(), int32_t stream, double operand) {
  set_operands(0, stream, {operand});
  return hot();
}

int32_t set(int32_t stream, double address, double value, double bytes) {
  set_operands(0, stream, {address, value, 1, bytes});
  return gs.gs_memory_set();
}

double read_byte(int32_t stream, double address) {
  unsigned char byte = 0;
  gs.gs_copy_to_host(0, stream, &byte, address, 1);
  return byte;
}

// The capture's status and id from gs_stream_capture_query.
struct State {
  double status;
  double id;
};

State state_of(int32_t stream) {
  double result[2] = {-1, -1};
  gs.gs_stream_capture_query(stream, result);
  return {result[0], result[1]};
}

int32_t end_capture(int32_t stream, int32_t& graph) {
  double result = 0;
  const int32_t status = gs.gs_stream_capture_end(stream, &result);
  graph = static_cast<int32_t>(result);
  return status;
}

void check_launching(int32_t stream, double memory) {
  int32_t graph = 0;
  double nodes = 0;
  const Tally before = tally();
  check_status(set(stream, memory, 0, 1), 0, "a byte is set");
  check_status(gs.gs_stream_capture(stream, thread_local_mode), 0, "a capture begins");
  const State active = state_of(stream);
  check(active.status == 1 && active.id > 0, "its stream says so");
  check_status(set(stream, memory, 7, 1), 0, "work is captured");
  check_status(end_capture(stream, graph), 0, "and becomes a graph");
  check(state_of(stream).status == 0, "the stream is captured no more");
  check_equal(read_byte(stream, memory), 0, "nothing has run");
  check_equal(tally().graphs, before.graphs + 1, "the graph is counted");
  check_status(gs.gs_graph_nodes(graph, &nodes), 0, "its nodes can be counted");
  check_equal(nodes, 1, "there is one");
  check_status(on_stream(gs.gs_graph_launch, stream, graph), 0, "it can be launched");
  check_equal(read_byte(stream, memory), 7, "which does the work");
  set(stream, memory, 0, 1);
  const int32_t other = make_stream(0);
  check_status(on_stream(gs.gs_graph_launch, other, graph), 0, "also on another stream");
  check_equal(read_byte(other, memory), 7, "again");
  check_status(on_stream(gs.gs_graph_launch, other, graph), 0, "a launch is enqueued");
  check_status(gs.gs_graph_destroy(graph), 0, "before its graph is destroyed");
  check_status(gs.gs_stream_synchronize(other), 0, "and completes");
  check_status(on_stream(gs.gs_graph_launch, other, graph), GS_ERROR_HANDLE, "its handle is stale");
  check_status(gs.gs_graph_nodes(graph, &nodes), GS_ERROR_HANDLE, "for every call");
  check_status(gs.gs_graph_destroy(graph), GS_ERROR_HANDLE, "and stays so");
  gs.gs_stream_destroy(other);
  check(tally() == before, "nothing is left");
}

void check_refusals(int32_t stream, double memory) {
  int32_t graph = 0;
  double result = 0;
  for (const int32_t mode : {-1, 3}) {
    check_status(gs.gs_stream_capture(stream, mode), GS_ERROR_ARGUMENT, "modes are checked");
  }
  check_status(gs.gs_stream_capture_end(stream, nullptr), GS_ERROR_ARGUMENT, "so are places");
  check_status(gs.gs_stream_capture_query(stream, nullptr), GS_ERROR_ARGUMENT, "for results");
  check_status(gs.gs_stream_capture(0, global_mode), GS_ERROR_HANDLE, "and handles");
  check_status(on_stream(gs.gs_graph_launch, stream, stream), GS_ERROR_HANDLE, "of their kind");
  check_status(end_capture(stream, graph), illegal_state, "a capture begins before it ends");
  gs.gs_stream_capture(stream, thread_local_mode);
  check_status(gs.gs_stream_capture(stream, thread_local_mode), illegal_state,
               "and does not begin twice");
  check_status(gs.gs_stream_synchronize(stream), unsupported, "nobody waits for captured work");
  check_equal(state_of(stream).status, 2, "trying spoils the capture");
  check_status(set(stream, memory, 7, 1), invalidated, "of which nothing");
  check_status(end_capture(stream, graph), invalidated, "comes any more");
  check_status(gs.gs_stream_synchronize(stream), 0, "the stream works again");
  check_status(gs.gs_stream_capture_query(stream, &result), 0, "and can be asked");

  gs.gs_stream_capture(stream, thread_local_mode);
  const double during = allocate(0, 1000);
  check(during != 0, "memory can be allocated during a capture");
  check_status(free_memory(0, during), 0, "and freed");
  check_status(end_capture(stream, graph), 0, "which spoils nothing");
  gs.gs_graph_destroy(graph);
}

// Whichever call fails, the capture is over, and the next one works.
void check_failures(int32_t stream, double memory) {
  const Tally before = tally();
  for (const char* const call : {"cudaSetDevice", "cudaStreamEndCapture", "cudaGraphGetNodes",
                                 "cudaGraphInstantiateWithFlags", "cudaGraphDestroy"}) {
    int32_t graph = 0;
    gs.gs_stream_capture(stream, thread_local_mode);
    set(stream, memory, 3, 1);
    gs.gs_call_fail(call_id(call), 1, injected);
    const std::string what = std::string("a capture whose end fails at ") + call;
    check_status(end_capture(stream, graph), injected, what);
    check(state_of(stream).status == 0 && tally() == before, "is over, and nothing is left");
    gs.gs_call_restore();
  }
  int32_t graph = 0;
  gs.gs_stream_capture(stream, thread_local_mode);
  check_status(end_capture(stream, graph), 0, "the next one ends well");
  gs.gs_call_fail(call_id("cudaGraphExecDestroy"), 1, injected);
  check_status(gs.gs_graph_destroy(graph), injected, "a graph that cannot be destroyed");
  check_status(on_stream(gs.gs_graph_launch, stream, graph), 0, "stays");
  check_status(gs.gs_graph_destroy(graph), 0, "until it can");
  gs.gs_call_restore();
  check(tally() == before, "and is gone then");
}

}  // namespace

void check_graphs() {
  const int32_t stream = make_stream(0);
  const double memory = allocate(0, 4096);
  check_launching(stream, memory);
  check_refusals(stream, memory);
  check_failures(stream, memory);
  free_memory(0, memory);
  gs.gs_stream_destroy(stream);
}
