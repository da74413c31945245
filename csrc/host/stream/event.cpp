// The table of live events.
#include "host/stream/event.h"

namespace gridstride::host {

LiveHandles<Event>& live_events() {
  static auto& handles = *new LiveHandles<Event>(0x10008);
  return handles;
}

}  // namespace gridstride::host
