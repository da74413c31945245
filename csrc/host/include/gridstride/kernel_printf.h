// printf() in user files. Without an include guard: <cstdio> undefines the name.
//
// It cannot be the C library's. That holds a lock while it reads the arguments, and a fault in one
// of them would leave the lock to a stack that never runs again; and it keeps the text in a buffer
// of its own, which is not flushed at the end of a launch.
#if defined(GS_HOST_USER_SOURCE)

#include "qualifiers.h"

// Writes the whole text at once, because texts of different threads must not mix. Returns the
// number of arguments of the format, as CUDA's printf() does, or -1 for a null format.
GS_HOST_API int gs_host_printf(const char* format, ...) __attribute__((format(printf, 1, 2)));

// For std::printf.
namespace std {
using ::gs_host_printf;
}

#undef printf
#define printf(...) gs_host_printf(__VA_ARGS__)

#endif
