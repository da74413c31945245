// The calling thread's command block: checked operands in, results out.
#pragma once

#include <atomic>

#include "shim/guard.h"

namespace gridstride {

// The number of gs_memory_press calls for all devices. A double, because every hot call hands it to
// JavaScript; in a cache line of its own, which is seldom written.
alignas(64) inline std::atomic<double> memory_pressure{0};

// JavaScript owns the block's memory, and another isolate that holds it may write it at any time.
// Every slot is therefore read exactly once, through volatile, and checked after that.
class Operands {
 public:
  // The operands of the call that this thread is making. Writes the pressure counter to the block.
  static Operands of_thread() {
    gs_command_block* block = thread_state.block;
    require(block != nullptr, GS_ERROR_NO_BLOCK);
    const Operands operands(block);
    operands.set_result(pressure_slot, memory_pressure.load(std::memory_order_relaxed));
    return operands;
  }

  int device() const { return static_cast<int>(checked_integer(block_->device, largest_handle)); }

  int32_t stream() const { return as_handle(block_->stream); }

  int32_t handle(int operand) const { return as_handle(block_->operand[operand]); }

  uint64_t integer(int operand, uint64_t largest = largest_safe_integer) const {
    return checked_integer(block_->operand[operand], largest);
  }

  // As it stands in its slot, unchecked.
  double number(int operand) const { return block_->operand[operand]; }

  // A kernel argument as it stands in its slot: a number, or the raw bytes of one.
  double argument(int index) const { return block_->argument[index]; }

  void set_result(int index, double value) const { block_->result[index] = value; }

 private:
  static constexpr int pressure_slot = GS_RESULT_SLOTS - 1;

  explicit Operands(gs_command_block* block) : block_(block) {}

  static int32_t as_handle(double value) {
    return static_cast<int32_t>(checked_integer(value, largest_handle));
  }

  volatile gs_command_block* block_;
};

}  // namespace gridstride
