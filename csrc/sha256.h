// SHA-256, as FIPS 180-4 defines it.
#ifndef GRIDSTRIDE_SHA256_H
#define GRIDSTRIDE_SHA256_H

#include <cstddef>

namespace gridstride {

constexpr size_t sha256_bytes = 32;

void sha256(const unsigned char* message, size_t bytes, unsigned char* digest);

}  // namespace gridstride

#endif
