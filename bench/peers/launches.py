"""Launching a kernel of one's own in other libraries, as far as these can be imported.

Everywhere it is y = a * x + y with the same four arguments and one block of 32 threads: what is
timed is what the host takes to enqueue a launch, by the path that the library has for a kernel that
is launched over and over. PyTorch has no kernels of one's own without an extension: there it is the
eager operation that does the same. Prints what measurements.py says.
"""

from measurements import Measurements, print_peers

ELEMENTS = 32
AXPY = """
extern "C" __global__ void axpy(float a, const float* x, float* y, unsigned long long n) {
  const unsigned long long i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) y[i] = a * x[i] + y[i];
}
"""


def gpu_of_torch():
    import torch

    if not torch.cuda.is_available():
        raise ImportError("it finds no GPU")
    return torch, [torch.full((ELEMENTS,), 1.0, device="cuda") for _ in range(2)]


def measure_pytorch():
    torch, (x, y) = gpu_of_torch()
    times = Measurements(torch, torch.cuda.synchronize)
    times.enqueue("launch axpy", lambda: torch.add(y, x, alpha=2, out=y))
    return times


def measure_triton():
    global tl  # Triton's compiler looks names up in the module.
    import triton
    import triton.language as tl

    torch, (x, y) = gpu_of_torch()

    @triton.jit
    def axpy(a, x_pointer, y_pointer, n, BLOCK: tl.constexpr):
        at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
        mask = at < n
        result = a * tl.load(x_pointer + at, mask=mask) + tl.load(y_pointer + at, mask=mask)
        tl.store(y_pointer + at, result, mask=mask)

    times = Measurements(triton, torch.cuda.synchronize)
    grid = axpy[(1,)]
    times.enqueue("launch axpy", lambda: grid(2.0, x, y, ELEMENTS, BLOCK=ELEMENTS, num_warps=1))
    return times


def measure_numba():
    import numba
    import numpy
    from numba import cuda

    if not cuda.is_available():
        raise ImportError("it finds no GPU")

    # Compiled for these types when it is declared: the types of arguments need not be found out.
    @cuda.jit("void(float32, float32[::1], float32[::1], uint64)")
    def axpy(a, x, y, n):
        i = cuda.grid(1)
        if i < n:
            y[i] = a * x[i] + y[i]

    x, y = (cuda.to_device(numpy.ones(ELEMENTS, dtype=numpy.float32)) for _ in range(2))
    times = Measurements(numba, cuda.synchronize)
    configured = axpy[1, 32]
    times.enqueue("launch axpy", lambda: configured(2.0, x, y, ELEMENTS))
    return times


def measure_cupy():
    import cupy

    if not cupy.cuda.is_available():
        raise ImportError("it finds no GPU")
    x, y = (cupy.full(ELEMENTS, 1, dtype=cupy.float32) for _ in range(2))
    axpy = cupy.RawKernel(AXPY, "axpy")
    a, n = cupy.float32(2), cupy.uint64(ELEMENTS)
    times = Measurements(cupy, cupy.cuda.Device().synchronize)
    times.enqueue("launch axpy", lambda: axpy((1,), (32,), (a, x, y, n)))
    return times


def measure_cuda_core():
    import cuda.core as library
    import numpy

    try:
        from cuda.core import Device, LaunchConfig, Program, ProgramOptions, launch
    except ImportError:  # before it was stable
        from cuda.core.experimental import Device, LaunchConfig, Program, ProgramOptions, launch
    device = Device()
    device.set_current()
    stream = device.create_stream()
    options = ProgramOptions(std="c++17", arch=f"sm_{device.arch}")
    kernel = Program(AXPY, code_type="c++", options=options).compile("cubin").get_kernel("axpy")
    x, y = (device.allocate(4 * ELEMENTS, stream=stream) for _ in range(2))
    config = LaunchConfig(grid=1, block=32)
    a, n = numpy.float32(2), numpy.uint64(ELEMENTS)
    times = Measurements(library, device.sync)
    times.enqueue("launch axpy", lambda: launch(stream, config, kernel, a, x, y, n))
    return times


MEASURED = (
    ("PyTorch", measure_pytorch),
    ("Triton", measure_triton),
    ("numba", measure_numba),
    ("CuPy", measure_cupy),
    ("cuda.core", measure_cuda_core),
)

print_peers(MEASURED)
