// cuBLASLt, NVIDIA's library of matrix products: opened on request from a path of the caller's, and
// never closed. Descriptors of a product are made once, and algorithms are the caller's to keep.
#include "shim/launch/cublaslt.h"

#include <algorithm>
#include <array>
#include <atomic>
#include <mutex>
#include <string>
#include <vector>

#include "shim/call.h"
#include "shim/device/device.h"
#include "shim/handle_table.h"
#include "shim/open_library.h"
#include "shim/stream/stream.h"

namespace gridstride {

namespace {

// What is needed of cublasLt.h, as of nvidia-cublas 13.1; this builds without it. A test compares
// the numbers with that header.
enum LtConstant : int32_t {
  CUBLASLT_MATMUL_DESC_TRANSA = 3,
  CUBLASLT_MATMUL_DESC_TRANSB = 4,
  CUBLASLT_MATMUL_DESC_EPILOGUE = 7,
  CUBLASLT_MATMUL_DESC_BIAS_POINTER = 8,
  CUBLASLT_MATMUL_DESC_BIAS_DATA_TYPE = 26,
  CUBLASLT_MATRIX_LAYOUT_BATCH_COUNT = 5,
  CUBLASLT_MATRIX_LAYOUT_STRIDED_BATCH_OFFSET = 6,
  CUBLASLT_MATMUL_PREF_MAX_WORKSPACE_BYTES = 1,
  CUBLASLT_MATMUL_PREF_REDUCTION_SCHEME_MASK = 3,
  CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_A_BYTES = 5,
  CUBLASLT_EPILOGUE_BIAS = 4,
  CUBLAS_STATUS_NOT_SUPPORTED = 15,
  CUDA_R_64F = 1,
  CUDA_R_32I = 10,
};

enum class LtStatus : int32_t { success = 0 };

using LtHandle = struct LtHandleTag*;
using LtOperation = struct LtOperationTag*;
using LtLayout = struct LtLayoutTag*;
using LtPreference = struct LtPreferenceTag*;

struct LtAlgorithm {
  uint64_t data[8];
};
static_assert(sizeof(LtAlgorithm) == GS_CUBLASLT_ALGORITHM_BYTES, "as the interface says");

struct LtHeuristicResult {
  LtAlgorithm algorithm;
  size_t workspace_bytes;
  LtStatus state;
  float waves;
  int reserved[4];
};

#define GS_CUBLASLT_FUNCTIONS(FUNCTION)                                                           \
  FUNCTION(cublasLtCreate, (LtHandle * handle))                                                   \
  FUNCTION(cublasLtMatmulDescCreate, (LtOperation * made, int compute_type, int scale_type))      \
  FUNCTION(cublasLtMatmulDescDestroy, (LtOperation operation))                                    \
  FUNCTION(cublasLtMatmulDescSetAttribute,                                                        \
           (LtOperation operation, int attribute, const void* value, size_t bytes))               \
  FUNCTION(cublasLtMatrixLayoutCreate,                                                            \
           (LtLayout * made, int type, uint64_t rows, uint64_t columns, int64_t leading))         \
  FUNCTION(cublasLtMatrixLayoutDestroy, (LtLayout layout))                                        \
  FUNCTION(cublasLtMatrixLayoutSetAttribute,                                                      \
           (LtLayout layout, int attribute, const void* value, size_t bytes))                     \
  FUNCTION(cublasLtMatmulPreferenceCreate, (LtPreference * made))                                 \
  FUNCTION(cublasLtMatmulPreferenceDestroy, (LtPreference preference))                            \
  FUNCTION(cublasLtMatmulPreferenceSetAttribute,                                                  \
           (LtPreference preference, int attribute, const void* value, size_t bytes))             \
  FUNCTION(                                                                                       \
      cublasLtMatmulAlgoGetHeuristic,                                                             \
      (LtHandle handle, LtOperation operation, LtLayout a, LtLayout b, LtLayout c, LtLayout d,    \
       LtPreference preference, int requested, LtHeuristicResult* results, int* count))           \
  FUNCTION(cublasLtMatmul,                                                                        \
           (LtHandle handle, LtOperation operation, const void* alpha, const void* a,             \
            LtLayout a_layout, const void* b, LtLayout b_layout, const void* beta, const void* c, \
            LtLayout c_layout, void* d, LtLayout d_layout, const LtAlgorithm* algorithm,          \
            void* workspace, size_t workspace_bytes, cudaStream_t stream))

struct CublasLt {
  size_t (*cublasLtGetVersion)() = nullptr;
#define GS_CUBLASLT_MEMBER(function, parameters) LtStatus(*function) parameters = nullptr;
  GS_CUBLASLT_FUNCTIONS(GS_CUBLASLT_MEMBER)
#undef GS_CUBLASLT_MEMBER
};

int32_t status_of(LtStatus status) {
  return status == LtStatus::success ? 0 : GS_ERROR_CUBLASLT(static_cast<int32_t>(status));
}

#define GS_CUBLASLT_CALL(lt, function, ...) \
  call(CallKind::function, [&] { return (lt).function(__VA_ARGS__); })

// ---- the library -------------------------------------------------------------------------------

std::mutex opening;  // also guards the handles
CublasLt opened_cublaslt;
std::atomic<const CublasLt*> published_cublaslt{nullptr};

// Never destroyed: threads may be multiplying when the process ends.
std::vector<LtHandle>& handles() {
  static std::vector<LtHandle>& made = *new std::vector<LtHandle>;
  return made;
}

// Fails with GS_ERROR_UNSUPPORTED until cuBLASLt is open.
const CublasLt& cublaslt_library() {
  const CublasLt* lt = published_cublaslt.load(std::memory_order_acquire);
  require(lt != nullptr, GS_ERROR_UNSUPPORTED);
  return *lt;
}

int32_t open_cublaslt(const char* path, std::string& problem) {
  OpenLibrary library = open_library(path, problem);
  if (library == nullptr) return GS_ERROR_NOT_FOUND;
  find_function(library, "cublasLtGetVersion", opened_cublaslt.cublasLtGetVersion, problem);
#define GS_CUBLASLT_FIND(function, parameters) \
  find_function(library, #function, opened_cublaslt.function, problem);
  GS_CUBLASLT_FUNCTIONS(GS_CUBLASLT_FIND)
#undef GS_CUBLASLT_FIND
  if (!problem.empty()) return GS_ERROR_UNSUPPORTED;
  library.release();
  published_cublaslt.store(&opened_cublaslt, std::memory_order_release);
  return 0;
}

// A device's handle, which threads share. The device is current.
LtHandle handle_of(const CublasLt& lt, int device) {
  const std::lock_guard<std::mutex> lock(opening);
  std::vector<LtHandle>& all = handles();
  if (all.size() <= static_cast<size_t>(device)) all.resize(static_cast<size_t>(device) + 1);
  LtHandle& handle = all[static_cast<size_t>(device)];
  if (handle == nullptr) GS_CUBLASLT_CALL(lt, cublasLtCreate, &handle);
  return handle;
}

// ---- products ----------------------------------------------------------------------------------

// A descriptor that is destroyed with its owner.
template <class Pointer>
class Descriptor {
 public:
  explicit Descriptor(LtStatus (*destroy)(Pointer)) : destroy_(destroy) {}
  Descriptor(const Descriptor&) = delete;
  Descriptor& operator=(const Descriptor&) = delete;
  // Not wrapped: it must not fail in place of the call that did.
  ~Descriptor() {
    if (pointer != nullptr) destroy_(pointer);
  }

  Pointer pointer = nullptr;

 private:
  LtStatus (*destroy_)(Pointer);
};

// The slots of a product are read once each: another thread may write them meanwhile.
class Slots {
 public:
  explicit Slots(const double* slots) : slots_(slots) {
    require(slots != nullptr, GS_ERROR_ARGUMENT);
  }

  uint64_t integer(int slot, uint64_t largest = largest_safe_integer) const {
    return checked_integer(slots_[slot], largest);
  }
  int32_t small(int slot) const { return static_cast<int32_t>(integer(slot, INT32_MAX)); }
  double number(int slot) const { return slots_[slot]; }
  void* address(int slot) const {
    return reinterpret_cast<void*>(static_cast<uintptr_t>(integer(slot)));
  }

 private:
  const volatile double* slots_;
};

std::array<double, GS_CUBLASLT_PRODUCT_SLOTS> copied_numbers(const Slots& slots) {
  std::array<double, GS_CUBLASLT_PRODUCT_SLOTS> numbers = {};
  for (int slot = 0; slot < GS_CUBLASLT_PRODUCT_SLOTS; slot++) numbers[slot] = slots.number(slot);
  return numbers;
}

constexpr int first_matrix = 10;
constexpr int matrix_slots = 6;
constexpr int matrices = 4;
static_assert(first_matrix + matrices * matrix_slots == GS_CUBLASLT_PRODUCT_SLOTS, "as documented");

class Product {
 public:
  Product(const CublasLt& lt, int device, LtHandle handle, const Slots& given)
      : lt_(lt),
        device_(device),
        handle_(handle),
        operation_(lt.cublasLtMatmulDescDestroy),
        numbers_(copied_numbers(given)),
        slots_(numbers_.data()) {
    const Slots& slots = slots_;
    scale_type_ = slots.small(1);
    GS_CUBLASLT_CALL(lt, cublasLtMatmulDescCreate, &operation_.pointer, slots.small(0),
                     scale_type_);
    set_operation(CUBLASLT_MATMUL_DESC_TRANSA, static_cast<int32_t>(slots.integer(2, 1)));
    set_operation(CUBLASLT_MATMUL_DESC_TRANSB, static_cast<int32_t>(slots.integer(3, 1)));
    const int32_t epilogue = slots.small(4);
    set_operation(CUBLASLT_MATMUL_DESC_EPILOGUE, epilogue);
    has_bias_ = (epilogue & CUBLASLT_EPILOGUE_BIAS) != 0;
    if (has_bias_) set_operation(CUBLASLT_MATMUL_DESC_BIAS_DATA_TYPE, slots.small(5));
    const int32_t products = slots.small(7);
    for (int index = 0; index < matrices; index++) make_layout(index, products);
  }
  Product(const Product&) = delete;
  Product& operator=(const Product&) = delete;

  // Writes at most as many results as requested; none if cuBLASLt does not support the product.
  int propose(LtHeuristicResult* results, int requested) {
    const std::lock_guard<std::mutex> lock(mutex_);
    make_current(device_);
    // An address is examined for its alignment only.
    set_bias(slots_.address(6));
    Descriptor<LtPreference> preference(lt_.cublasLtMatmulPreferenceDestroy);
    GS_CUBLASLT_CALL(lt_, cublasLtMatmulPreferenceCreate, &preference.pointer);
    const auto prefer = [&](int32_t attribute, const auto& value) {
      GS_CUBLASLT_CALL(lt_, cublasLtMatmulPreferenceSetAttribute, preference.pointer, attribute,
                       &value, sizeof(value));
    };
    prefer(CUBLASLT_MATMUL_PREF_MAX_WORKSPACE_BYTES, slots_.integer(8));
    prefer(CUBLASLT_MATMUL_PREF_REDUCTION_SCHEME_MASK, static_cast<uint32_t>(slots_.small(9)));
    for (int index = 0; index < matrices; index++) {
      const int slot = first_matrix + index * matrix_slots + 5;
      prefer(CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_A_BYTES + index,
             static_cast<uint32_t>(slots_.small(slot)));
    }
    int count = 0;
    const int32_t status = attempt(CallKind::cublasLtMatmulAlgoGetHeuristic, [&] {
      return lt_.cublasLtMatmulAlgoGetHeuristic(
          handle_, operation_.pointer, layouts_[0].pointer, layouts_[1].pointer,
          layouts_[2].pointer, layouts_[3].pointer, preference.pointer, requested, results, &count);
    });
    if (status == GS_ERROR_CUBLASLT(CUBLAS_STATUS_NOT_SUPPORTED)) return 0;
    if (status != 0) fail_call(CallKind::cublasLtMatmulAlgoGetHeuristic, status);
    return std::min(count, requested);
  }

  void enqueue(const LtAlgorithm& algorithm, const Slots& operands, int32_t stream) {
    const StreamUse used = use_stream(stream, device_);
    // The address of the bias is a part of the descriptor.
    const std::lock_guard<std::mutex> lock(mutex_);
    make_current(device_);
    set_bias(operands.address(4));
    const Factor alpha = factor(operands.number(5));
    const Factor beta = factor(operands.number(6));
    GS_CUBLASLT_CALL(lt_, cublasLtMatmul, handle_, operation_.pointer, &alpha, operands.address(0),
                     layouts_[0].pointer, operands.address(1), layouts_[1].pointer, &beta,
                     operands.address(2), layouts_[2].pointer, operands.address(3),
                     layouts_[3].pointer, &algorithm, operands.address(7),
                     static_cast<size_t>(operands.integer(8)), used->stream);
  }

 private:
  // alpha or beta, in the type of the scale.
  union Factor {
    float float32;
    double float64;
    int32_t int32;
  };

  Factor factor(double value) const {
    Factor made{};
    if (scale_type_ == CUDA_R_64F) {
      made.float64 = value;
    } else if (scale_type_ == CUDA_R_32I) {
      made.int32 = static_cast<int32_t>(checked_integer(value, INT32_MAX));
    } else {
      made.float32 = static_cast<float>(value);
    }
    return made;
  }

  template <class Value>
  void set_operation(int32_t attribute, const Value& value) {
    GS_CUBLASLT_CALL(lt_, cublasLtMatmulDescSetAttribute, operation_.pointer, attribute, &value,
                     sizeof(value));
  }

  void set_bias(const void* address) {
    if (has_bias_) set_operation(CUBLASLT_MATMUL_DESC_BIAS_POINTER, address);
  }

  void make_layout(int index, int32_t products) {
    const int slot = first_matrix + index * matrix_slots;
    LtLayout& layout = layouts_[index].pointer;
    GS_CUBLASLT_CALL(lt_, cublasLtMatrixLayoutCreate, &layout, slots_.small(slot),
                     slots_.integer(slot + 1), slots_.integer(slot + 2),
                     static_cast<int64_t>(slots_.integer(slot + 3)));
    if (products == 1) return;
    const int64_t stride = static_cast<int64_t>(slots_.integer(slot + 4));
    GS_CUBLASLT_CALL(lt_, cublasLtMatrixLayoutSetAttribute, layout,
                     CUBLASLT_MATRIX_LAYOUT_BATCH_COUNT, &products, sizeof(products));
    GS_CUBLASLT_CALL(lt_, cublasLtMatrixLayoutSetAttribute, layout,
                     CUBLASLT_MATRIX_LAYOUT_STRIDED_BATCH_OFFSET, &stride, sizeof(stride));
  }

  const CublasLt& lt_;
  const int device_;
  const LtHandle handle_;
  std::mutex mutex_;
  Descriptor<LtOperation> operation_;
  Descriptor<LtLayout> layouts_[matrices] = {
      Descriptor<LtLayout>(lt_.cublasLtMatrixLayoutDestroy),
      Descriptor<LtLayout>(lt_.cublasLtMatrixLayoutDestroy),
      Descriptor<LtLayout>(lt_.cublasLtMatrixLayoutDestroy),
      Descriptor<LtLayout>(lt_.cublasLtMatrixLayoutDestroy),
  };
  const std::array<double, GS_CUBLASLT_PRODUCT_SLOTS> numbers_;
  const Slots slots_;
  int32_t scale_type_ = 0;
  bool has_bias_ = false;
};

struct HeldProduct {
  Product* product = nullptr;

  void end() const { delete product; }
};

HandleTable<HeldProduct> products;

}  // namespace

void destroy_products(int32_t isolate) {
  for (const int32_t handle : products.handles_of(isolate)) gs_cublaslt_destroy(handle);
}

}  // namespace gridstride

using namespace gridstride;

int32_t gs_cublaslt_open(const char* library, char* text, int32_t capacity, double* result) {
  return guarded([&] {
    require(library != nullptr && result != nullptr, GS_ERROR_ARGUMENT);
    write_text("", text, capacity);
    const std::lock_guard<std::mutex> lock(opening);
    if (published_cublaslt.load(std::memory_order_relaxed) == nullptr) {
      std::string problem;
      const int32_t status = open_cublaslt(library, problem);
      write_start(problem, text, capacity);
      require(status == 0, status);
    }
    const CublasLt& lt = cublaslt_library();
    write_start(library_path(reinterpret_cast<const void*>(lt.cublasLtGetVersion)), text, capacity);
    result[0] = static_cast<double>(lt.cublasLtGetVersion());
  });
}

int32_t gs_cublaslt_prepare(int32_t device, const double* product, double* result) {
  return guarded([&] {
    require(result != nullptr, GS_ERROR_ARGUMENT);
    const Slots slots(product);
    const CublasLt& lt = cublaslt_library();
    make_current(device);
    HandleTable<HeldProduct>::Reservation made = products.reserve();
    made->product = new Product(lt, device, handle_of(lt, device), slots);
    result[0] = made.publish();
  });
}

int32_t gs_cublaslt_algorithms(int32_t product, void* algorithms, int32_t capacity,
                               double* result) {
  return guarded([&] {
    require(algorithms != nullptr && result != nullptr, GS_ERROR_ARGUMENT);
    require(capacity > 0 && capacity <= GS_CUBLASLT_ALGORITHMS, GS_ERROR_ARGUMENT);
    LtHeuristicResult results[GS_CUBLASLT_ALGORITHMS] = {};
    const int count = products.use(product)->product->propose(results, capacity);
    int written = 0;
    for (int index = 0; index < count; index++) {
      if (results[index].state != LtStatus::success) continue;
      std::memcpy(static_cast<char*>(algorithms) + written * GS_CUBLASLT_ALGORITHM_BYTES,
                  &results[index].algorithm, GS_CUBLASLT_ALGORITHM_BYTES);
      result[1 + written++] = static_cast<double>(results[index].workspace_bytes);
    }
    result[0] = written;
  });
}

int32_t gs_cublaslt_matmul(int32_t product, int32_t stream, const void* algorithm,
                           const double* operands) {
  return guarded([&] {
    require(algorithm != nullptr, GS_ERROR_ARGUMENT);
    const Slots given(operands);
    const auto use = products.use(product);
    LtAlgorithm copied = {};
    std::memcpy(&copied, algorithm, sizeof(copied));
    use->product->enqueue(copied, given, stream);
  });
}

int32_t gs_cublaslt_destroy(int32_t product) {
  return guarded([&] { products.destroy(product); });
}
