// What the two libraries do not have in common: the host device can be configured and can say
// what a fault was.
#ifndef GRIDSTRIDE_BACKEND_H
#define GRIDSTRIDE_BACKEND_H

#include <cstdint>
#include <string>

namespace gridstride {

// "cuda" or "host".
const char* library_kind();

// Throws GS_ERROR_UNSUPPORTED where devices are real.
void set_topology(const double* records, int32_t count);

// Empty where nothing is known.
std::string fault_description(int device);

}  // namespace gridstride

#endif
