// Asks the two tables, then CUDA.
#include "shim/memory/memory_check.h"

#include "shim/memory/allocation_table.h"
#include "shim/call.h"
#include "shim/memory/mapping_table.h"

namespace gridstride {

namespace {

void require_foreign_memory(uint64_t address, int device) {
  cudaPointerAttributes attributes = {};
  GS_CALL(cudaPointerGetAttributes, &attributes,
          reinterpret_cast<const void*>(static_cast<uintptr_t>(address)));
  const bool on_device = attributes.type == cudaMemoryTypeDevice && attributes.device == device;
  require(on_device || attributes.type == cudaMemoryTypeManaged, cudaErrorInvalidValue);
}

}  // namespace

void require_device_memory(const MemoryRange& range, int device) {
  Membership membership = allocations().find(range, device);
  if (membership == Membership::outside) membership = mappings().find(range, device);
  if (__builtin_expect(membership == Membership::inside, 1)) return;
  require(membership == Membership::outside, cudaErrorInvalidValue);
  // The first and the last byte; CUDA's own check sees what lies between.
  require_foreign_memory(range.address, device);
  require_foreign_memory(range.end() - 1, device);
}

void declare_block(const MemoryRange& block, int device, bool is_live) {
  Membership membership = allocations().declare(block, device, is_live);
  if (membership == Membership::outside) membership = mappings().declare(block, device, is_live);
  require(membership == Membership::inside, cudaErrorInvalidValue);
}

BlockAt declared_block_at(uint64_t address, MemoryRange& block) {
  const BlockAt found = allocations().find_block(address, block);
  return found == BlockAt::unknown ? mappings().find_block(address, block) : found;
}

}  // namespace gridstride
