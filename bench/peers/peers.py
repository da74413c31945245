"""The work of the benchmarks in PyTorch, CuPy and RMM, as far as these can be imported.

Prints what measurements.py says; the names of the work are those of bench/report/peers.ts. As
there, work that is enqueued is timed in bursts that fit the device's queue, and results go to
memory that is there already. Launches of one's own kernels are in launches.py.
"""

import random

from measurements import Measurements, print_peers

BUFFER_BYTES = 2**28
COPY_BYTES = 2**28
PAIRS = 1000
PAIR_SIZES = {"256 B": 256, "4 KiB": 2**12, "64 KiB": 2**16, "1 MiB": 2**20, "4 MiB": 2**22}
LIVE = 1000
LARGEST = {"1 MiB": 2**20, "8 MiB": 2**23}


class Replacements:
    """Blocks of random sizes, on a logarithmic scale, of which one after the other is replaced."""

    def __init__(self, allocate, largest):
        draw = random.Random(largest)
        self.allocate = allocate
        self.turn = 0
        self.sizes = [int(512 * (largest / 512) ** draw.random()) for _ in range(2**16)]
        self.order = [draw.randrange(LIVE) for _ in range(2**16)]
        self.live = [allocate(size) for size in self.sizes[:LIVE]]
        for _ in range(2**16):
            self.replace()

    def replace(self):
        turn = self.turn
        self.turn = turn + 1
        place = self.order[turn & 0xFFFF]
        self.live[place] = None
        self.live[place] = self.allocate(self.sizes[(turn + (turn >> 16) * 7) & 0xFFFF])


def measure_allocating(times, allocate):
    """Allocating and freeing: what `allocate` returns frees its memory when it goes."""
    for pair, size in PAIR_SIZES.items():
        times.enqueue(f"allocate {pair}", lambda: allocate(size), PAIRS)
    for largest, most in LARGEST.items():
        try:
            blocks = Replacements(allocate, most)
        except Exception as error:  # as in _measure
            times.skipped.append(f"{times.library.__name__}: replace up to {largest}: {error}")
            continue
        times.enqueue(f"replace up to {largest}", blocks.replace, PAIRS)


def measure_pytorch():
    import torch

    if not torch.cuda.is_available():
        raise ImportError("it finds no GPU")
    gpu = torch.device("cuda")
    times = Measurements(torch, torch.cuda.synchronize)
    enqueue, run = times.enqueue, times.run

    small = [torch.full((32,), 1.0, device=gpu) for _ in range(2)]
    enqueue("small axpy", lambda: torch.add(small[1], small[0], alpha=2, out=small[1]))
    measure_allocating(times, lambda size: torch.empty(size, dtype=torch.uint8, device=gpu))
    event = torch.cuda.Event()
    enqueue("record event", event.record)

    device_bytes = torch.zeros(COPY_BYTES, dtype=torch.uint8, device=gpu)
    array = torch.ones(COPY_BYTES, dtype=torch.uint8)
    pinned = torch.ones(COPY_BYTES, dtype=torch.uint8).pin_memory()
    run("copy from array", lambda: device_bytes.copy_(array), 1)
    run("copy to array", lambda: array.copy_(device_bytes), 1)
    run("copy from pinned", lambda: device_bytes.copy_(pinned, non_blocking=True), 1)
    run("copy to pinned", lambda: pinned.copy_(device_bytes, non_blocking=True), 1)

    def operands(dtype):
        pattern = torch.sin(torch.arange(4096, dtype=torch.float64, device=gpu)).to(dtype)
        elements = BUFFER_BYTES // pattern.element_size()
        return [pattern.repeat(elements // 4096) for _ in range(3)]

    x, y, z = operands(torch.float32)
    run("copy", lambda: z.copy_(x))
    run("fill float32", lambda: z.fill_(1))
    run("scale float32", lambda: torch.mul(x, 0.5, out=z))
    run("add float32", lambda: torch.add(x, y, out=z))
    run("multiply float32", lambda: torch.mul(x, y, out=z))
    one = torch.empty((), dtype=torch.float32, device=gpu)
    run("sum float32", lambda: torch.sum(x, dim=0, out=one))
    run("max float32", lambda: torch.amax(x, dim=0, out=one))
    run("moments float32", lambda: torch.var_mean(x))
    del x, y, z
    for name, dtype in (("float64", torch.float64), ("float16", torch.float16)):
        x, y, z = operands(dtype)
        total = torch.empty((), dtype=dtype, device=gpu)
        run(f"add {name}", lambda: torch.add(x, y, out=z))
        run(f"sum {name}", lambda: torch.sum(x, dim=0, out=total))
        del x, y, z
    return times


def measure_cupy():
    import cupy

    if not cupy.cuda.is_available():
        raise ImportError("it finds no GPU")
    times = Measurements(cupy, cupy.cuda.Device().synchronize)
    enqueue, run = times.enqueue, times.run

    empty = cupy.RawKernel('extern "C" __global__ void empty() {}', "empty")
    enqueue("launch", lambda: empty((1,), (32,), ()))
    small = [cupy.full(32, 1, dtype=cupy.float32) for _ in range(2)]
    axpy = cupy.ElementwiseKernel(
        "float32 a, float32 x", "float32 y", "y = a * x + y", "bench_axpy"
    )
    enqueue("small axpy", lambda: axpy(2, small[0], small[1]))
    # The pool's own call: an array around the memory would only take longer.
    measure_allocating(times, cupy.cuda.MemoryPool().malloc)
    event = cupy.cuda.Event(disable_timing=True)
    enqueue("record event", event.record)

    def operands(dtype):
        pattern = cupy.sin(cupy.arange(4096, dtype=cupy.float64)).astype(dtype)
        elements = BUFFER_BYTES // pattern.itemsize
        return [cupy.tile(pattern, elements // 4096) for _ in range(3)]

    x, y, z = operands(cupy.float32)
    run("copy", lambda: cupy.copyto(z, x))
    run("fill float32", lambda: z.fill(1))
    run("scale float32", lambda: cupy.multiply(x, cupy.float32(0.5), out=z))
    run("add float32", lambda: cupy.add(x, y, out=z))
    run("multiply float32", lambda: cupy.multiply(x, y, out=z))
    one = cupy.empty((), dtype=cupy.float32)
    run("sum float32", lambda: cupy.sum(x, out=one))
    run("max float32", lambda: cupy.max(x, out=one))
    del x, y, z
    for name, dtype in (("float64", cupy.float64), ("float16", cupy.float16)):
        x, y, z = operands(dtype)
        total = cupy.empty((), dtype=dtype)
        run(f"add {name}", lambda: cupy.add(x, y, out=z))
        run(f"sum {name}", lambda: cupy.sum(x, out=total))
        del x, y, z
    return times


def measure_rmm():
    import rmm

    try:
        resource = rmm.mr.PoolMemoryResource(rmm.mr.CudaMemoryResource(), initial_pool_size=2**32)
        rmm.mr.set_current_device_resource(resource)
    except Exception as error:  # without a GPU it raises errors of several kinds
        raise ImportError(f"it finds no GPU with room for its pool: {error}") from error
    # What is enqueued is nothing, so that there is nothing to wait for.
    times = Measurements(rmm, lambda: None)
    measure_allocating(times, lambda size: rmm.DeviceBuffer(size=size))
    return times


MEASURED = (("PyTorch", measure_pytorch), ("CuPy", measure_cupy), ("RMM", measure_rmm))


print_peers(MEASURED)
