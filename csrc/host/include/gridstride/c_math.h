// <math.h> with the overloads for float that C++ adds, in half the time.
//
// libstdc++'s brings along the special functions of C++17 (std::beta and its like), 60 ms of
// compilation for what no kernel may call: nvcc knows them in host code only.
#ifndef GRIDSTRIDE_HOST_C_MATH_H
#define GRIDSTRIDE_HOST_C_MATH_H

// libstdc++'s settings, or another library's.
#include <cstddef>

#if defined(_GLIBCXX_USE_STD_SPEC_FUNCS)
#pragma push_macro("_GLIBCXX_USE_STD_SPEC_FUNCS")
#undef _GLIBCXX_USE_STD_SPEC_FUNCS
#include <math.h>
#pragma pop_macro("_GLIBCXX_USE_STD_SPEC_FUNCS")
#else
#include <math.h>
#endif

#endif
