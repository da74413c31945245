// Events by handle.
#ifndef GRIDSTRIDE_EVENT_H
#define GRIDSTRIDE_EVENT_H

#include "shim/device/device.h"
#include "shim/handle_table.h"

namespace gridstride {

struct Event {
  int device = no_device;
  cudaEvent_t event = nullptr;

  void end() const;
};

using EventUse = HandleTable<Event>::Use;

extern HandleTable<Event> events;

}  // namespace gridstride

#endif
