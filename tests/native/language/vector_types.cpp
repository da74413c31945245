// Vector types: the layout that CUDA documents, on which kernel arguments and vector accesses rely.
#include <gridstride/vector_types.h>

#include <type_traits>

#include "check.h"
#include "suites.h"

namespace {

template <class Vector, class Element>
void check_layout(Check& check, const char* name, std::size_t elements, std::size_t alignment) {
  check.holds(sizeof(Vector) == elements * sizeof(Element), name, "size");
  check.holds(alignof(Vector) == alignment, name, "alignment");
  check.holds(std::is_trivial<Vector>::value, name, "trivial");
  check.holds(std::is_aggregate<Vector>::value, name, "aggregate");
  check.holds(std::is_same<decltype(Vector::x), Element>::value, name, "element");
}

#define GS_CHECK_FAMILY(name, element, alignment2, alignment4)            \
  check_layout<name##1, element>(layout, #name "1", 1, alignof(element)); \
  check_layout<name##2, element>(layout, #name "2", 2, alignment2);       \
  check_layout<name##3, element>(layout, #name "3", 3, alignof(element)); \
  check_layout<name##4, element>(layout, #name "4", 4, alignment4);

void check_layouts() {
  Check layout("vector types have CUDA's sizes, alignments and element types");
  GS_CHECK_FAMILY(char, signed char, 2, 4)
  GS_CHECK_FAMILY(uchar, unsigned char, 2, 4)
  GS_CHECK_FAMILY(short, short, 4, 8)
  GS_CHECK_FAMILY(ushort, unsigned short, 4, 8)
  GS_CHECK_FAMILY(int, int, 8, 16)
  GS_CHECK_FAMILY(uint, unsigned int, 8, 16)
  GS_CHECK_FAMILY(long, long, 16, 16)
  GS_CHECK_FAMILY(ulong, unsigned long, 16, 16)
  GS_CHECK_FAMILY(longlong, long long, 16, 16)
  GS_CHECK_FAMILY(ulonglong, unsigned long long, 16, 16)
  GS_CHECK_FAMILY(float, float, 8, 16)
  GS_CHECK_FAMILY(double, double, 16, 16)
  check_layout<longlong4_32a, long long>(layout, "longlong4_32a", 4, 32);
  check_layout<ulonglong4_32a, unsigned long long>(layout, "ulonglong4_32a", 4, 32);
  check_layout<long4_32a, long>(layout, "long4_32a", 4, 32);
  check_layout<ulong4_32a, unsigned long>(layout, "ulong4_32a", 4, 32);
  check_layout<double4_16a, double>(layout, "double4_16a", 4, 16);
  check_layout<double4_32a, double>(layout, "double4_32a", 4, 32);
}

void check_construction() {
  Check construction("make_ functions, dim3 and uint3 keep their elements in order");
  constexpr float4 four = make_float4(1, 2, 3, 4);
  construction.holds(four.x == 1 && four.y == 2 && four.z == 3 && four.w == 4, "make_float4");
  constexpr char3 three = make_char3(-128, 0, 127);
  construction.holds(three.x == -128 && three.y == 0 && three.z == 127, "make_char3");
  constexpr dim3 partial(7, 11);
  construction.holds(partial.x == 7 && partial.y == 11 && partial.z == 1, "dim3(7, 11)");
  constexpr dim3 whole;
  construction.holds(whole.x == 1 && whole.y == 1 && whole.z == 1, "dim3()");
  constexpr uint3 extents = partial;
  constexpr dim3 again = extents;
  construction.holds(again.x == 7 && again.y == 11 && again.z == 1, "dim3 to uint3 and back");
  union {
    float4 vector;
    float elements[4];
  } shared_storage = {{1, 2, 3, 4}};
  construction.holds(sizeof shared_storage == 16, "float4 in a union");
}

}  // namespace

void check_vector_types() {
  check_layouts();
  check_construction();
}
