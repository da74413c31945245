// Atomic functions: atomicAdd and its siblings for CUDA's types, with their _block and _system
// forms.
//
// They are relaxed, as on a GPU: ordering other accesses takes __threadfence(). They hold between
// all threads of all workers, so the narrower _block scope is the same here. Every call counts as
// polling: a thread that waits in a loop of atomics for another thread of its block lets it run.
#pragma once

#include "qualifiers.h"
#include "vector_types.h"
#include "warp_exchange.h"

namespace gridstride::host {

// The integer that carries a value of this size through a compare-and-swap.
template <unsigned int size>
struct AtomicWord;
template <>
struct AtomicWord<1> {
  using type = unsigned char;
};
template <>
struct AtomicWord<2> {
  using type = unsigned short;
};
template <>
struct AtomicWord<4> {
  using type = unsigned int;
};
template <>
struct AtomicWord<8> {
  using type = unsigned long long;
};

// Memory of any type, read and written as that integer.
template <class T>
using AtomicAlias __attribute__((may_alias)) = typename AtomicWord<sizeof(T)>::type;

// Replaces *address by operation(*address) and returns the old value. Values are compared as bits:
// a NaN, which does not equal itself, must not keep the loop from ending.
template <class T, class Operation>
__device__ __forceinline__ T atomic_update(T* address, Operation operation) {
  using Word = typename AtomicWord<sizeof(T)>::type;
  auto* const word = reinterpret_cast<AtomicAlias<T>*>(address);
  Word expected = __atomic_load_n(word, __ATOMIC_RELAXED);
  for (;;) {
    T before;
    __builtin_memcpy(static_cast<void*>(&before), &expected, sizeof before);
    const T after = operation(before);
    Word desired;
    __builtin_memcpy(&desired, static_cast<const void*>(&after), sizeof desired);
    if (__atomic_compare_exchange_n(word, &expected, desired, true, __ATOMIC_RELAXED,
                                    __ATOMIC_RELAXED)) {
      return before;
    }
  }
}

template <class Integer>
__device__ __forceinline__ Integer atomic_compare_and_swap(Integer* address, Integer compare,
                                                           Integer value) {
  __atomic_compare_exchange_n(address, &compare, value, false, __ATOMIC_RELAXED, __ATOMIC_RELAXED);
  return compare;
}

}  // namespace gridstride::host

// One operation on one type under its three names. `update` yields the value before.
#define GS_ATOMIC(name, type, parameters, update)            \
  __device__ __forceinline__ type name parameters {          \
    gridstride::host::spin_hint();                           \
    return update;                                           \
  }                                                          \
  __device__ __forceinline__ type name##_block parameters {  \
    gridstride::host::spin_hint();                           \
    return update;                                           \
  }                                                          \
  __device__ __forceinline__ type name##_system parameters { \
    gridstride::host::spin_hint();                           \
    return update;                                           \
  }

#define GS_ATOMIC_NATIVE(name, type, builtin) \
  GS_ATOMIC(name, type, (type * address, type value), builtin(address, value, __ATOMIC_RELAXED))
#define GS_ATOMIC_LOOP(name, type, expression)        \
  GS_ATOMIC(name, type, (type * address, type value), \
            gridstride::host::atomic_update(address, [=](type before) { return expression; }))

// ---- integers ----------------------------------------------------------------------------------

#define GS_ATOMIC_BITS_AND_LIMITS(type)                            \
  GS_ATOMIC_NATIVE(atomicAnd, type, __atomic_fetch_and)            \
  GS_ATOMIC_NATIVE(atomicOr, type, __atomic_fetch_or)              \
  GS_ATOMIC_NATIVE(atomicXor, type, __atomic_fetch_xor)            \
  GS_ATOMIC_LOOP(atomicMin, type, value < before ? value : before) \
  GS_ATOMIC_LOOP(atomicMax, type, before < value ? value : before)
#define GS_ATOMIC_SUM_AND_EXCHANGE(type)                \
  GS_ATOMIC_NATIVE(atomicAdd, type, __atomic_fetch_add) \
  GS_ATOMIC_NATIVE(atomicExch, type, __atomic_exchange_n)
#define GS_ATOMIC_COMPARE_AND_SWAP(type)                                 \
  GS_ATOMIC(atomicCAS, type, (type * address, type compare, type value), \
            gridstride::host::atomic_compare_and_swap(address, compare, value))

GS_ATOMIC_BITS_AND_LIMITS(int)
GS_ATOMIC_BITS_AND_LIMITS(unsigned int)
GS_ATOMIC_BITS_AND_LIMITS(long long)
GS_ATOMIC_BITS_AND_LIMITS(unsigned long long)

// CUDA has no signed 64-bit forms of these.
GS_ATOMIC_SUM_AND_EXCHANGE(int)
GS_ATOMIC_SUM_AND_EXCHANGE(unsigned int)
GS_ATOMIC_SUM_AND_EXCHANGE(unsigned long long)

GS_ATOMIC_COMPARE_AND_SWAP(unsigned short)
GS_ATOMIC_COMPARE_AND_SWAP(int)
GS_ATOMIC_COMPARE_AND_SWAP(unsigned int)
GS_ATOMIC_COMPARE_AND_SWAP(unsigned long long)

GS_ATOMIC_NATIVE(atomicSub, int, __atomic_fetch_sub)
GS_ATOMIC_NATIVE(atomicSub, unsigned int, __atomic_fetch_sub)

// Counters that run from 0 to a limit and around.
GS_ATOMIC_LOOP(atomicInc, unsigned int, before >= value ? 0u : before + 1u)
GS_ATOMIC_LOOP(atomicDec, unsigned int, before == 0u || before > value ? value : before - 1u)

// ---- floating point ----------------------------------------------------------------------------

GS_ATOMIC_LOOP(atomicAdd, float, before + value)
GS_ATOMIC_LOOP(atomicAdd, double, before + value)
GS_ATOMIC(atomicExch, float, (float* address, float value),
          gridstride::host::atomic_update(address, [=](float) { return value; }))

// Vectors are added element by element, as on a GPU (compute capability 9.0 and above).
#define GS_ATOMIC_VECTOR_SUM(name, type, ...) \
  __device__ __forceinline__ type name(type* address, type value) { return type{__VA_ARGS__}; }
#define GS_ATOMIC_ELEMENT(name, element) name(&address->element, value.element)
#define GS_ATOMIC_VECTOR_SUMS(name)                                                          \
  GS_ATOMIC_VECTOR_SUM(name, float2, GS_ATOMIC_ELEMENT(name, x), GS_ATOMIC_ELEMENT(name, y)) \
  GS_ATOMIC_VECTOR_SUM(name, float4, GS_ATOMIC_ELEMENT(name, x), GS_ATOMIC_ELEMENT(name, y), \
                       GS_ATOMIC_ELEMENT(name, z), GS_ATOMIC_ELEMENT(name, w))
GS_ATOMIC_VECTOR_SUMS(atomicAdd)
GS_ATOMIC_VECTOR_SUMS(atomicAdd_block)
GS_ATOMIC_VECTOR_SUMS(atomicAdd_system)

#undef GS_ATOMIC_VECTOR_SUMS
#undef GS_ATOMIC_ELEMENT
#undef GS_ATOMIC_VECTOR_SUM
#undef GS_ATOMIC_COMPARE_AND_SWAP
#undef GS_ATOMIC_SUM_AND_EXCHANGE
#undef GS_ATOMIC_BITS_AND_LIMITS
#undef GS_ATOMIC_LOOP
#undef GS_ATOMIC_NATIVE
#undef GS_ATOMIC
