// The names and texts of CUDA's statuses, from the list that also defines their numbers.
#include "host/runtime/errors.h"

namespace gridstride::host {

const char* error_name(cudaError_t error) {
#define GRIDSTRIDE_NAME_CASE(name, number, text) \
  case name:                                     \
    return #name;
  switch (error) { GRIDSTRIDE_CUDA_ERROR_CODES(GRIDSTRIDE_NAME_CASE) }
#undef GRIDSTRIDE_NAME_CASE
  return "unrecognized error code";
}

const char* error_text(cudaError_t error) {
#define GRIDSTRIDE_TEXT_CASE(name, number, text) \
  case name:                                     \
    return text;
  switch (error) { GRIDSTRIDE_CUDA_ERROR_CODES(GRIDSTRIDE_TEXT_CASE) }
#undef GRIDSTRIDE_TEXT_CASE
  return "unrecognized error code";
}

}  // namespace gridstride::host
