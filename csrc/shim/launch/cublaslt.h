// Products of cuBLASLt.
#pragma once

#include <cstdint>

namespace gridstride {

// Forgets the products of an isolate that has ended.
void destroy_products(int32_t isolate);

}  // namespace gridstride
