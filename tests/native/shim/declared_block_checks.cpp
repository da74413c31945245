// Blocks that the owner of memory declares, and what may then be touched; pressure.
#include <string>

#include "suites.h"
#include "virtual_range.h"

namespace {

constexpr int32_t invalid_value = 1;
enum Answer { unknown = 0, undivided = 1, live = 2, dead = 3 };

int32_t declare(int device, double address, double bytes, double is_live) {
  set_operands(device, 0, {address, bytes, is_live});
  return gs.gs_memory_declare();
}

int32_t touch(int32_t stream, double address, double bytes) {
  return set_bytes(0, stream, address, 1, bytes);
}

void check_answer(double address, Answer expected, const std::string& what) {
  if (gs.declared_block == nullptr) return;
  double block[2] = {};
  check_equal(gs.declared_block(address, block), expected, "a checker is told of " + what);
}

void check_declaring(int32_t stream, double base) {
  check_status(touch(stream, base, 4096), 0, "undivided memory can be touched");
  check_answer(base, undivided, "undivided memory");
  check_status(declare(0, base, 100, 0), invalid_value, "ending a block that never was");
  check_status(touch(stream, base, 4096), 0, "does not divide the memory");
  check_status(declare(0, base + 256, 100, 1), 0, "declaring a block live");
  check_status(touch(stream, base + 256, 100), 0, "touching all of it");
  check_status(touch(stream, base + 300, 56), 0, "touching its end");
  check_status(touch(stream, base + 256, 101), invalid_value, "touching a byte more");
  check_status(touch(stream, base + 255, 2), invalid_value, "touching a byte before");
  check_status(touch(stream, base, 4096), invalid_value, "touching all of the allocation");
  check_answer(base + 355, live, "the last byte of a live block");
  check_answer(base + 356, dead, "the byte behind it");
  check_answer(base, dead, "the byte before it");

  for (const double first : {base + 256, base + 355, base + 200}) {
    check_status(declare(0, first, 57, 1), invalid_value, "declaring a block over a live one");
  }
  check_status(declare(0, base + 200, 56, 1), 0, "declaring one that ends where it begins");
  check_status(declare(0, base + 356, 1, 1), 0, "declaring one that begins where it ends");
  check_status(touch(stream, base + 200, 60), invalid_value, "touching two live blocks at once");
  set_operands(0, stream, {base + 200, base + 256, 56});
  check_status(gs.gs_copy_device(), 0, "copying from one to the other");
  set_operands(0, stream, {base + 200, 8, base + 256, 16, 8, 7});
  check_status(gs.gs_copy_device_2d(), invalid_value, "rows that reach past their block");
  set_operands(0, stream, {base + 200, 8, base + 256, 16, 8, 6});
  check_status(gs.gs_copy_device_2d(), 0, "rows that do not");

  check_status(declare(0, base + 256, 99, 0), invalid_value, "ending part of a block");
  check_status(declare(0, base + 257, 99, 0), invalid_value, "ending the inside of a block");
  check_status(declare(0, base + 256, 100, 0), 0, "ending it");
  check_status(declare(0, base + 256, 100, 0), invalid_value, "ending it twice");
  check_status(touch(stream, base + 256, 1), invalid_value, "touching it after its end");
  check_status(declare(0, base + 200, 56, 0), 0, "ending the second");
  check_status(declare(0, base + 356, 1, 0), 0, "ending the last");
  check_status(touch(stream, base, 1), invalid_value, "without live blocks nothing can be touched");
}

void check_wrong_declarations(double base) {
  check_status(declare(0, base, 0, 1), GS_ERROR_ARGUMENT, "declaring no bytes");
  check_status(declare(0, base, 1, 2), GS_ERROR_ARGUMENT, "declaring what is neither 0 nor 1");
  check_status(declare(0, base, 4097, 1), invalid_value, "declaring more than the allocation");
  check_status(declare(0, base - 1, 2, 1), invalid_value, "declaring what begins before it");
  check_status(declare(0, 4096, 1, 1), invalid_value, "declaring a wild address");
  check_status(declare(1 << 20, base, 1, 1), invalid_value, "declaring on another device");
  check_status(declare(0, base, 9007199254740991.0, 1), GS_ERROR_ARGUMENT,
               "declaring more bytes than there are addresses");
}

void check_allocation() {
  const int32_t stream = make_stream(0);
  double base = allocate(0, 4096);
  check_wrong_declarations(base);
  check_declaring(stream, base);
  check_status(declare(0, base, 4096, 1), 0, "declaring all of it one block");
  gs.gs_call_fail(call_id("cudaFree"), 1, 999);
  check_status(free_memory(0, base), 999, "freeing that fails");
  check_status(declare(0, base + 1, 1, 1), invalid_value, "leaves what was declared");
  check_status(free_memory(0, base), 0, "freeing it with a live block");
  check_answer(base, unknown, "freed memory");
  base = allocate(0, 4096);
  check_status(touch(stream, base, 4096), 0, "memory allocated anew is undivided");
  check_status(free_memory(0, base), 0, "and freed");
  if (gs.foreign_allocate != nullptr) {
    const double foreign = gs.foreign_allocate(0, 4096);
    check_status(declare(0, foreign, 1, 1), invalid_value, "declaring another library's memory");
    check_answer(foreign, unknown, "another library's memory");
    gs.foreign_free(foreign);
  }
  gs.gs_stream_destroy(stream);
}

void check_mapping() {
  const double page = granularity_of(0);
  if (page == 0) {
    skip("declared blocks of mappings: the device has no virtual memory");
    return;
  }
  const int32_t stream = make_stream(0);
  const double base = reserve(0, 4 * page);
  check_status(declare(0, base, 1, 1), invalid_value, "declaring addresses without memory");
  check_answer(base, unknown, "addresses without memory");
  map(0, base, 3 * page, page);
  check_answer(base, undivided, "a mapping");
  check_status(declare(0, base + page - 8, 16, 1), 0, "declaring a block of two pieces");
  check_status(declare(0, base + 2 * page, page, 1), 0, "declaring a piece");
  check_status(declare(0, base + 3 * page - 1, 2, 1), invalid_value, "declaring into a gap");
  check_status(touch(stream, base + page - 8, 16), 0, "touching across pieces");
  check_status(touch(stream, base, 1), invalid_value, "touching what was not declared");
  check_status(unmap(0, base, page), 0, "unmapping a piece under a block");
  check_status(touch(stream, base + page, 1), invalid_value, "ends all of that block");
  check_status(touch(stream, base + 2 * page, page), 0, "but no other");
  check_status(map(0, base, page, page), 0, "mapping there again");
  check_status(touch(stream, base, 1), invalid_value, "gives memory that is still divided");
  check_status(unmap(0, base, 3 * page), 0, "unmapping everything");
  map(0, base, page, page);
  check_status(touch(stream, base, page), 0, "ends all declarations");
  unmap(0, base, page);
  check_status(gs.gs_virtual_release(0, base), 0, "the reservation is released");
  gs.gs_stream_destroy(stream);
}

double pressure_in_block() {
  block.result[GS_RESULT_SLOTS - 1] = -1;
  set_operands(0, 0, {});
  gs.gs_memory_free();  // fails, as any hot call does
  return block.result[GS_RESULT_SLOTS - 1];
}

}  // namespace

void check_declared_blocks() {
  const Tally before = tally();
  check_allocation();
  check_mapping();
  check(tally() == before, "declared blocks leave nothing behind");
}

void check_pressure() {
  double count = -1;
  const double sum = pressure_in_block();
  check_status(gs.gs_memory_press(0, 0, &count), 0, "reading a device's pressure");
  const double start = count;
  check_equal(pressure_in_block(), sum, "presses nobody");
  check_status(gs.gs_memory_press(0, 1, &count), 0, "pressing");
  check_equal(count, start + 1, "adds one");
  check_equal(pressure_in_block(), sum + 1, "and every hot call tells");
  gs.gs_memory_press(0, 0, &count);
  check_equal(count, start + 1, "it stays");
  check_status(gs.gs_memory_press(0, 2, &count), GS_ERROR_ARGUMENT, "raising by 2");
  check_status(gs.gs_memory_press(0, -1, &count), GS_ERROR_ARGUMENT, "raising by -1");
  check_status(gs.gs_memory_press(0, 1, nullptr), GS_ERROR_ARGUMENT, "counting to nowhere");
  check_status(gs.gs_memory_press(1 << 20, 1, &count), GS_ERROR_DEVICE, "pressing no device");
  check_status(gs.gs_memory_press(-1, 1, &count), GS_ERROR_DEVICE, "pressing device -1");
  check_equal(pressure_in_block(), sum + 1, "presses nobody");
}
