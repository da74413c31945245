// A module of another version of the host device's headers.
#include <gridstride/module_table.h>

using gridstride::host::kernel_contract;

const gridstride::host::ModuleTable gs_host_module_table = {kernel_contract + 1, 0, nullptr,
                                                            &gs_host_finish_thread};
