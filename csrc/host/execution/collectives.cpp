// Barriers and warp collectives: arriving, completing, and what can be wrong with them.
#include "gridstride/warp_exchange.h"
#include "host/execution/scheduler.h"

namespace gridstride::host {
namespace {

void complete(BlockState& block, uint32_t warp_number, Rendezvous& rendezvous, uint32_t runs_on) {
  Warp& warp = block.warps[warp_number];
  const Rendezvous done = rendezvous;
  // The order of rendezvous has no meaning: the last one takes the free place.
  rendezvous = warp.rendezvous[--warp.rendezvous_count];
  done.operation->complete(warp.lanes, done.arrived);
  make_ready(block, warp_number, done.arrived & ~runs_on);
}

[[noreturn]] __attribute__((noinline)) void refuse_foreign_lane(BlockState& block, uint32_t mask,
                                                                const CollectiveOperation& asked) {
  raise_fault(block, cudaErrorLaunchFailure,
              "%s was called with mask 0x%08x, which does not name the calling lane %u", asked.name,
              mask, lane_of(block.current_thread));
}

[[noreturn]] __attribute__((noinline)) void refuse_mixture(BlockState& block,
                                                           const Rendezvous& waiting,
                                                           const CollectiveOperation& asked) {
  raise_fault(block, cudaErrorLaunchFailure,
              "%s was called with mask 0x%08x while lanes 0x%08x of the warp wait in %s with the "
              "same mask",
              asked.name, waiting.mask, waiting.arrived, waiting.operation->name);
}

// The rendezvous of a mask: the one that lanes wait at, or a new one; null when the caller is to
// decline.
Rendezvous* find_rendezvous(BlockState& block, Warp& warp, uint32_t mask,
                            const CollectiveOperation& operation) {
  for (uint32_t i = 0; i < warp.rendezvous_count; ++i) {
    Rendezvous& waiting = warp.rendezvous[i];
    if (waiting.mask != mask) continue;
    if (__builtin_expect(waiting.operation == &operation, 1)) return &waiting;
    if (operation.may_decline) return nullptr;
    if (!waiting.operation->may_decline) refuse_mixture(block, waiting, operation);
    for_each_lane(waiting.arrived, [&](uint32_t lane) { warp.lanes[lane].declined = 1; });
    make_ready(block, warp_of(block.current_thread), waiting.arrived);
    waiting = warp.rendezvous[--warp.rendezvous_count];
    break;
  }
  Rendezvous& fresh = warp.rendezvous[warp.rendezvous_count++];
  fresh = {mask, 0, &operation};
  return &fresh;
}

}  // namespace

void complete_without_exited(BlockState& block, uint32_t warp_number) {
  Warp& warp = block.warps[warp_number];
  uint32_t i = 0;
  while (i < warp.rendezvous_count) {
    Rendezvous& waiting = warp.rendezvous[i];
    if (waiting.arrived == (waiting.mask & warp.alive)) {
      complete(block, warp_number, waiting, 0);  // and another one is at i now
    } else {
      ++i;
    }
  }
}

void report_deadlock(BlockState& block) {
  uint32_t at_barrier = 0;
  const Rendezvous* waiting = nullptr;
  uint32_t waiting_warp = 0;
  const uint32_t warps = warp_of(block.thread_count - 1) + 1;
  for (uint32_t number = 0; number < warps; ++number) {
    const Warp& warp = block.warps[number];
    at_barrier += static_cast<uint32_t>(__builtin_popcount(warp.at_barrier | warp.standing));
    if (waiting != nullptr || warp.rendezvous_count == 0) continue;
    waiting = &warp.rendezvous[0];
    waiting_warp = number;
  }
  // At least one rendezvous exists: a barrier at which all living threads wait has completed.
  const uint32_t missing = waiting->mask & block.warps[waiting_warp].alive & ~waiting->arrived;
  raise_fault(block, cudaErrorLaunchFailure,
              "deadlock, no thread of the block can continue: %u of %u living threads wait at "
              "__syncthreads, and lanes 0x%08x of warp %u wait in %s with mask 0x%08x for lanes "
              "0x%08x",
              at_barrier, block.alive_count, waiting->arrived, waiting_warp,
              waiting->operation->name, waiting->mask, missing);
}

}  // namespace gridstride::host

using gridstride::host::Arrival;
using gridstride::host::BlockState;
using gridstride::host::LaneSlot;
using gridstride::host::Rendezvous;
using gridstride::host::Warp;

GS_HOST_API Arrival gs_host_barrier_arrive(uint32_t predicate) {
  BlockState& block = gridstride::host::calling_block();
  if (__builtin_expect(block.plain, 0)) gridstride::host::leave_plain(block);
  block.barrier_true_arrived += predicate;
  if (++block.barrier_arrived == block.alive_count) {
    gridstride::host::release_barrier(block);
    return {nullptr, nullptr};
  }
  const uint32_t lane = gridstride::host::lane_of(block.current_thread);
  Warp& warp = block.warps[gridstride::host::warp_of(block.current_thread)];
  warp.at_barrier |= 1u << lane;
  LaneSlot* slot = &warp.lanes[lane];
  return {gridstride::host::choose_next(block), slot};
}

GS_HOST_API Arrival gs_host_barriers_arrive(uint32_t rounds) {
  BlockState& block = gridstride::host::calling_block();
  if (block.plain) gridstride::host::leave_plain(block);
  const uint32_t until = block.barriers_passed + rounds;
  if (block.standing_count != 0 && block.standing_until != until) return {nullptr, nullptr};
  const uint32_t thread = block.current_thread;
  const uint32_t lane = gridstride::host::lane_of(thread);
  Warp& warp = block.warps[gridstride::host::warp_of(thread)];
  block.standing_until = until;
  ++block.standing_count;
  warp.standing |= 1u << lane;
  if (++block.barrier_arrived == block.alive_count) gridstride::host::release_barrier(block);
  void* next = gridstride::host::choose_next(block);
  return {block.current_thread == thread ? nullptr : next, &warp.lanes[lane]};
}

GS_HOST_API Arrival
gs_host_collective_arrive(uint32_t mask, uint64_t value, uint32_t source,
                          const gridstride::host::CollectiveOperation* operation) {
  BlockState& block = gridstride::host::calling_block();
  if (__builtin_expect(block.plain, 0)) gridstride::host::leave_plain(block);
  const uint32_t warp_number = gridstride::host::warp_of(block.current_thread);
  const uint32_t lane = gridstride::host::lane_of(block.current_thread);
  Warp& warp = block.warps[warp_number];
  LaneSlot* slot = &warp.lanes[lane];
  slot->value = value;
  slot->source = source;
  slot->declined = 0;
  if (__builtin_expect((mask >> lane & 1) == 0, 0)) {
    gridstride::host::refuse_foreign_lane(block, mask, *operation);
  }
  Rendezvous* rendezvous = gridstride::host::find_rendezvous(block, warp, mask, *operation);
  if (__builtin_expect(rendezvous == nullptr, 0)) {
    slot->declined = 1;
    return {nullptr, slot};
  }
  rendezvous->arrived |= 1u << lane;
  if (rendezvous->arrived == (mask & warp.alive)) {
    gridstride::host::complete(block, warp_number, *rendezvous, 1u << lane);
    return {nullptr, slot};
  }
  return {gridstride::host::choose_next(block), slot};
}

// ---- convergence: the lanes that run together ---------------------------------------------------

using gridstride::host::BlockState;
using gridstride::host::LaneSlot;
using gridstride::host::Warp;

// A lane in a query is between collectives, and its slot is free to hold the place of the query:
// the line, and until there is a result in its stead the call. The first lane to run again answers
// for all that queried in the same place.
GS_HOST_API uint32_t gs_host_converge(uint64_t place) {
  BlockState& block = gridstride::host::calling_block();
  if (block.plain) gridstride::host::leave_plain(block);
  const uint32_t lane = gridstride::host::lane_of(block.current_thread);
  Warp& warp = block.warps[gridstride::host::warp_of(block.current_thread)];
  LaneSlot& own = warp.lanes[lane];
  const auto call = reinterpret_cast<uint64_t>(__builtin_return_address(0));
  own.value = place;
  own.result = call;
  warp.converging |= 1u << lane;
  gs_host_yield();
  if ((warp.converging >> lane & 1) == 0) return static_cast<uint32_t>(own.result);
  uint32_t together = 0;
  gridstride::host::for_each_lane(warp.converging, [&](uint32_t other) {
    const LaneSlot& asked = warp.lanes[other];
    if (asked.value == place && asked.result == call) together |= 1u << other;
  });
  gridstride::host::for_each_lane(together,
                                  [&](uint32_t other) { warp.lanes[other].result = together; });
  warp.converging &= ~together;
  return together;
}
