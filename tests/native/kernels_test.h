// The parts of the kernels' test program, one per family.
#pragma once

namespace kernels_test {

void test_declarations();
void test_faults();  // first: it needs a process that has not used the runtime
void test_elementwise();
void test_reductions();
void test_time();

}  // namespace kernels_test
