// <stdio.h> for kernels: printf() of user files is CUDA's.
#include_next <stdio.h>

#include "gridstride/kernel_printf.h"
