// CUDA's names for matrices that a warp holds and multiplies.
//
// All lanes of a warp meet in each function but fill_fragment(), and the last to arrive does the
// work for all. CUDA leaves open which lane holds which element; here they lie as in the registers
// of mma.sync, whose matrices have 8 rows of 4 registers.
#pragma once

#include "cuda_bf16.h"
#include "cuda_fp16.h"
#include "gridstride/collectives.h"

namespace nvcuda::wmma {

struct matrix_a;
struct matrix_b;
struct accumulator;
struct row_major;
struct col_major;
enum layout_t { mem_row_major, mem_col_major };
namespace precision {
struct tf32;
}

template <class Use, int m, int n, int k, class T, class Layout = void>
class fragment;

}  // namespace nvcuda::wmma

namespace gridstride::host {

namespace wmma = nvcuda::wmma;

// ---- types and shapes --------------------------------------------------------------------------

// Of a type of A and B: what holds an element, and the depth of its shapes.
template <class T>
struct FactorTraits {
  using Storage = T;
  static constexpr int depth = 0;
};
template <class T, int k>
struct FactorOfDepth {
  using Storage = T;
  static constexpr int depth = k;
};
template <>
struct FactorTraits<__half> : FactorOfDepth<__half, 16> {};
template <>
struct FactorTraits<__nv_bfloat16> : FactorOfDepth<__nv_bfloat16, 16> {};
template <>
struct FactorTraits<signed char> : FactorOfDepth<signed char, 16> {};
template <>
struct FactorTraits<unsigned char> : FactorOfDepth<unsigned char, 16> {};
template <>
struct FactorTraits<wmma::precision::tf32> : FactorOfDepth<float, 8> {};
template <>
struct FactorTraits<double> : FactorOfDepth<double, 4> {};

// Whether products of a type are added to accumulators of another.
template <class T, class Sum>
inline constexpr bool are_added_to = false;
template <>
inline constexpr bool are_added_to<__half, __half> = true;
template <>
inline constexpr bool are_added_to<__half, float> = true;
template <>
inline constexpr bool are_added_to<__nv_bfloat16, float> = true;
template <>
inline constexpr bool are_added_to<wmma::precision::tf32, float> = true;
template <>
inline constexpr bool are_added_to<signed char, int> = true;
template <>
inline constexpr bool are_added_to<unsigned char, int> = true;
template <>
inline constexpr bool are_added_to<double, double> = true;

template <class Layout>
inline constexpr bool is_row_major = __is_same(Layout, wmma::row_major);
template <class Layout>
inline constexpr bool is_column_major = __is_same(Layout, wmma::col_major);

constexpr bool is_matrix_shape(int m, int n, int k) {
  if (k == 4) return m == 8 && n == 8;
  if (m == 16 && n == 16) return k == 8 || k == 16;
  return k == 16 && ((m == 32 && n == 8) || (m == 8 && n == 32));
}

// The matrix that the lanes of a warp hold together. `packed` of its elements lie side by side in a
// lane, in a row or, if they run down, in a column. Half is repeated to 16 elements in a lane.
template <class T, int the_rows, int the_columns, int the_packed, bool down, bool is_padded = false>
struct MatrixOf {
  using Storage = T;
  static constexpr int rows = the_rows;
  static constexpr int columns = the_columns;
  static constexpr int packed = the_packed;
  static constexpr bool runs_down = down;
  static constexpr int own_elements = rows * columns / 32;
  static constexpr int elements = is_padded ? 16 : own_elements;
};

template <class T, int rows, int columns, bool down>
struct FactorMatrix {
  using Storage = typename FactorTraits<T>::Storage;
  using Matrix = MatrixOf<Storage, rows, columns, sizeof(Storage) < 4 ? 4 / sizeof(Storage) : 1,
                          down, __is_same(T, __half)>;
};

template <class Use, int m, int n, int k, class T, class Layout>
struct MatrixTraits {
  static constexpr bool is_valid = false;
  using Matrix = MatrixOf<T, 32, 1, 1, false>;
};
template <int m, int n, int k, class T, class Layout>
struct MatrixTraits<wmma::matrix_a, m, n, k, T, Layout> : FactorMatrix<T, m, k, false> {
  static constexpr bool is_valid = is_matrix_shape(m, n, k) && FactorTraits<T>::depth == k &&
                                   (is_row_major<Layout> || is_column_major<Layout>);
};
template <int m, int n, int k, class T, class Layout>
struct MatrixTraits<wmma::matrix_b, m, n, k, T, Layout> : FactorMatrix<T, k, n, true> {
  static constexpr bool is_valid = MatrixTraits<wmma::matrix_a, m, n, k, T, Layout>::is_valid;
};
template <int m, int n, int k, class T>
struct MatrixTraits<wmma::accumulator, m, n, k, T, void> {
  static constexpr bool is_valid =
      is_matrix_shape(m, n, k) &&
      (k == 4 ? __is_same(T, double)
              : __is_same(T, float) || (k == 16 && (__is_same(T, __half) || __is_same(T, int))));
  using Matrix = MatrixOf<T, m, n, 2, false>;
};

// ---- places of elements ------------------------------------------------------------------------

struct MatrixPlace {
  int row;
  int column;
};

// Of an element of a lane. `packed` elements lie side by side in a row, of B in a column, and 32
// lanes hold 8 rows of them; further such blocks follow below, then on the right.
template <class Matrix>
constexpr MatrixPlace place_in_matrix(int lane, int element) {
  constexpr int packed = Matrix::packed;
  constexpr int height = Matrix::runs_down ? 4 * packed : 8;
  constexpr int width = Matrix::runs_down ? 8 : 4 * packed;
  constexpr int down = Matrix::rows / height;
  const int block = element / packed;
  const int along = lane % 4 * packed + element % packed;
  const int across = lane / 4;
  return {(Matrix::runs_down ? along : across) + block % down * height,
          (Matrix::runs_down ? across : along) + block / down * width};
}

// ---- loads and stores --------------------------------------------------------------------------

// What a lane passes.
struct MatrixAccess {
  void* elements;
  void* memory;
  unsigned int stride;
  bool by_columns;
};

#define GS_MATRIX_TRAP(what) \
  gs_host_trap(stores ? "store_matrix_sync " what : "load_matrix_sync " what)

template <class Matrix, bool stores>
void complete_matrix_access(LaneSlot* lanes, uint32_t participants) {
  using Storage = typename Matrix::Storage;
  if (participants != 0xffffffffu) GS_MATRIX_TRAP("needs all 32 lanes of the warp");
  const auto of = [=](int lane) {
    return reinterpret_cast<const MatrixAccess*>(lanes[lane].value);
  };
  const MatrixAccess& first = *of(0);
  void* const memory = first.memory;
  const unsigned int stride = first.stride;
  const bool by_columns = first.by_columns;
  // A GPU moves all elements of a lane at once, but no more than 16 bytes.
  constexpr size_t bytes = Matrix::elements * sizeof(Storage);
  constexpr size_t alignment = bytes < 16 ? bytes : 16;
  if ((reinterpret_cast<uintptr_t>(memory) | stride * sizeof(Storage)) % alignment != 0) {
    GS_MATRIX_TRAP("got an address or a stride that is not aligned");
  }
  for (int lane = 0; lane < 32; ++lane) {
    const MatrixAccess& own = *of(lane);
    if (own.memory != memory || own.stride != stride || own.by_columns != by_columns) {
      GS_MATRIX_TRAP("got different matrices from the lanes of a warp");
    }
    auto* const elements = static_cast<Storage*>(own.elements);
    for (int i = 0; i < (stores ? Matrix::own_elements : Matrix::elements); ++i) {
      const MatrixPlace at = place_in_matrix<Matrix>(lane, i % Matrix::own_elements);
      const auto line = static_cast<size_t>(by_columns ? at.column : at.row);
      Storage* const element =
          static_cast<Storage*>(memory) + line * stride + (by_columns ? at.row : at.column);
      if constexpr (stores) {
        *element = elements[i];
      } else {
        elements[i] = *element;
      }
    }
  }
}

#undef GS_MATRIX_TRAP

template <class Matrix, bool stores>
inline constexpr CollectiveOperation matrix_access{
    stores ? "store_matrix_sync" : "load_matrix_sync", complete_matrix_access<Matrix, stores>};

template <class Matrix, bool stores>
GS_HOST_INLINE void access_matrix(const void* elements, const void* memory, unsigned int stride,
                                  bool by_columns) {
  const MatrixAccess access = {const_cast<void*>(elements), const_cast<void*>(memory), stride,
                               by_columns};
  warp_collective(0xffffffffu, reinterpret_cast<uint64_t>(&access), 0,
                  matrix_access<Matrix, stores>);
}

// ---- products ----------------------------------------------------------------------------------

// Products of 8-bit integers are added as integers, others as float64, in which they are exact
// unless they are of float64.
template <class T>
struct SumType {
  using Type = double;
};
template <>
struct SumType<int> {
  using Type = int64_t;
};

template <class T>
inline auto number_of(const typename FactorTraits<T>::Storage& element) {
  if constexpr (sizeof(element) == 2) {
    return static_cast<double>(widened(element));
  } else if constexpr (__is_same(T, wmma::precision::tf32)) {
    // The last 13 bits are not read.
    return static_cast<double>(same_bits<float>(same_bits<unsigned int>(element) & ~0x1fffu));
  } else if constexpr (sizeof(element) == 1 || __is_same(T, int)) {
    return static_cast<int>(element);
  } else {
    return static_cast<double>(element);
  }
}

// What a lane passes.
struct MatrixProduct {
  void* d;
  const void *a, *b, *c;
  bool saturates;
};

template <class MA, class MB, class MD, class T, class C, class D>
void complete_matrix_product(LaneSlot* lanes, uint32_t participants) {
  if (participants != 0xffffffffu) gs_host_trap("mma_sync needs all 32 lanes of the warp");
  using Sum = typename SumType<D>::Type;
  using Factor = decltype(number_of<T>(typename MA::Storage{}));
  Factor a[MA::rows][MA::columns], b[MB::rows][MB::columns];
  Sum sums[MD::rows][MD::columns];
  const auto of = [=](int lane) {
    return reinterpret_cast<const MatrixProduct*>(lanes[lane].value);
  };
  for (int lane = 0; lane < 32; ++lane) {
    const MatrixProduct& own = *of(lane);
    for (int i = 0; i < MA::own_elements; ++i) {
      const MatrixPlace at = place_in_matrix<MA>(lane, i);
      a[at.row][at.column] = number_of<T>(static_cast<const typename MA::Storage*>(own.a)[i]);
    }
    for (int i = 0; i < MB::own_elements; ++i) {
      const MatrixPlace at = place_in_matrix<MB>(lane, i);
      b[at.row][at.column] = number_of<T>(static_cast<const typename MB::Storage*>(own.b)[i]);
    }
    for (int i = 0; i < MD::own_elements; ++i) {
      const MatrixPlace at = place_in_matrix<MD>(lane, i);
      sums[at.row][at.column] = number_of<C>(static_cast<const C*>(own.c)[i]);
    }
  }
  for (int row = 0; row < MD::rows; ++row) {
    for (int k = 0; k < MA::columns; ++k) {
      for (int column = 0; column < MD::columns; ++column) {
        Sum& sum = sums[row][column];
        if constexpr (__is_same(T, double)) {
          sum = __builtin_fma(a[row][k], b[k][column], sum);
        } else {
          sum += a[row][k] * b[k][column];
        }
      }
    }
  }
  for (int lane = 0; lane < 32; ++lane) {
    const MatrixProduct& own = *of(lane);
    for (int i = 0; i < MD::own_elements; ++i) {
      const MatrixPlace at = place_in_matrix<MD>(lane, i);
      Sum sum = sums[at.row][at.column];
      D& element = static_cast<D*>(own.d)[i];
      if constexpr (__is_same(D, __half)) {
        element = narrowed<__half>(sum);
      } else {
        if constexpr (__is_same(D, int)) {
          constexpr Sum most = highest_integer<int>, least = lowest_integer<int>;
          if (own.saturates) sum = sum > most ? most : sum < least ? least : sum;
        }
        element = static_cast<D>(sum);
      }
    }
  }
}

template <class MA, class MB, class MD, class T, class C, class D>
inline constexpr CollectiveOperation matrix_product{
    "mma_sync", complete_matrix_product<MA, MB, MD, T, C, D>};

template <int m, int n, int k, class T, class C, class D>
GS_HOST_INLINE void multiply_matrices(void* d, const void* a, const void* b, const void* c,
                                      bool saturates) {
  static_assert(are_added_to<T, C> && are_added_to<T, D>,
                "CUDA adds no such products to such sums");
  using MA = typename FactorMatrix<T, m, k, false>::Matrix;
  using MB = typename FactorMatrix<T, k, n, true>::Matrix;
  const MatrixProduct product = {d, a, b, c, saturates};
  warp_collective(0xffffffffu, reinterpret_cast<uint64_t>(&product), 0,
                  matrix_product<MA, MB, MatrixOf<D, m, n, 2, false>, T, C, D>);
}

}  // namespace gridstride::host

// ---- the functions of CUDA ---------------------------------------------------------------------

namespace nvcuda::wmma {

template <class Use, int m, int n, int k, class T, class Layout>
class __align__(8) fragment {
  using Traits = gridstride::host::MatrixTraits<Use, m, n, k, T, Layout>;
  static_assert(Traits::is_valid, "CUDA has no fragment of this use, shape, type and layout");

 public:
  using Matrix = typename Traits::Matrix;
  using element_type = T;
  using storage_element_type = typename Matrix::Storage;
  enum { num_elements = Matrix::elements, num_storage_elements = Matrix::elements };
  storage_element_type x[num_elements];
};

// To nearest, of ties away from zero.
inline float __float_to_tf32(float in) {
  using gridstride::host::same_bits;
  if (in != in) return same_bits<float>(0x7fffffffu);
  return same_bits<float>((same_bits<unsigned int>(in) + 0x1000u) & ~0x1fffu);
}

template <class Use, int m, int n, int k, class T, class Layout>
GS_HOST_INLINE void fill_fragment(
    fragment<Use, m, n, k, T, Layout>& to,
    const typename fragment<Use, m, n, k, T, Layout>::storage_element_type& value) {
  for (auto& element : to.x) element = value;
}

// Without a layout, an accumulator's is not known.
template <class Use, int m, int n, int k, class T, class Layout>
GS_HOST_INLINE void load_matrix_sync(
    fragment<Use, m, n, k, T, Layout>& to,
    const typename fragment<Use, m, n, k, T, Layout>::storage_element_type* from,
    unsigned int ldm) {
  using namespace gridstride::host;
  static_assert(!__is_same(Use, accumulator), "load_matrix_sync needs an accumulator's layout");
  using Matrix = typename fragment<Use, m, n, k, T, Layout>::Matrix;
  access_matrix<Matrix, false>(to.x, from, ldm, is_column_major<Layout>);
}
template <int m, int n, int k, class T>
GS_HOST_INLINE void load_matrix_sync(fragment<accumulator, m, n, k, T>& to, const T* from,
                                     unsigned int ldm, layout_t layout) {
  using Matrix = typename fragment<accumulator, m, n, k, T>::Matrix;
  gridstride::host::access_matrix<Matrix, false>(to.x, from, ldm, layout == mem_col_major);
}

template <int m, int n, int k, class T>
GS_HOST_INLINE void store_matrix_sync(T* to, const fragment<accumulator, m, n, k, T>& from,
                                      unsigned int ldm, layout_t layout) {
  using Matrix = typename fragment<accumulator, m, n, k, T>::Matrix;
  gridstride::host::access_matrix<Matrix, true>(from.x, to, ldm, layout == mem_col_major);
}

template <int m, int n, int k, class T, class LA, class LB, class C, class D>
GS_HOST_INLINE void mma_sync(fragment<accumulator, m, n, k, D>& d,
                             const fragment<matrix_a, m, n, k, T, LA>& a,
                             const fragment<matrix_b, m, n, k, T, LB>& b,
                             const fragment<accumulator, m, n, k, C>& c) {
  gridstride::host::multiply_matrices<m, n, k, T, C, D>(d.x, a.x, b.x, c.x, false);
}
template <int m, int n, int k, class T, class LA, class LB>
GS_HOST_INLINE void mma_sync(fragment<accumulator, m, n, k, int>& d,
                             const fragment<matrix_a, m, n, k, T, LA>& a,
                             const fragment<matrix_b, m, n, k, T, LB>& b,
                             const fragment<accumulator, m, n, k, int>& c, bool satf) {
  gridstride::host::multiply_matrices<m, n, k, T, int, int>(d.x, a.x, b.x, c.x, satf);
}

}  // namespace nvcuda::wmma
