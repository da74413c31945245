// CUDA's name for copies by all threads of a group.
//
// Copies are done when memcpy_async() returns, for the thread's own share; wait() is what makes the
// others' shares visible, as it must be on a GPU.
#pragma once

#include <stddef.h>

#include "../cooperative_groups.h"

namespace cooperative_groups {

template <class Group>
void memcpy_async(const Group& group, void* destination, const void* source, size_t bytes) {
  constexpr size_t piece = 16;
  auto* const to = static_cast<unsigned char*>(destination);
  const auto* const from = static_cast<const unsigned char*>(source);
  const size_t step = piece * group.num_threads();
  for (size_t offset = piece * group.thread_rank(); offset < bytes; offset += step) {
    const size_t left = bytes - offset;
    __builtin_memcpy(to + offset, from + offset, left < piece ? left : piece);
  }
}

template <class Group, class Element>
void memcpy_async(const Group& group, Element* destination, const Element* source, size_t bytes) {
  memcpy_async(group, static_cast<void*>(destination), static_cast<const void*>(source), bytes);
}

// The smaller of two counts of elements.
template <class Group, class To, class From>
void memcpy_async(const Group& group, To* destination, size_t to_count, const From* source,
                  size_t from_count) {
  static_assert(sizeof(To) == sizeof(From), "both sides have elements of one size");
  const size_t count = to_count < from_count ? to_count : from_count;
  memcpy_async(group, static_cast<void*>(destination), static_cast<const void*>(source),
               count * sizeof(To));
}

template <class Group>
void wait(const Group& group) {
  group.sync();
}

template <unsigned int Stages, class Group>
void wait_prior(const Group& group) {
  group.sync();
}

}  // namespace cooperative_groups
