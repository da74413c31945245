// Stream capture: recorded work, refused calls, invalidation, and the threads that it concerns.
#include <functional>
#include <string>
#include <thread>
#include <vector>

#include "check.h"
#include "suites.h"

namespace runtime_test {
namespace {

// One byte of device memory per number, a captured stream and one beside it, two events.
struct Bench {
  explicit Bench(unsigned flags = cudaStreamNonBlocking) {
    REQUIRE(cudaStreamCreateWithFlags(&stream, flags));
    REQUIRE(cudaStreamCreateWithFlags(&other, flags));
    for (cudaEvent_t* const event : {&early, &late}) {
      REQUIRE(cudaEventCreateWithFlags(event, cudaEventDisableTiming));
    }
    REQUIRE(cudaMalloc(&memory, 64));
    REQUIRE(cudaEventRecord(early, other));
    REQUIRE(cudaDeviceSynchronize());
  }

  ~Bench() {
    REQUIRE(cudaFree(memory));
    for (const cudaEvent_t event : {early, late}) REQUIRE(cudaEventDestroy(event));
    for (const cudaStream_t each : {stream, other}) REQUIRE(cudaStreamDestroy(each));
  }

  // Gives the stream a node.
  cudaError_t work(cudaStream_t on) const { return cudaMemsetAsync(memory, 1, 8, on); }

  cudaStreamCaptureStatus status(cudaStream_t of) const {
    cudaStreamCaptureStatus told = cudaStreamCaptureStatusNone;
    REQUIRE(cudaStreamIsCapturing(of, &told));
    return told;
  }

  // Ends the capture of the stream; its status, with the graph destroyed.
  cudaError_t end() const {
    cudaGraph_t graph = nullptr;
    const cudaError_t ended = cudaStreamEndCapture(stream, &graph);
    CHECK((graph == nullptr) == (ended != cudaSuccess), "a capture that fails has no graph");
    if (graph != nullptr) REQUIRE(cudaGraphDestroy(graph));
    return ended;
  }

  cudaStream_t stream = nullptr;
  cudaStream_t other = nullptr;
  cudaEvent_t early = nullptr;
  cudaEvent_t late = nullptr;
  unsigned char* memory = nullptr;
};

// Makes a call while the stream is captured: it must return `expected` and invalidate the capture.
void check_spoils(const char* name, cudaError_t expected,
                  const std::function<cudaError_t(Bench&)>& call,
                  cudaStreamCaptureMode mode = cudaStreamCaptureModeThreadLocal,
                  unsigned flags = cudaStreamNonBlocking) {
  Bench bench(flags);
  REQUIRE(cudaStreamBeginCapture(bench.stream, mode));
  REQUIRE(bench.work(bench.stream));
  CHECK_STATUS(call(bench), expected, std::string("a capture forbids ") + name);
  CHECK(bench.status(bench.stream) == cudaStreamCaptureStatusInvalidated, "which invalidates it");
  CHECK_STATUS(bench.work(bench.stream), cudaErrorStreamCaptureInvalidated, "more work is refused");
  CHECK_STATUS(bench.end(), cudaErrorStreamCaptureInvalidated, "it fails in the end");
  CHECK(bench.status(bench.stream) == cudaStreamCaptureStatusNone, "and is over then");
  CHECK_STATUS(bench.work(bench.stream), cudaSuccess, "the stream works again");
  REQUIRE(cudaStreamSynchronize(bench.stream));
}

// The same, of a call that may be made.
void check_allows(const char* name, const std::function<cudaError_t(Bench&)>& call,
                  cudaStreamCaptureMode mode = cudaStreamCaptureModeThreadLocal) {
  Bench bench;
  REQUIRE(cudaStreamBeginCapture(bench.stream, mode));
  CHECK_STATUS(call(bench), cudaSuccess, std::string("a capture allows ") + name);
  CHECK_STATUS(bench.end(), cudaSuccess, "and is not invalidated by it");
}

cudaError_t allocate(Bench&) {
  void* memory = nullptr;
  const cudaError_t status = cudaMalloc(&memory, 100);
  if (memory != nullptr) REQUIRE(cudaFree(memory));
  return status;
}

cudaError_t instantiate(Bench& bench) {
  cudaGraph_t graph = nullptr;
  cudaGraphExec_t executable = nullptr;
  REQUIRE(cudaStreamBeginCapture(bench.other, cudaStreamCaptureModeRelaxed));
  REQUIRE(cudaStreamEndCapture(bench.other, &graph));
  const cudaError_t status = cudaGraphInstantiate(&executable, graph);
  if (executable != nullptr) REQUIRE(cudaGraphExecDestroy(executable));
  REQUIRE(cudaGraphDestroy(graph));
  return status;
}

cudaError_t query_uncaptured_event(Bench& bench) { return cudaEventQuery(bench.early); }

void check_forbidden_waiting() {
  const auto unsupported = cudaErrorStreamCaptureUnsupported;
  for (const auto mode : {cudaStreamCaptureModeGlobal, cudaStreamCaptureModeThreadLocal,
                          cudaStreamCaptureModeRelaxed}) {
    check_spoils(
        "asking whether the stream is done", unsupported,
        [](Bench& bench) { return cudaStreamQuery(bench.stream); }, mode);
    check_spoils(
        "waiting for the stream", unsupported,
        [](Bench& bench) { return cudaStreamSynchronize(bench.stream); }, mode);
    check_spoils(
        "waiting for the device", unsupported, [](Bench&) { return cudaDeviceSynchronize(); },
        mode);
    check_spoils(
        "asking whether a captured event is done", cudaErrorCapturedEvent,
        [](Bench& bench) {
          REQUIRE(cudaEventRecord(bench.late, bench.stream));
          return cudaEventQuery(bench.late);
        },
        mode);
    check_spoils(
        "waiting for a captured event", cudaErrorCapturedEvent,
        [](Bench& bench) {
          REQUIRE(cudaEventRecord(bench.late, bench.stream));
          return cudaEventSynchronize(bench.late);
        },
        mode);
    check_spoils(
        "launches of graphs", unsupported,
        [](Bench& bench) {
          cudaGraph_t graph = nullptr;
          cudaGraphExec_t executable = nullptr;
          REQUIRE(cudaStreamBeginCapture(bench.other, cudaStreamCaptureModeRelaxed));
          REQUIRE(cudaStreamEndCapture(bench.other, &graph));
          cudaStreamCaptureMode relaxed = cudaStreamCaptureModeRelaxed;
          REQUIRE(cudaThreadExchangeStreamCaptureMode(&relaxed));
          REQUIRE(cudaGraphInstantiate(&executable, graph));
          REQUIRE(cudaThreadExchangeStreamCaptureMode(&relaxed));
          const cudaError_t launched = cudaGraphLaunch(executable, bench.stream);
          REQUIRE(cudaGraphExecDestroy(executable));
          REQUIRE(cudaGraphDestroy(graph));
          return launched;
        },
        mode);
    check_spoils(
        "copies of pageable memory", unsupported,
        [](Bench& bench) {
          int local = 0;
          return cudaMemcpyAsync(bench.memory, &local, 4, cudaMemcpyHostToDevice, bench.stream);
        },
        mode);
  }
}

void check_unsafe_calls() {
  struct Call {
    const char* name;
    cudaError_t (*make)(Bench&);
  };
  static int registered[1024];
  const Call calls[] = {
      {"allocating", allocate},
      {"making a graph ready to be launched", instantiate},
      {"freeing",
       [](Bench& bench) {
         const cudaError_t status = cudaFree(bench.memory);
         if (status == cudaSuccess) REQUIRE(cudaMalloc(&bench.memory, 64));
         return status;
       }},
      {"registering memory",
       [](Bench&) {
         const cudaError_t status = cudaHostRegister(registered, sizeof registered, 0);
         if (status == cudaSuccess) REQUIRE(cudaHostUnregister(registered));
         return status;
       }},
      {"asking whether an event is done", query_uncaptured_event},
      {"waiting for an event", [](Bench& bench) { return cudaEventSynchronize(bench.early); }},
      {"asking whether another stream is done",
       [](Bench& bench) { return cudaStreamQuery(bench.other); }},
      {"waiting for another stream",
       [](Bench& bench) { return cudaStreamSynchronize(bench.other); }},
      {"copies that wait",
       [](Bench& bench) {
         return cudaMemcpy(bench.memory, bench.memory + 8, 8, cudaMemcpyDefault);
       }},
  };
  for (const Call& call : calls) {
    check_spoils(call.name, cudaErrorStreamCaptureUnsupported, call.make);
    check_spoils(call.name, cudaErrorStreamCaptureUnsupported, call.make,
                 cudaStreamCaptureModeGlobal);
    check_allows(call.name, call.make, cudaStreamCaptureModeRelaxed);
    check_allows(call.name, [&](Bench& bench) {
      cudaStreamCaptureMode mode = cudaStreamCaptureModeRelaxed;
      REQUIRE(cudaThreadExchangeStreamCaptureMode(&mode));
      const cudaError_t status = call.make(bench);
      CHECK(mode == cudaStreamCaptureModeGlobal, "a thread's mode is global at first");
      REQUIRE(cudaThreadExchangeStreamCaptureMode(&mode));
      return status;
    });
  }
}

// What another thread may do depends on its own mode and on the mode of the capture.
void check_other_threads() {
  const auto from_another_thread = [](cudaStreamCaptureMode of_thread) {
    return [of_thread](Bench& bench) {
      cudaError_t status = cudaErrorUnknown;
      std::thread([&] {
        cudaStreamCaptureMode mode = of_thread;
        REQUIRE(cudaThreadExchangeStreamCaptureMode(&mode));
        status = allocate(bench);
      }).join();
      return status;
    };
  };
  check_spoils("allocating on other threads, if it is global", cudaErrorStreamCaptureUnsupported,
               from_another_thread(cudaStreamCaptureModeGlobal), cudaStreamCaptureModeGlobal);
  check_allows("allocating on a thread that heeds only its own captures",
               from_another_thread(cudaStreamCaptureModeThreadLocal), cudaStreamCaptureModeGlobal);
  check_allows("allocating on other threads, if it is thread-local",
               from_another_thread(cudaStreamCaptureModeGlobal));

  Bench bench;
  cudaGraph_t graph = nullptr;
  const auto end_elsewhere = [&] {
    cudaError_t status = cudaErrorUnknown;
    std::thread([&] { status = cudaStreamEndCapture(bench.stream, &graph); }).join();
    return status;
  };
  REQUIRE(cudaStreamBeginCapture(bench.stream, cudaStreamCaptureModeThreadLocal));
  CHECK_STATUS(end_elsewhere(), cudaErrorStreamCaptureWrongThread,
               "a capture ends on the thread that began it");
  CHECK_STATUS(bench.end(), cudaSuccess, "on which it still can");
  REQUIRE(cudaStreamBeginCapture(bench.stream, cudaStreamCaptureModeRelaxed));
  CHECK_STATUS(end_elsewhere(), cudaSuccess, "a relaxed one on any thread");
  REQUIRE(cudaGraphDestroy(graph));
}

void check_captured_events() {
  check_spoils("waiting in it for work outside", cudaErrorStreamCaptureIsolation,
               [](Bench& bench) { return cudaStreamWaitEvent(bench.stream, bench.early); });
  check_spoils("waiting in it for what was never recorded", cudaErrorStreamCaptureIsolation,
               [](Bench& bench) { return cudaStreamWaitEvent(bench.stream, bench.late); });
  Bench bench;
  REQUIRE(cudaStreamBeginCapture(bench.stream, cudaStreamCaptureModeThreadLocal));
  REQUIRE(cudaEventRecord(bench.late, bench.stream));
  CHECK_STATUS(bench.end(), cudaSuccess, "a capture of recordings alone ends");
  CHECK_STATUS(cudaStreamWaitEvent(bench.other, bench.late), cudaErrorCapturedEvent,
               "outside nobody waits for an event of a capture that is over");
  CHECK_STATUS(cudaEventQuery(bench.late), cudaErrorCapturedEvent, "or asks for it");
  REQUIRE(cudaEventRecord(bench.late, bench.other));
  CHECK_STATUS(cudaEventSynchronize(bench.late), cudaSuccess, "until it is recorded again");

  Bench second;
  REQUIRE(cudaStreamBeginCapture(bench.stream, cudaStreamCaptureModeThreadLocal));
  REQUIRE(cudaStreamBeginCapture(second.stream, cudaStreamCaptureModeThreadLocal));
  REQUIRE(cudaEventRecord(bench.late, bench.stream));
  CHECK_STATUS(cudaStreamWaitEvent(second.stream, bench.late), cudaErrorStreamCaptureMerge,
               "two captures cannot become one");
  CHECK_STATUS(bench.end(), cudaErrorStreamCaptureInvalidated, "trying invalidates the one");
  CHECK_STATUS(second.end(), cudaErrorStreamCaptureInvalidated, "and the other");
}

void check_joining() {
  Bench bench;
  REQUIRE(cudaStreamBeginCapture(bench.stream, cudaStreamCaptureModeThreadLocal));
  CHECK(bench.status(bench.other) == cudaStreamCaptureStatusNone, "other streams are not captured");
  REQUIRE(cudaEventRecord(bench.early, bench.stream));
  REQUIRE(cudaStreamWaitEvent(bench.other, bench.early));
  CHECK(bench.status(bench.other) == cudaStreamCaptureStatusActive,
        "a stream that waits for a captured event joins the capture");
  unsigned long long ids[2] = {};
  cudaStreamCaptureStatus status = cudaStreamCaptureStatusNone;
  REQUIRE(cudaStreamGetCaptureInfo(bench.stream, &status, &ids[0]));
  REQUIRE(cudaStreamGetCaptureInfo(bench.other, &status, &ids[1]));
  CHECK(ids[0] == ids[1] && ids[0] != 0, "both tell the same capture");
  cudaGraph_t graph = nullptr;
  CHECK_STATUS(cudaStreamEndCapture(bench.other, &graph), cudaErrorStreamCaptureUnmatched,
               "which ends where it began");
  REQUIRE(bench.work(bench.other));
  CHECK_STATUS(bench.end(), cudaErrorStreamCaptureUnjoined, "but not before all work has joined");
  CHECK(bench.status(bench.other) == cudaStreamCaptureStatusNone, "the other stream is left, too");

  REQUIRE(cudaStreamBeginCapture(bench.stream, cudaStreamCaptureModeThreadLocal));
  REQUIRE(cudaEventRecord(bench.early, bench.stream));
  REQUIRE(cudaStreamWaitEvent(bench.other, bench.early));
  CHECK_STATUS(bench.end(), cudaErrorStreamCaptureUnjoined, "nor before streams without work have");

  cudaStream_t third = nullptr;
  REQUIRE(cudaStreamCreateWithFlags(&third, cudaStreamNonBlocking));
  REQUIRE(cudaStreamBeginCapture(bench.stream, cudaStreamCaptureModeThreadLocal));
  const auto wait = [&](cudaStream_t waiting, cudaStream_t awaited) {
    REQUIRE(cudaEventRecord(bench.early, awaited));
    REQUIRE(cudaStreamWaitEvent(waiting, bench.early));
  };
  wait(bench.other, bench.stream);
  wait(third, bench.other);
  wait(bench.other, third);
  wait(bench.stream, bench.other);
  CHECK_STATUS(bench.end(), cudaSuccess, "a stream joins through another one as well");
  REQUIRE(cudaStreamDestroy(third));

  REQUIRE(cudaStreamBeginCapture(bench.stream, cudaStreamCaptureModeThreadLocal));
  REQUIRE(cudaEventRecord(bench.early, bench.stream));
  REQUIRE(cudaStreamWaitEvent(bench.other, bench.early));
  REQUIRE(bench.work(bench.other));
  REQUIRE(cudaEventRecord(bench.late, bench.other));
  REQUIRE(cudaStreamWaitEvent(bench.stream, bench.late));
  REQUIRE(bench.work(bench.stream));
  CHECK_STATUS(bench.end(), cudaSuccess, "once it has, a capture ends");

  unsigned long long next = ids[0];
  REQUIRE(cudaStreamBeginCapture(bench.stream, cudaStreamCaptureModeThreadLocal));
  REQUIRE(cudaStreamGetCaptureInfo(bench.stream, &status, &next));
  CHECK(next != ids[0], "every capture has an id of its own");
  REQUIRE(bench.end());
}

void check_destroyed_streams() {
  Bench bench;
  cudaStream_t side = nullptr;
  REQUIRE(cudaStreamCreateWithFlags(&side, cudaStreamNonBlocking));
  REQUIRE(cudaStreamBeginCapture(bench.stream, cudaStreamCaptureModeThreadLocal));
  REQUIRE(cudaEventRecord(bench.early, bench.stream));
  REQUIRE(cudaStreamWaitEvent(side, bench.early));
  REQUIRE(bench.work(side));
  REQUIRE(cudaEventRecord(bench.late, side));
  REQUIRE(cudaStreamWaitEvent(bench.stream, bench.late));
  CHECK_STATUS(cudaStreamDestroy(side), cudaSuccess, "a stream that has joined can be destroyed");
  CHECK_STATUS(bench.end(), cudaSuccess, "what it did stays in the capture");

  REQUIRE(cudaStreamCreateWithFlags(&side, cudaStreamNonBlocking));
  REQUIRE(cudaStreamBeginCapture(side, cudaStreamCaptureModeGlobal));
  REQUIRE(cudaEventRecord(bench.early, side));
  REQUIRE(cudaStreamWaitEvent(bench.other, bench.early));
  REQUIRE(cudaStreamDestroy(side));
  CHECK(bench.status(bench.other) == cudaStreamCaptureStatusNone,
        "with the stream that it began on a capture is over");
  CHECK_STATUS(allocate(bench), cudaSuccess, "and forbids nothing any more");
}

void check_legacy_streams() {
  const auto implicit = cudaErrorStreamCaptureImplicit;
  const auto mode = cudaStreamCaptureModeRelaxed;
  struct Use {
    const char* name;
    cudaError_t (*make)(Bench&);
  };
  const Use uses[] = {
      {"work for the legacy stream, if its stream is blocking",
       [](Bench& bench) { return cudaMemset(bench.memory, 0, 8); }},
      {"waiting for the legacy stream", [](Bench&) { return cudaStreamSynchronize(nullptr); }},
      {"recordings in the legacy stream",
       [](Bench& bench) { return cudaEventRecord(bench.late, nullptr); }},
      {"waiting in the legacy stream",
       [](Bench& bench) {
         REQUIRE(cudaEventRecord(bench.late, bench.stream));
         return cudaStreamWaitEvent(nullptr, bench.late);
       }},
  };
  for (const Use& use : uses) check_spoils(use.name, implicit, use.make, mode, cudaStreamDefault);
  check_allows("work for the legacy stream, if its own is not blocking",
               [](Bench& bench) { return cudaMemset(bench.memory, 0, 8); });

  Bench bench(cudaStreamDefault);
  cudaStreamCaptureStatus status = cudaStreamCaptureStatusNone;
  CHECK_STATUS(cudaStreamBeginCapture(nullptr, mode), cudaErrorStreamCaptureUnsupported,
               "the legacy stream cannot be captured");
  REQUIRE(cudaStreamBeginCapture(bench.stream, mode));
  CHECK_STATUS(cudaStreamIsCapturing(nullptr, &status), implicit,
               "nor be asked while a blocking stream is");
  REQUIRE(cudaSetDevice(second_device));
  CHECK_STATUS(cudaStreamSynchronize(nullptr), cudaSuccess,
               "that of another device is not touched");
  REQUIRE(cudaSetDevice(first_device));
  CHECK_STATUS(bench.end(), cudaSuccess, "asking invalidates nothing");
}

void check_arguments() {
  Bench bench;
  cudaGraph_t graph = nullptr;
  cudaStreamCaptureStatus status = cudaStreamCaptureStatusNone;
  const cudaGraphEdgeData* edges = nullptr;
  CHECK_STATUS(cudaStreamBeginCapture(bench.stream, static_cast<cudaStreamCaptureMode>(3)),
               cudaErrorInvalidValue, "modes are checked");
  CHECK_STATUS(cudaStreamBeginCapture(cudaStreamPerThread, cudaStreamCaptureModeRelaxed),
               cudaErrorNotSupported, "there are no streams of threads");
  CHECK_STATUS(cudaStreamEndCapture(bench.stream, &graph), cudaErrorIllegalState,
               "what has not begun cannot end");
  REQUIRE(cudaStreamBeginCapture(bench.stream, cudaStreamCaptureModeThreadLocal));
  CHECK_STATUS(cudaStreamBeginCapture(bench.stream, cudaStreamCaptureModeThreadLocal),
               cudaErrorIllegalState, "or begin twice");
  CHECK_STATUS(cudaStreamEndCapture(bench.stream, nullptr), cudaErrorInvalidValue,
               "an end needs a place for the graph");
  CHECK_STATUS(cudaStreamIsCapturing(bench.stream, nullptr), cudaErrorInvalidValue,
               "a question one for the answer");
  CHECK_STATUS(cudaStreamGetCaptureInfo(bench.stream, nullptr), cudaErrorInvalidValue, "always");
  CHECK_STATUS(cudaStreamGetCaptureInfo(bench.stream, &status, nullptr, nullptr, nullptr, &edges),
               cudaErrorInvalidValue, "edges go with nodes");
  REQUIRE(bench.work(bench.stream));
  const cudaGraphNode_t* before = nullptr;
  std::size_t count = 0;
  REQUIRE(
      cudaStreamGetCaptureInfo(bench.stream, &status, nullptr, &graph, &before, &edges, &count));
  CHECK(count == 1 && before[0] != nullptr && edges[0].type == 0, "a stream ends with one node");
  CHECK_STATUS(cudaGraphDestroy(graph), cudaErrorInvalidValue,
               "the graph belongs to the capture until its end");
  CHECK_STATUS(bench.end(), cudaSuccess, "of which it is the result");
  CHECK_STATUS(cudaThreadExchangeStreamCaptureMode(nullptr), cudaErrorInvalidValue, "null");
  auto mode = static_cast<cudaStreamCaptureMode>(-1);
  CHECK_STATUS(cudaThreadExchangeStreamCaptureMode(&mode), cudaErrorInvalidValue, "and no mode");
}

}  // namespace

void check_captures() {
  check_forbidden_waiting();
  check_unsafe_calls();
  check_other_threads();
  check_captured_events();
  check_joining();
  check_destroyed_streams();
  check_legacy_streams();
  check_arguments();
}

}  // namespace runtime_test
