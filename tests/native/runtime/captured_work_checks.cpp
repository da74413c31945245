// Random work of several streams on two devices, captured, and its launches compared with doing it
// in order.
#include <array>
#include <random>
#include <string>
#include <vector>

#include "check.h"
#include "graph_child.h"
#include "suites.h"

namespace runtime_test {
namespace {

using gridstride::host::kernel_descriptor;

constexpr std::size_t value_count = 6;
constexpr std::size_t stream_count = 4;

__global__ void combine(unsigned* destination, const unsigned* source, unsigned seed) {
  *destination = *destination * 31 + *source + seed;
}

struct Step {
  std::size_t destination;
  std::size_t source;
  unsigned seed;
};

using Values = std::array<unsigned, value_count>;

// Values of which each step changes one; steps wait for exactly those before them that they
// conflict with.
class CapturedWork {
 public:
  explicit CapturedWork(unsigned seed) : random_(seed) {
    REQUIRE(cudaMalloc(&values_, sizeof(Values)));
    REQUIRE(cudaMemset(values_, 0, sizeof(Values)));
    REQUIRE(cudaDeviceSynchronize());
    for (std::size_t index = 0; index < stream_count; ++index) {
      REQUIRE(cudaSetDevice(device_of(index)));
      REQUIRE(cudaStreamCreateWithFlags(&streams_[index], cudaStreamNonBlocking));
    }
    REQUIRE(cudaSetDevice(first_device));
  }

  ~CapturedWork() {
    REQUIRE(cudaDeviceSynchronize());
    for (const cudaGraphExec_t graph : executables_) REQUIRE(cudaGraphExecDestroy(graph));
    for (const cudaGraph_t graph : graphs_) REQUIRE(cudaGraphDestroy(graph));
    for (const cudaEvent_t event : events_) REQUIRE(cudaEventDestroy(event));
    for (const cudaStream_t stream : streams_) REQUIRE(cudaStreamDestroy(stream));
    REQUIRE(cudaFree(values_));
  }

  // Captures some steps, among which are graphs captured before.
  void capture(int steps) {
    written_ = {};
    read_ = {};
    std::vector<Step> all;
    REQUIRE(cudaStreamBeginCapture(streams_[0], cudaStreamCaptureModeThreadLocal));
    const cudaEvent_t begin = record(0);
    for (std::size_t index = 1; index < stream_count; ++index) wait_for(index, begin);
    for (int step = 0; step < steps; ++step) {
      if (!graphs_.empty() && below(steps) == 0) {
        add_child(all);
      } else {
        add_step(all);
      }
    }
    for (std::size_t index = 1; index < stream_count; ++index) wait_for(0, record(index));
    cudaGraph_t graph = nullptr;
    REQUIRE(cudaSetDevice(first_device));
    REQUIRE(cudaStreamEndCapture(streams_[0], &graph));
    graphs_.push_back(graph);
    executables_.emplace_back();
    REQUIRE(cudaGraphInstantiate(&executables_.back(), graph));
    steps_.push_back(std::move(all));
  }

  // Launches graphs in random streams; the value of each step depends on all before it.
  void launch(int launches) {
    cudaEvent_t last = nullptr;
    for (int count = 0; count < launches; ++count) {
      const std::size_t graph = below(graphs_.size());
      const std::size_t stream = below(stream_count);
      REQUIRE(cudaSetDevice(device_of(stream)));
      if (last != nullptr) wait_for(stream, last);
      REQUIRE(cudaGraphLaunch(executables_[graph], streams_[stream]));
      last = record(stream);
      for (const Step& step : steps_[graph]) {
        model_[step.destination] = model_[step.destination] * 31 + model_[step.source] + step.seed;
      }
    }
    REQUIRE(cudaEventSynchronize(last));
    REQUIRE(cudaSetDevice(first_device));
  }

  bool matches_model() {
    Values result{};
    REQUIRE(cudaMemcpy(result.data(), values_, sizeof result, cudaMemcpyDeviceToHost));
    return result == model_;
  }

 private:
  static int device_of(std::size_t stream) {
    return stream % 2 == 0 ? first_device : second_device;
  }

  std::size_t below(std::size_t limit) { return random_() % limit; }

  void add_step(std::vector<Step>& all) {
    const std::size_t stream = below(stream_count);
    const Step step = {below(value_count), below(value_count), static_cast<unsigned>(random_())};
    REQUIRE(cudaSetDevice(device_of(stream)));
    wait_for(stream, written_[step.destination]);
    wait_for(stream, written_[step.source]);
    for (const cudaEvent_t reader : read_[step.destination]) wait_for(stream, reader);
    unsigned* destination = values_ + step.destination;
    const unsigned* source = values_ + step.source;
    unsigned seed = step.seed;
    void* arguments[] = {&destination, &source, &seed};
    REQUIRE(cudaLaunchKernel(kernel_descriptor<&combine>("combine"), 1, 1, arguments, 0,
                             streams_[stream]));
    const cudaEvent_t done = record(stream);
    written_[step.destination] = done;
    read_[step.destination].clear();
    if (step.source != step.destination) read_[step.source].push_back(done);
    all.push_back(step);
  }

  // A child touches every value.
  void add_child(std::vector<Step>& all) {
    const std::size_t stream = below(stream_count);
    const std::size_t child = below(graphs_.size());
    REQUIRE(cudaSetDevice(device_of(stream)));
    for (std::size_t value = 0; value < value_count; ++value) {
      wait_for(stream, written_[value]);
      for (const cudaEvent_t reader : read_[value]) wait_for(stream, reader);
      read_[value].clear();
    }
    runtime_test::add_child(streams_[stream], graphs_[child]);
    written_.fill(record(stream));
    all.insert(all.end(), steps_[child].begin(), steps_[child].end());
  }

  void wait_for(std::size_t stream, cudaEvent_t event) {
    if (event != nullptr) REQUIRE(cudaStreamWaitEvent(streams_[stream], event));
  }

  cudaEvent_t record(std::size_t stream) {
    cudaEvent_t event = nullptr;
    REQUIRE(cudaSetDevice(device_of(stream)));
    REQUIRE(cudaEventCreateWithFlags(&event, cudaEventDisableTiming));
    REQUIRE(cudaEventRecord(event, streams_[stream]));
    events_.push_back(event);
    return event;
  }

  std::mt19937 random_;
  unsigned* values_ = nullptr;
  Values model_{};
  std::array<cudaStream_t, stream_count> streams_{};
  std::array<cudaEvent_t, value_count> written_{};
  std::array<std::vector<cudaEvent_t>, value_count> read_;
  std::vector<cudaEvent_t> events_;
  std::vector<cudaGraph_t> graphs_;
  std::vector<cudaGraphExec_t> executables_;
  std::vector<std::vector<Step>> steps_;
};

}  // namespace

void check_captured_work() {
  for (unsigned seed = 1; seed <= 8; ++seed) {
    CapturedWork work(seed);
    for (int graph = 0; graph < 4; ++graph) {
      work.capture(60);
      work.launch(10);
    }
    CHECK(work.matches_model(), "captured work " + std::to_string(seed) +
                                    " gives what doing its launches in order gives");
  }
}

}  // namespace runtime_test
