// The device that a call acts on, and the differences between the two libraries.
#pragma once

#include <cstdint>
#include <string>

#include "shim/call.h"

namespace gridstride {

// Every call that concerns a device begins with this. It does not query the current device first:
// another library may have made another context of the same device current, and only cudaSetDevice
// replaces that.
inline void make_current(int device) {
  thread_state.device = device;
  require(device >= 0, GS_ERROR_DEVICE);
  GS_CALL(cudaSetDevice, device);
}

// For calls that create no context: names the device in failures.
inline void concern(int device) {
  thread_state.device = device;
  require(device >= 0, GS_ERROR_DEVICE);
}

// The value of a cudaDeviceAttr, or of one that only the driver names; both number alike. Creates
// no context.
int device_attribute(int device, int attribute);

// "GPU-xxxxxxxx-xxxx-xxxx-xxxx-xxxxxxxxxxxx"; prefix is "GPU" or, for the management library's
// name of a part of a GPU, "MIG". Creates no context.
struct UuidText {
  char text[48];
};
UuidText uuid_text(int device, const char* prefix);

// "cuda" or "host".
const char* library_kind();

// Throws GS_ERROR_UNSUPPORTED where devices are real.
void set_topology(const double* records, int32_t count);

// Throws GS_ERROR_UNSUPPORTED where devices are real.
void set_time_limit(int device, double milliseconds);

// Empty where nothing is known.
std::string fault_description(int device);

}  // namespace gridstride
