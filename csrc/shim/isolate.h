// Isolates: every resource belongs to the isolate that made it, and is given back after its end.
#pragma once

#include "shim/stream/stream.h"

namespace gridstride {

// Remembers the running work of a stream that is about to be destroyed: the memory of the isolate
// is not given back before it is done.
void remember_work(const Stream& stream);

}  // namespace gridstride
