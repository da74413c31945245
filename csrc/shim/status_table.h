// The statuses below zero: their names and what they mean.
#ifndef GRIDSTRIDE_STATUS_TABLE_H
#define GRIDSTRIDE_STATUS_TABLE_H

#include "gridstride.h"

namespace gridstride {

struct StatusText {
  int32_t status;
  const char* name;
  const char* text;
};

#define GS_STATUS(name, text) {name, #name, text}
constexpr StatusText own_statuses[] = {
    GS_STATUS(GS_ERROR_ARGUMENT, "a value is not an integer of the allowed range"),
    GS_STATUS(GS_ERROR_HANDLE, "a handle is stale, forged or of another kind"),
    GS_STATUS(GS_ERROR_DEVICE, "no device has this ordinal"),
    GS_STATUS(GS_ERROR_NO_BLOCK, "this thread has registered no command block"),
    GS_STATUS(GS_ERROR_ALIGNMENT, "an address or a block is not aligned as it must be"),
    GS_STATUS(GS_ERROR_OVERLAP, "source and destination of a copy overlap"),
    GS_STATUS(GS_ERROR_UNSUPPORTED, "this library or device has no such capability"),
    GS_STATUS(GS_ERROR_CAPACITY, "an out-buffer is too small or a table is full"),
    GS_STATUS(GS_ERROR_NOT_FOUND, "no kernel, call or function has this name"),
    GS_STATUS(GS_ERROR_HOST_MEMORY, "the host has no memory left for the request"),
    GS_STATUS(GS_ERROR_FOREIGN, "a handle belongs to another device than the call names"),
    GS_STATUS(GS_ERROR_CONFIGURED, "the host topology is already set differently"),
    GS_STATUS(GS_ERROR_SYSTEM, "an operating-system call failed"),
    GS_STATUS(GS_ERROR_INTERNAL, "a defect of this library"),
    GS_STATUS(GS_ERROR_LAUNCH, "arguments disagree with the kernel: their count or sizes"),
    GS_STATUS(GS_ERROR_IMAGE, "machine code of another kind, version or device"),
};
#undef GS_STATUS

}  // namespace gridstride

#endif
