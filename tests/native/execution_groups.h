// Every question that a cooperative group answers, and the answers by plain C++.
#pragma once

#include <cooperative_groups.h>
#include <cooperative_groups/reduce.h>
#include <cooperative_groups/scan.h>

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "execution_check.h"

namespace execution {

namespace cg = cooperative_groups;

// Wider than a word, and no multiple of eight bytes.
struct Triple {
  int a, b, c;
};

struct Answers {
  unsigned rank, size, meta_rank, meta_size;
  int from_next, from_before, from_after;
  Triple from_first;
  int any, all, all_equal;
  unsigned ballot, match_any, match_all, match_all_of_equal;
  int sum, least, greatest, bits, product, inclusive, exclusive, from_leader;
};

__host__ __device__ inline int value_of(unsigned thread) {
  return static_cast<int>(thread * 2654435761u >> 20) - 1000;
}
__host__ __device__ inline bool votes(unsigned thread) { return thread % 5 == 2; }
__host__ __device__ inline int label_of(unsigned thread) {
  return static_cast<int>(thread * 7 % 3);
}

template <class Group>
__device__ void ask(const Group& group, Answers* out) {
  const unsigned thread = cg::this_thread_block().thread_rank();
  const int value = value_of(thread);
  const unsigned rank = group.thread_rank();
  Answers got{};
  got.rank = rank;
  got.size = group.size();
  got.meta_rank = group.meta_group_rank();
  got.meta_size = group.meta_group_size();
  got.from_next = group.shfl(value, rank + 1);
  got.from_before = group.shfl_up(value, 2);
  got.from_after = group.shfl_down(value, 3);
  got.from_first = group.shfl(Triple{value, -value, value + 1}, 0);
  got.any = group.any(votes(thread) ? 256 : 0) != 0;
  got.all = group.all(votes(thread) ? 0 : -1) != 0;
  got.ballot = group.ballot(votes(thread));
  got.match_any = group.match_any(label_of(thread));
  got.match_all = group.match_all(value, got.all_equal);
  int equal = 0;
  got.match_all_of_equal = group.match_all(1ll << 40, equal) * static_cast<unsigned>(equal);
  got.sum = cg::reduce(group, value, cg::plus<int>());
  got.least = cg::reduce(group, value, cg::less<int>());
  got.greatest = cg::reduce(group, value, cg::greater<int>());
  got.bits = cg::reduce(group, value, cg::bit_xor<int>());
  got.product = cg::reduce(group, value, [](int a, int b) { return a * 31 + b; });
  got.inclusive = cg::inclusive_scan(group, value);
  got.exclusive = cg::exclusive_scan(group, value);
  got.from_leader = cg::invoke_one_broadcast(group, [=] { return value + 5; });
  group.sync();
  out[thread] = got;
}

// The threads that are there of a group, by rank, and how many it is said to have.
struct Members {
  std::vector<unsigned> threads;
  unsigned size;
};

// a * 31 + b in pairs of neighbours, then pairs of pairs: the order that reduce() promises.
inline int paired(std::vector<int> values) {
  for (size_t distance = 1; distance < values.size(); distance *= 2) {
    for (size_t i = 0; i + distance < values.size(); i += 2 * distance) {
      values[i] = values[i] * 31 + values[i + distance];
    }
  }
  return values[0];
}

inline void expect_lanes(Answers& expected, const Members& members) {
  const unsigned rank = expected.rank;
  const auto value_at = [&](unsigned other) {
    return value_of(members.threads[other < members.threads.size() ? other : rank]);
  };
  expected.from_next = value_at((rank + 1) % members.size);
  expected.from_before = value_at(rank >= 2 ? rank - 2 : rank);
  expected.from_after = value_at(rank + 3 < members.size ? rank + 3 : rank);
  const int first = value_at(0);
  expected.from_first = {first, -first, first + 1};
  expected.from_leader = first + 5;
  expected.all = 1;
  expected.all_equal = 1;
  for (unsigned other = 0; other < members.threads.size(); ++other) {
    const unsigned thread = members.threads[other];
    const unsigned bit = 1u << other % 32;
    expected.any |= votes(thread);
    expected.all &= !votes(thread);
    expected.all_equal &= value_of(thread) == first;
    expected.ballot |= votes(thread) ? bit : 0;
    expected.match_any |= label_of(thread) == label_of(members.threads[rank]) ? bit : 0;
    expected.match_all |= bit;
  }
  expected.match_all_of_equal = expected.match_all;
  if (!expected.all_equal) expected.match_all = 0;
}

inline Answers expect(const Members& members, unsigned rank, unsigned meta_rank,
                      unsigned meta_size) {
  Answers expected{};
  expected.rank = rank;
  expected.size = members.size;
  expected.meta_rank = meta_rank;
  expected.meta_size = meta_size;
  expect_lanes(expected, members);
  std::vector<int> values;
  for (const unsigned thread : members.threads) values.push_back(value_of(thread));
  expected.least = expected.greatest = values[0];
  for (size_t other = 0; other < values.size(); ++other) {
    if (other == rank) expected.exclusive = expected.sum;
    expected.sum += values[other];
    if (other == rank) expected.inclusive = expected.sum;
    expected.least = values[other] < expected.least ? values[other] : expected.least;
    expected.greatest = expected.greatest < values[other] ? values[other] : expected.greatest;
    expected.bits ^= values[other];
  }
  expected.product = paired(values);
  return expected;
}

// Empty where all is as it should be, else the first word that differs.
inline std::string difference(const Answers& got, const Answers& expected) {
  const auto* const words = reinterpret_cast<const int*>(&got);
  const auto* const right = reinterpret_cast<const int*>(&expected);
  for (size_t word = 0; word < sizeof(Answers) / sizeof(int); ++word) {
    if (words[word] == right[word]) continue;
    return "word " + std::to_string(word) + " is " + std::to_string(words[word]) + ", not " +
           std::to_string(right[word]);
  }
  return "";
}

// A group of each thread, as a function of the thread and the number of threads.
struct Grouping {
  Members members;
  unsigned meta_rank, meta_size;
};

template <class GroupOf>
void check_groups(const std::string& name, const Outcome& outcome, const std::vector<Answers>& out,
                  GroupOf group_of) {
  std::string wrong = outcome.description;
  for (unsigned thread = 0; thread < out.size() && wrong.empty(); ++thread) {
    const Grouping grouping = group_of(thread);
    if (grouping.members.threads.empty()) continue;
    unsigned rank = 0;
    while (grouping.members.threads[rank] != thread) ++rank;
    const Answers expected = expect(grouping.members, rank, grouping.meta_rank, grouping.meta_size);
    wrong = difference(out[thread], expected);
    if (!wrong.empty()) wrong = "thread " + std::to_string(thread) + ": " + wrong;
  }
  check(wrong.empty(), name + ", " + std::to_string(out.size()) + " threads", wrong);
}

// The threads of the caller's warp for which `belongs` holds.
template <class Belongs>
std::vector<unsigned> warp_members(unsigned thread, unsigned threads, Belongs belongs) {
  std::vector<unsigned> members;
  for (unsigned other = thread / 32 * 32; other < threads && other < thread / 32 * 32 + 32; ++other)
    if (belongs(other)) members.push_back(other);
  return members;
}

}  // namespace execution
