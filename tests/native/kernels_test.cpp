// The built-in kernels, launched by name through the runtime: on the host device, and the same
// program built by nvcc on a GPU. One line per claim; the exit status is 1 when one fails.
#include "kernels_test.h"

#include <algorithm>

#include "kernels_launch.h"

namespace kernels_test {

// The contract for launches by name: one kernel of each family.
void test_declarations() {
  Check check("kernels are declared as their callers expect");
  const char* const declarations[] = {
      "add_bfloat16(const bfloat16*,const bfloat16*,bfloat16*,unsigned long long)",
      "axpy_float16(float,const half*,half*,unsigned long long)",
      "axpy_float64(double,const double*,double*,unsigned long long)",
      "empty()",
      "fault_assert(int)",
      "fault_deadlock()",
      "fault_divide_by_zero(int*,int)",
      "fault_null_write(float*)",
      "fault_out_of_bounds(float*,unsigned long long)",
      "fault_stack_overflow(int*,int)",
      "fault_trap()",
      "fill_uint16(unsigned short*,unsigned short,unsigned long long)",
      "fill_uint64(unsigned long long*,unsigned long long,unsigned long long)",
      "fill_uint32(unsigned int*,unsigned int,unsigned long long)",
      "fill_uint8(unsigned char*,unsigned char,unsigned long long)",
      "histogram_global_int8(const signed char*,unsigned int*,unsigned int,double,double,"
      "unsigned long long)",
      "histogram_shared_float32(const float*,unsigned int*,unsigned int,unsigned int,double,"
      "double,unsigned long long)",
      "max_row_uint8(const unsigned char*,unsigned char*,long long,long long)",
      "min_row_int64(const long long*,long long*,long long,long long)",
      "moments_final_float32(const double*,unsigned int,double,float*)",
      "moments_partial_int16(const short*,double*,unsigned long long)",
      "multiply_uint16(const unsigned short*,const unsigned short*,unsigned short*,"
      "unsigned long long)",
      "multiply_int32(const int*,const int*,int*,unsigned long long)",
      "scale_float64(const double*,double*,double,double,unsigned long long)",
      "scale_bfloat16(const bfloat16*,bfloat16*,float,float,unsigned long long)",
      "spin_float32(float*,unsigned long long,float)",
      "real_sum_row_uint64(const unsigned long long*,double*,long long,long long,int,int)",
      "sum_final_bfloat16(const double*,bfloat16*,long long,double,int,int)",
      "sum_row_float16(const half*,double*,long long,long long,int,int)",
      "sum_row_uint64(const unsigned long long*,long long*,long long,long long,int,int)",
      "sum_row_uint32(const unsigned int*,long long*,long long,long long,int,int)",
  };
  for (const char* declaration : declarations) {
    const std::string text = declaration;
    const std::string found = kernel_named(text.substr(0, text.find('('))).declaration();
    check.that(found == text, "%s is not %s", found.c_str(), declaration);
  }
}

}  // namespace kernels_test

int main() {
  // A crash must not take the lines before it along.
  std::setvbuf(stdout, nullptr, _IOLBF, 0);
  kernels_test::test_faults();
  kernels_test::test_declarations();
  kernels_test::test_elementwise();
  kernels_test::test_reductions();
  kernels_test::test_time();
  if (kernels_test::failed_checks > 0) {
    std::printf("%d checks failed\n", kernels_test::failed_checks);
    return 1;
  }
  std::printf("all checks passed\n");
  return 0;
}
