// printf() in user files. Without an include guard: <cstdio> undefines the name.
//
// It cannot be the C library's. That holds a lock while it reads the arguments, and a fault in one
// of them would leave the lock to a stack that never runs again; and it keeps the text in a buffer
// of its own, which nobody empties when a launch is over.
#if defined(GS_HOST_USER_SOURCE)

#include "qualifiers.h"

// Writes the whole text at once, so that texts of different threads do not mix, and returns what
// CUDA's printf() does: the number of arguments that the format asks for, -1 where it is null.
GS_HOST_API int gs_host_printf(const char* format, ...) __attribute__((format(printf, 1, 2)));

// For std::printf.
namespace std {
using ::gs_host_printf;
}

#undef printf
#define printf(...) gs_host_printf(__VA_ARGS__)

#endif
