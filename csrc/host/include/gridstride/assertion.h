// assert() in a kernel: a fault that names the thread, where the C library would end the process.
#ifndef GRIDSTRIDE_HOST_ASSERTION_H
#define GRIDSTRIDE_HOST_ASSERTION_H

#include "qualifiers.h"

// Outside of a kernel it prints and aborts, as the C library does.
GS_HOST_API __attribute__((noreturn)) void gs_host_assert_failed(const char* condition,
                                                                const char* file, int line,
                                                                const char* function);

#endif
