"""Launching a kernel of one's own in Triton, numba and cuda.core, and allocating in RMM.

Everywhere the kernel is y = a * x + y with the same four arguments and one block of 32 threads, by the
path that the library has for a kernel that is launched over and over. These libraries are timed on the
host only.
"""

from allocating import replacements
from numpy_like import AXPY

ELEMENTS = 32
OWN_AXPY = "axpy"


class Triton:
    on_gpu = True

    def __init__(self, values):
        global tl  # Triton's compiler looks names up in the module.
        import torch
        import triton
        import triton.language as tl

        if not torch.cuda.is_available():
            raise ImportError("it finds no GPU")
        self.triton, self.torch = triton, torch
        self.version = triton.__version__
        self.synchronize = torch.cuda.synchronize

    def launch(self, work):
        if work["kernel"] != OWN_AXPY:
            return None

        @self.triton.jit
        def axpy(a, x_pointer, y_pointer, n, BLOCK: tl.constexpr):
            at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
            mask = at < n
            result = a * tl.load(x_pointer + at, mask=mask) + tl.load(y_pointer + at, mask=mask)
            tl.store(y_pointer + at, result, mask=mask)

        x, y = (self.torch.full((ELEMENTS,), 1.0, device="cuda") for _ in range(2))
        grid = axpy[(1,)]
        return lambda: grid(2.0, x, y, ELEMENTS, BLOCK=ELEMENTS, num_warps=1)


class Numba:
    on_gpu = True

    def __init__(self, values):
        import numba
        from numba import cuda

        if not cuda.is_available():
            raise ImportError("it finds no GPU")
        self.cuda = cuda
        self.version = numba.__version__
        self.synchronize = cuda.synchronize

    def launch(self, work):
        if work["kernel"] != OWN_AXPY:
            return None
        import numpy

        cuda = self.cuda

        # Compiled for these types when it is declared: the types of arguments need not be found out.
        @cuda.jit("void(float32, float32[::1], float32[::1], uint64)")
        def axpy(a, x, y, n):
            i = cuda.grid(1)
            if i < n:
                y[i] = a * x[i] + y[i]

        x, y = (cuda.to_device(numpy.ones(ELEMENTS, dtype=numpy.float32)) for _ in range(2))
        configured = axpy[1, 32]
        return lambda: configured(2.0, x, y, ELEMENTS)


class CudaCore:
    on_gpu = True

    def __init__(self, values):
        import cuda.core

        try:
            from cuda import core
            from cuda.core import Device

            self.core = core
        except ImportError:  # before it was stable
            from cuda.core import experimental
            from cuda.core.experimental import Device

            self.core = experimental
        self.version = cuda.core.__version__
        self.device = Device()
        self.device.set_current()
        self.synchronize = self.device.sync

    def launch(self, work):
        if work["kernel"] != OWN_AXPY:
            return None
        import numpy

        core = self.core
        stream = self.device.create_stream()
        options = core.ProgramOptions(std="c++17", arch=f"sm_{self.device.arch}")
        program = core.Program(AXPY, code_type="c++", options=options)
        kernel = program.compile("cubin").get_kernel("axpy")
        x, y = (self.device.allocate(4 * ELEMENTS, stream=stream) for _ in range(2))
        config = core.LaunchConfig(grid=1, block=32)
        a, n = numpy.float32(2), numpy.uint64(ELEMENTS)
        return lambda: core.launch(stream, config, kernel, a, x, y, n)


class Rmm:
    on_gpu = True

    def __init__(self, values):
        import rmm

        try:
            memory = rmm.mr.CudaMemoryResource()
            pool = rmm.mr.PoolMemoryResource(memory, initial_pool_size=2**32)
            rmm.mr.set_current_device_resource(pool)
        except Exception as error:  # without a GPU it raises errors of several kinds
            raise ImportError(f"it finds no GPU with room for its pool: {error}") from error
        self.rmm = rmm
        self.version = rmm.__version__

    def synchronize(self):
        """Nothing is enqueued."""

    def allocate(self, work):
        return lambda: self.rmm.DeviceBuffer(size=work["bytes"])

    def replace(self, work):
        return replacements(lambda size: self.rmm.DeviceBuffer(size=size), work["largest"])
