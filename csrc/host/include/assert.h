// <assert.h> for kernels. Without an include guard, as the C standard wants: each inclusion defines
// assert anew according to NDEBUG.
#include_next <assert.h>

#include "gridstride/qualifiers.h"

// A failed assertion in a kernel is a fault that names the thread. Outside a kernel it prints and
// aborts, as in the C library.
GS_HOST_API __attribute__((noreturn)) void gs_host_assert_failed(const char* condition,
                                                                const char* file, int line,
                                                                const char* function);

#if !defined(NDEBUG)
#undef assert
#define assert(condition)        \
  (static_cast<bool>(condition)  \
       ? static_cast<void>(0)    \
       : gs_host_assert_failed(#condition, __FILE__, __LINE__, static_cast<const char*>(__func__)))
#endif
