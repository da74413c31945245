// A cuBLASLt on the memory of the host device, for tests: it computes products in double precision
// from the descriptors that it is given, and refuses what cuBLASLt documents as refused. It follows
// the stream by way of the native library that calls it.
#include <dlfcn.h>

#include <atomic>
#include <chrono>
#include <cmath>
#include <cstdint>
#include <cstring>
#include <thread>

namespace {

enum Status { success = 0, invalid_value = 7, execution_failed = 13, not_supported = 15 };
enum Type { f32 = 0, f64 = 1, f16 = 2, i8 = 3, i32 = 10, bf16 = 14, e4m3 = 28 };

struct Operation {
  int compute, scale;
  int transposed[2] = {0, 0};
  int epilogue = 1;
  const void* bias = nullptr;
  int bias_type = -1;
};
struct Layout {
  int type;
  uint64_t rows, columns;
  int64_t leading;
  int products = 1;
  int64_t stride = 0;
};
struct Preference {
  uint64_t workspace = 0;
  uint32_t reductions = 7;
  uint32_t alignment[4] = {256, 256, 256, 256};
};
struct Algorithm {
  uint32_t id, workspace;
  uint32_t alignment[4];
  uint32_t unused[10];
};
struct HeuristicResult {
  Algorithm algorithm;
  size_t workspace;
  Status state;
  float waves;
  int reserved[4];
};

// What the test sets and reads: see the numbers in cublaslt_test.ts.
std::atomic<int> values[8] = {};
enum Value { calls, searches, last_algorithm, fastest, refused, failing, created, last_compute };

double float8(uint8_t raw) {
  const int exponent = raw >> 3 & 15;
  const double part = (raw & 7) / 8.0;
  const double size = exponent == 0 ? std::ldexp(part, -6) : std::ldexp(1 + part, exponent - 7);
  return raw & 0x80 ? -size : size;
}

double load(const void* memory, int64_t index, int type) {
  const auto as = [&](auto zero) { return static_cast<const decltype(zero)*>(memory)[index]; };
  switch (type) {
    case f32: return as(0.0f);
    case f64: return as(0.0);
    case f16: return static_cast<double>(as(_Float16{}));
    case i8: return as(int8_t{});
    case i32: return as(int32_t{});
    case e4m3: return float8(as(uint8_t{}));
    default: break;
  }
  const uint32_t raw = uint32_t{as(uint16_t{})} << 16;
  float result;
  std::memcpy(&result, &raw, 4);
  return result;
}

void store(void* memory, int64_t index, int type, double value) {
  const auto set = [&](auto typed) { static_cast<decltype(typed)*>(memory)[index] = typed; };
  switch (type) {
    case f32: return set(static_cast<float>(value));
    case f64: return set(value);
    case f16: return set(static_cast<_Float16>(value));
    case i32: return set(static_cast<int32_t>(value));
    default: break;
  }
  const float single = static_cast<float>(value);
  uint32_t raw;
  std::memcpy(&raw, &single, 4);
  set(static_cast<uint16_t>((raw + 0x7fff + (raw >> 16 & 1)) >> 16));  // ties to even
}

// Waits for the stream through the functions of the native library that called.
void follow(void* stream, const void* caller) {
  Dl_info information = {};
  dladdr(caller, &information);
  void* library = dlopen(information.dli_fname, RTLD_NOW | RTLD_NOLOAD);
  const auto find = [&](const char* name) { return dlsym(library, name); };
  double handle = 0;
  reinterpret_cast<int (*)(int, double, double*)>(find("gs_stream_adopt"))(
      0, static_cast<double>(reinterpret_cast<uintptr_t>(stream)), &handle);
  const auto call = [&](const char* name) {
    return reinterpret_cast<int (*)(int)>(find(name))(static_cast<int>(handle));
  };
  call("gs_stream_synchronize");
  call("gs_stream_destroy");
}

template <class Made>
Status make(Made** out, Made value) {
  *out = new Made(value);
  values[created]++;
  return success;
}

template <class Made>
Status destroy(Made* made) {
  delete made;
  values[created]--;
  return success;
}

// Copies an attribute if its size is right.
template <class Member>
Status set(Member& member, const void* value, size_t bytes) {
  if (bytes != sizeof(member)) return invalid_value;
  std::memcpy(&member, value, bytes);
  return success;
}

bool is_supported(const Operation& operation, const Layout& a, const Layout& c, const Layout& d) {
  const bool is_dot = operation.transposed[0] == 1 && operation.transposed[1] == 0;
  const bool needs_dot = a.type == i8 || a.type == e4m3;
  if ((needs_dot && !is_dot) || c.type != d.type) return false;
  return operation.scale == f32 || operation.epilogue == 1;
}

}  // namespace

extern "C" {

int fake_value(int which, int value) {
  return value < 0 ? values[which].load() : (values[which] = value);
}

size_t cublasLtGetVersion() { return 130102; }

Status cublasLtCreate(void** handle) {
  *handle = values;
  return success;
}

Status cublasLtMatmulDescCreate(Operation** out, int compute, int scale) {
  Operation made;
  made.compute = compute;
  made.scale = scale;
  return make(out, made);
}
Status cublasLtMatmulDescDestroy(Operation* operation) { return destroy(operation); }
Status cublasLtMatmulDescSetAttribute(Operation* it, int attribute, const void* value,
                                      size_t bytes) {
  switch (attribute) {
    case 3: return set(it->transposed[0], value, bytes);
    case 4: return set(it->transposed[1], value, bytes);
    case 7: return set(it->epilogue, value, bytes);
    case 8: return set(it->bias, value, bytes);
    case 26: return set(it->bias_type, value, bytes);
    default: return invalid_value;
  }
}

Status cublasLtMatrixLayoutCreate(Layout** out, int type, uint64_t rows, uint64_t columns,
                                  int64_t leading) {
  if (leading < static_cast<int64_t>(rows)) return invalid_value;
  return make(out, Layout{type, rows, columns, leading});
}
Status cublasLtMatrixLayoutDestroy(Layout* layout) { return destroy(layout); }
Status cublasLtMatrixLayoutSetAttribute(Layout* it, int attribute, const void* value,
                                        size_t bytes) {
  if (attribute == 5) return set(it->products, value, bytes);
  return attribute == 6 ? set(it->stride, value, bytes) : invalid_value;
}

Status cublasLtMatmulPreferenceCreate(Preference** out) { return make(out, Preference{}); }
Status cublasLtMatmulPreferenceDestroy(Preference* preference) { return destroy(preference); }
Status cublasLtMatmulPreferenceSetAttribute(Preference* it, int attribute, const void* value,
                                            size_t bytes) {
  if (attribute == 1) return set(it->workspace, value, bytes);
  if (attribute == 3) return set(it->reductions, value, bytes);
  if (attribute < 5 || attribute > 8) return invalid_value;
  return set(it->alignment[attribute - 5], value, bytes);
}

Status cublasLtMatmulAlgoGetHeuristic(void*, Operation* operation, Layout* a, Layout*, Layout* c,
                                      Layout* d, Preference* preference, int requested,
                                      HeuristicResult* results, int* count) {
  values[searches]++;
  *count = 0;
  if (values[refused] > 1) return static_cast<Status>(values[refused].load());
  // None of parts in the type of the result.
  if (preference->reductions != 2 || preference->workspace < 4096) return invalid_value;
  if (values[refused] == 1 || !is_supported(*operation, *a, *c, *d)) return not_supported;
  for (; *count < 3 && *count < requested; ++*count) {
    HeuristicResult& made = results[*count];
    made = {};
    made.algorithm.id = static_cast<uint32_t>(*count);
    made.algorithm.workspace = *count == 1 ? 4096 : 0;
    for (int at = 0; at < 4; at++) made.algorithm.alignment[at] = preference->alignment[at];
    made.workspace = made.algorithm.workspace;
  }
  return success;
}

Status cublasLtMatmul(void*, Operation* operation, const void* alpha, const void* a,
                      Layout* a_layout, const void* b, Layout* b_layout, const void* beta,
                      const void* c, Layout* c_layout, void* d, Layout* d_layout,
                      const Algorithm* algorithm, void* workspace, size_t workspace_bytes,
                      void* stream) {
  values[calls]++;
  values[last_algorithm] = static_cast<int>(algorithm->id);
  values[last_compute] = operation->compute;
  if (values[failing] == static_cast<int>(algorithm->id) + 1) return execution_failed;
  if (values[failing] == 100) return execution_failed;
  const uintptr_t addresses[] = {reinterpret_cast<uintptr_t>(a), reinterpret_cast<uintptr_t>(b),
                                 reinterpret_cast<uintptr_t>(c), reinterpret_cast<uintptr_t>(d)};
  for (int at = 0; at < 4; at++) {
    if (addresses[at] % algorithm->alignment[at] != 0) return invalid_value;
  }
  if (workspace_bytes < algorithm->workspace) return invalid_value;
  follow(stream, __builtin_return_address(0));
  if (algorithm->workspace > 0) std::memset(workspace, 0xff, algorithm->workspace);
  const auto factor = [&](const void* value) { return load(value, 0, operation->scale); };
  const bool is_transposed[] = {operation->transposed[0] == 1, operation->transposed[1] == 1};
  const int64_t depth = static_cast<int64_t>(is_transposed[0] ? a_layout->rows : a_layout->columns);
  for (int product = 0; product < d_layout->products; product++) {
    const auto at = [&](const Layout& layout, int64_t row, int64_t column, bool transposed) {
      const int64_t place =
          transposed ? column + row * layout.leading : row + column * layout.leading;
      return place + product * layout.stride;
    };
    for (int64_t row = 0; row < static_cast<int64_t>(d_layout->rows); row++) {
      for (int64_t column = 0; column < static_cast<int64_t>(d_layout->columns); column++) {
        double sum = 0;
        for (int64_t k = 0; k < depth; k++) {
          sum += load(a, at(*a_layout, row, k, is_transposed[0]), a_layout->type) *
                 load(b, at(*b_layout, k, column, is_transposed[1]), b_layout->type);
        }
        sum *= factor(alpha);
        const int64_t old = at(*c_layout, row, column, false);
        if (factor(beta) != 0) sum += factor(beta) * load(c, old, c_layout->type);
        if (operation->epilogue & 4) sum += load(operation->bias, row, operation->bias_type);
        if (operation->epilogue & 2) sum = sum > 0 ? sum : 0;
        if (operation->epilogue & 32) {
          sum *= 0.5 * (1 + std::tanh(std::sqrt(2 / M_PI) * (sum + 0.044715 * sum * sum * sum)));
        }
        store(d, at(*d_layout, row, column, false), d_layout->type, sum);
      }
    }
  }
  if (static_cast<int>(algorithm->id) != values[fastest]) {
    std::this_thread::sleep_for(std::chrono::microseconds(500));
  }
  return success;
}

}  // extern "C"
