// clock() in user files. Without an include guard: <ctime> undefines the name.
#if defined(GS_HOST_USER_SOURCE)

// Declared before the macro, which takes no `void`.
#include <time.h>

#include "collectives.h"

#if !defined(GS_HOST_KERNEL_CLOCK)
#define GS_HOST_KERNEL_CLOCK
// The multiprocessor's cycles. An overload is impossible: the C library's function has no
// parameters either.
inline clock_t gs_host_cycles() { return static_cast<clock_t>(clock64()); }

// For std::clock.
namespace std {
using ::gs_host_cycles;
}
#endif

#undef clock
#define clock() gs_host_cycles()

#endif
