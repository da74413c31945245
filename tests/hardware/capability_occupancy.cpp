// Prints, as JSON, what cuda_occupancy.h of the toolkit knows of each compute capability named on
// the command line, for capability_occupancy_test.ts.
#include <cuda_occupancy.h>

#include <cstdio>
#include <cstdlib>

namespace {

// The smallest capacity of the L1 cache's shared-memory part that holds so many bytes; 0 is the
// answer where none does, which no request of a byte or more can have.
size_t capacity_for(size_t bytes, const cudaOccDeviceProp& properties) {
  return cudaOccAlignUpShmemSizeVoltaPlus(&bytes, &properties) == CUDA_OCC_SUCCESS ? bytes : 0;
}

void print_capacities(const cudaOccDeviceProp& properties) {
  size_t capacity = 0;
  cudaOccAlignUpShmemSizeVoltaPlus(&capacity, &properties);
  std::printf("\"sharedMemoryCapacities\":[%zu", capacity);
  while ((capacity = capacity_for(capacity + 1, properties)) != 0) std::printf(",%zu", capacity);
  std::printf("]");
}

int barriers_of(const cudaOccDeviceProp& properties, int blocks) {
  cudaOccFuncAttributes attributes;
  attributes.numBlockBarriers = 1;
  int limit = 0;
  cudaOccMaxBlocksPerSMBlockBarrierLimit(&limit, blocks, &properties, &attributes);
  return limit;
}

void print_capability(int major, int minor) {
  cudaOccDeviceProp properties;
  properties.computeMajor = major;
  properties.computeMinor = minor;
  int blocks = 0;
  int partitions = 0;
  int registers = 0;
  int shared = 0;
  cudaOccMaxBlocksPerMultiprocessor(&blocks, &properties);
  cudaOccSubPartitionsPerMultiprocessor(&partitions, &properties);
  cudaOccRegAllocationGranularity(&registers, &properties);
  cudaOccSMemAllocationGranularity(&shared, &properties);
  std::printf("\"%d.%d\":{\"maxBlocksPerMultiprocessor\":%d,", major, minor, blocks);
  std::printf("\"multiprocessorPartitions\":%d,", partitions);
  std::printf("\"registerAllocationUnit\":%d,", registers);
  std::printf("\"sharedMemoryAllocationUnit\":%d,", shared);
  std::printf("\"barriersPerMultiprocessor\":%d,", barriers_of(properties, blocks));
  print_capacities(properties);
  std::printf("}");
}

}  // namespace

int main(int count, char** arguments) {
  std::printf("{");
  for (int index = 1; index < count; ++index) {
    char* rest = nullptr;
    const int major = static_cast<int>(std::strtol(arguments[index], &rest, 10));
    if (index > 1) std::printf(",");
    print_capability(major, std::atoi(rest + 1));
  }
  std::printf("}\n");
  return 0;
}
