// A module of another version of the host device's headers.
#include <gridstride/module_table.h>

const gridstride::host::ModuleTable gs_host_module_table = {gridstride::host::kernel_contract + 1, 0,
                                                            nullptr, &gs_host_finish_thread};
