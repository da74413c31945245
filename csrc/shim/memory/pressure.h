// How often somebody has asked for cached memory to be given back; see gs_memory_press.
#ifndef GRIDSTRIDE_PRESSURE_H
#define GRIDSTRIDE_PRESSURE_H

#include <atomic>

namespace gridstride {

// The sum over all devices. A double, as every hot call hands it to JavaScript; in a cache line
// that is seldom written.
alignas(64) inline std::atomic<double> memory_pressure{0};

}  // namespace gridstride

#endif
