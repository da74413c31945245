// The operations by which cooperative groups reduce and scan.
#ifndef GRIDSTRIDE_HOST_GROUP_OPERATORS_H
#define GRIDSTRIDE_HOST_GROUP_OPERATORS_H

namespace cooperative_groups {

// CUDA's names: less gives the smaller one, and greater the larger.
#define GS_GROUP_OPERATOR(name, expression)                                    \
  template <class T>                                                           \
  struct name {                                                                \
    T operator()(T left, T right) const { return static_cast<T>(expression); } \
  };
GS_GROUP_OPERATOR(plus, left + right)
GS_GROUP_OPERATOR(less, right < left ? right : left)
GS_GROUP_OPERATOR(greater, left < right ? right : left)
GS_GROUP_OPERATOR(bit_and, left& right)
GS_GROUP_OPERATOR(bit_or, left | right)
GS_GROUP_OPERATOR(bit_xor, left ^ right)
#undef GS_GROUP_OPERATOR

}  // namespace cooperative_groups

#endif
