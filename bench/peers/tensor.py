"""The work of bench/tensor_bench.ts in other libraries, as far as these can be imported.

usage: tensor.py [cpu]

With cpu it is NumPy, which takes one thread, and PyTorch, which takes all: sizes of 2^16 to 2^24.
Without it is PyTorch, eager and compiled, and CuPy on a GPU with 2^26. Results go to memory that is
there already, but for "new" ones. Prints what measurements.py says.
"""

import sys

from measurements import Measurements, print_peers

ON_CPU = sys.argv[1:] == ["cpu"]
ROW_LENGTH = 1024
POWERS = (16, 18, 20, 22, 24) if ON_CPU else (26,)


def measure_operations(times, make, compiled=lambda body: body):
    """Times what `make` returns for two operands, a result, and the same as matrices."""
    for power in POWERS:
        n, rows = 2**power, 2 ** (power // 2)
        calls = max(1, 2 ** (22 - power)) if ON_CPU else 10
        work = {name: compiled(body) for name, body in make(n, (rows, n // rows)).items()}

        def run(name, title):
            times.run(name, work[title], calls)

        run(f"tensor add 2^{power}", "add")
        run(f"tensor multiply 2^{power}", "multiply")
        run(f"tensor exp 2^{power}", "exp")
        run(f"tensor tanh 2^{power}", "tanh")
        run(f"tensor sum 2^{power}", "sum")
        run(f"tensor mean 2^{power}", "mean")
        run(f"tensor transpose 2^{power}", "transpose")
        run(f"tensor softmax 2^{power}", "softmax")
        run(f"tensor layerNorm 2^{power}", "layerNorm")
        run(f"tensor new add 2^{power}", "new add")
        run(f"tensor new transpose 2^{power}", "new transpose")
        run(f"tensor fused chain 2^{power}", "chain")


def like_numpy(library):
    """Work of libraries with NumPy's names."""

    def make(n, shape):
        i = library.arange(n) % 2**16
        x = (2 * library.sin(i * 1.7)).astype(library.float32)
        y = (2 * library.cos(i * 0.3)).astype(library.float32)
        z = library.zeros_like(x)
        columns, square = x.reshape(shape).T, z.reshape(shape[::-1])
        matrix = x.reshape(-1, ROW_LENGTH)
        one = library.float32(1)

        def softmax():
            powers = library.exp(matrix - matrix.max(1, keepdims=True))
            powers /= powers.sum(1, keepdims=True)
            return powers

        def layer_norm():
            centred = matrix - matrix.mean(1, keepdims=True)
            variance = library.mean(centred * centred, 1, keepdims=True)
            centred /= library.sqrt(variance + library.float32(1e-5))
            return centred

        def chain():
            return library.tanh(library.maximum(x * y + one, 0)) * 2 - x

        return {
            "add": lambda: library.add(x, y, out=z),
            "multiply": lambda: library.multiply(x, y, out=z),
            "exp": lambda: library.exp(x, out=z),
            "tanh": lambda: library.tanh(x, out=z),
            "sum": lambda: library.sum(x),
            "mean": lambda: library.mean(x),
            "transpose": lambda: library.copyto(square, columns),
            "softmax": softmax,
            "layerNorm": layer_norm,
            "new add": lambda: x + y,
            "new transpose": lambda: library.ascontiguousarray(columns),
            "chain": chain,
        }

    return make


def like_pytorch(torch):
    def make(n, shape):
        i = torch.arange(n, dtype=torch.float64) % 2**16
        device = "cpu" if ON_CPU else "cuda"
        x, y = (
            (2 * values).to(torch.float32).to(device)
            for values in (torch.sin(i * 1.7), torch.cos(i * 0.3))
        )
        z = torch.zeros_like(x)
        columns, square = x.reshape(shape).t(), z.reshape(shape[::-1])
        matrix, rows = x.reshape(-1, ROW_LENGTH), z.reshape(-1, ROW_LENGTH)

        def chain():
            return torch.tanh(torch.clamp_min(x * y + 1, 0)) * 2 - x

        return {
            "add": lambda: torch.add(x, y, out=z),
            "multiply": lambda: torch.mul(x, y, out=z),
            "exp": lambda: torch.exp(x, out=z),
            "tanh": lambda: torch.tanh(x, out=z),
            "sum": lambda: torch.sum(x),
            "mean": lambda: torch.mean(x),
            "transpose": lambda: square.copy_(columns),
            "softmax": lambda: torch.softmax(matrix, 1, out=rows),
            # It has no result of the caller's.
            "layerNorm": lambda: torch.nn.functional.layer_norm(matrix, (ROW_LENGTH,)),
            "new add": lambda: x + y,
            "new transpose": lambda: columns.contiguous(),
            "chain": chain,
        }

    return make


def measure_numpy():
    import numpy

    times = Measurements(numpy, lambda: None)
    measure_operations(times, like_numpy(numpy))
    return times


def measure_cupy():
    import cupy

    if not cupy.cuda.is_available():
        raise ImportError("it finds no GPU")
    times = Measurements(cupy, cupy.cuda.Device().synchronize)
    measure_operations(times, like_numpy(cupy))
    return times


def measure_pytorch():
    import torch

    if ON_CPU:
        times = Measurements(torch, lambda: None)
    elif not torch.cuda.is_available():
        raise ImportError("it finds no GPU")
    else:
        times = Measurements(torch, torch.cuda.synchronize)
    measure_operations(times, like_pytorch(torch))
    return times


def measure_compiled_pytorch():
    import torch

    if not torch.cuda.is_available():
        raise ImportError("it finds no GPU")
    times = Measurements(torch, torch.cuda.synchronize)
    measure_operations(times, like_pytorch(torch), torch.compile)
    return times


ON_GPU = (
    ("PyTorch", measure_pytorch),
    ("compiled PyTorch", measure_compiled_pytorch),
    ("CuPy", measure_cupy),
)

print_peers(
    (("NumPy", measure_numpy), ("PyTorch", measure_pytorch)) if ON_CPU else ON_GPU, not ON_CPU
)
