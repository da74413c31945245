// Pi by darts, a price by random walks: a generator as a structure, double precision, lambdas and
// functors as template arguments, a counter in device memory.
#include <cuda_runtime.h>
#include <math_constants.h>

#include <iostream>

class Generator {
 public:
  __device__ explicit Generator(unsigned long long seed)
      : state_(seed * 6364136223846793005ULL + 1) {}

  // Uniform in (0, 1].
  __device__ double uniform() {
    state_ ^= state_ << 13;
    state_ ^= state_ >> 7;
    state_ ^= state_ << 17;
    return ((state_ >> 11) + 1) * 0x1p-53;
  }
  __device__ double normal() {
    const double radius = sqrt(-2.0 * log(uniform()));
    return radius * cospi(2.0 * uniform());
  }

 private:
  unsigned long long state_;
};

__device__ unsigned long long darts_inside;

template <class Experiment>
__device__ double mean(int samples, unsigned seed, Experiment experiment) {
  Generator generator(seed + 1);
  double sum = 0.0;
  for (int i = 0; i < samples; i++) sum += experiment(generator);
  return sum / samples;
}

__global__ void throw_darts(int samples, double* pi) {
  const unsigned thread = blockIdx.x * blockDim.x + threadIdx.x;
  const double inside = mean(samples, thread, [](Generator& generator) {
    const double x = generator.uniform(), y = generator.uniform();
    return hypot(x, y) <= 1.0 ? 1.0 : 0.0;
  });
  atomicAdd(&darts_inside, __double2ull_rn(inside * samples));
  atomicAdd(pi, 4.0 * inside / (gridDim.x * blockDim.x));
}

struct Option {
  double spot, strike, rate, volatility, years;
};

__global__ void price(Option option, int samples, double* prices) {
  const unsigned thread = blockIdx.x * blockDim.x + threadIdx.x;
  const double drift = (option.rate - 0.5 * option.volatility * option.volatility) * option.years;
  const double spread = option.volatility * sqrt(option.years);
  const double payoff = mean(samples, thread, [=](Generator& generator) {
    return fmax(option.spot * exp(drift + spread * generator.normal()) - option.strike, 0.0);
  });
  prices[thread] = payoff * exp(-option.rate * option.years);
}

// The same in closed form.
__global__ void price_exactly(const Option* options, int count, double* prices) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= count) return;
  const Option option = options[i];
  const double spread = option.volatility * sqrt(option.years);
  const double up = (log(option.spot / option.strike) + option.rate * option.years) / spread;
  const double discounted = option.strike * exp(-option.rate * option.years);
  prices[i] = option.spot * normcdf(up + 0.5 * spread) - discounted * normcdf(up - 0.5 * spread);
}

int main() {
  double* pi = nullptr;
  cudaMallocManaged(&pi, sizeof(double));
  *pi = 0.0;
  throw_darts<<<64, 128>>>(10000, pi);
  cudaDeviceSynchronize();
  std::cout << "pi is about " << *pi << ", off by " << *pi - CUDART_PI << std::endl;
  cudaFree(pi);
}
