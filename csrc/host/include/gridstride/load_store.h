// Loads and stores with a cache hint: __ldg, __ldcg, __stcs and their siblings.
//
// A CPU takes no such hints, so all of them are plain accesses, except __ldcv and __stwt: those
// happen where they are written, in one piece up to 8 bytes, and __ldcv counts as polling: a thread
// that waits for a flag lets the other threads of its block run.
#pragma once

#include "atomics.h"
#include "integer_functions.h"
#include "qualifiers.h"
#include "warp_exchange.h"

namespace gridstride::host {

// Makes the parameter take its type from the other argument, as CUDA's overloads do.
template <class T>
struct Identity {
  using type = T;
};

template <class T>
using NotDeduced = typename Identity<T>::type;

// An optimizer that sees all memory as changed must make an access anew and cannot defer it.
__device__ __forceinline__ void keep_memory_accesses_here() { asm volatile("" : : : "memory"); }

}  // namespace gridstride::host

#define GS_HINTED_LOAD(name)                      \
  template <class T>                              \
  __device__ __forceinline__ T name(const T* p) { \
    return *p;                                    \
  }
GS_HINTED_LOAD(__ldg)
GS_HINTED_LOAD(__ldca)
GS_HINTED_LOAD(__ldcg)
GS_HINTED_LOAD(__ldcs)
GS_HINTED_LOAD(__ldlu)
#undef GS_HINTED_LOAD

template <class T>
__device__ __forceinline__ T __ldcv(const T* p) {
  gridstride::host::spin_hint();
  if constexpr (sizeof(T) <= 8) {
    const auto* const word = reinterpret_cast<const gridstride::host::AtomicAlias<T>*>(p);
    return gridstride::host::same_bits<T>(__atomic_load_n(word, __ATOMIC_RELAXED));
  } else {
    gridstride::host::keep_memory_accesses_here();
    const T value = *p;
    gridstride::host::keep_memory_accesses_here();
    return value;
  }
}

#define GS_HINTED_STORE(name)                                                         \
  template <class T>                                                                  \
  __device__ __forceinline__ void name(T* p, gridstride::host::NotDeduced<T> value) { \
    *p = value;                                                                       \
  }
GS_HINTED_STORE(__stwb)
GS_HINTED_STORE(__stcg)
GS_HINTED_STORE(__stcs)
#undef GS_HINTED_STORE

template <class T>
__device__ __forceinline__ void __stwt(T* p, gridstride::host::NotDeduced<T> value) {
  if constexpr (sizeof(T) <= 8) {
    using Word = typename gridstride::host::AtomicWord<sizeof(T)>::type;
    auto* const word = reinterpret_cast<gridstride::host::AtomicAlias<T>*>(p);
    __atomic_store_n(word, gridstride::host::same_bits<Word>(value), __ATOMIC_RELAXED);
  } else {
    gridstride::host::keep_memory_accesses_here();
    *p = value;
    gridstride::host::keep_memory_accesses_here();
  }
}
