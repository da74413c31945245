"""The work of the benchmarks in NumPy, with one thread but for products, and in CuPy."""

import importlib

from allocating import replacements

ROW_LENGTH = 1024
PERIOD = 2**16
SPIN = """
extern "C" __global__ void spin(unsigned long long nanoseconds) {
  unsigned long long start, now;
  asm volatile("mov.u64 %0, %%globaltimer;" : "=l"(start));
  do asm volatile("mov.u64 %0, %%globaltimer;" : "=l"(now)); while (now - start < nanoseconds);
}
"""
AXPY = """
extern "C" __global__ void axpy(float a, const float* x, float* y, unsigned long long n) {
  const unsigned long long i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) y[i] = a * x[i] + y[i];
}
"""


class NumPyLike:
    def __init__(self, name, values):
        self.library = importlib.import_module(name)
        self.version = self.library.__version__
        self.values = self.library.asarray(_read(values))
        self.made = {}

    def operand(self, shape, index, dtype):
        """As randomOperand() of bench/support/random_values.ts."""
        library = self.library
        size = 1
        for extent in shape:
            size *= extent
        pattern = library.roll(self.values, -((7919 * index) % len(self.values)))
        numbers = library.tile(pattern, -(-size // len(pattern)))[:size].reshape(shape)
        return (numbers * 127 if dtype == "int8" else numbers).astype(dtype)

    def tensor(self, work):
        if work["dtype"] == "bfloat16":
            return None
        made = self._tensor_work(work["power"], work["dtype"], work.get("columns", ROW_LENGTH))
        return made.get(work["title"])

    def _operands(self, power, dtype):
        key = (power, dtype)
        if key not in self.made:
            self.made.clear()  # frees the operands of the last size
            library, n = self.library, 2**power
            i = library.arange(min(n, PERIOD))
            x, y = (
                library.tile((2 * values).astype(library.float32).astype(dtype), n // len(i))
                for values in (library.sin(i * 1.7), library.cos(i * 0.3))
            )
            self.made[key] = x, y, library.zeros_like(x)
        return self.made[key]

    def _tensor_work(self, power, dtype, columns):
        library = self.library
        n, rows = 2**power, 2 ** (power // 2)
        x, y, z = self._operands(power, dtype)
        wide = x.reshape(rows, n // rows)
        turned, square = wide.T, z.reshape(n // rows, rows)
        matrix = x[: n // columns * columns].reshape(-1, columns)
        row = y[: n // rows]
        one = library.float32(1).astype(dtype)

        def softmax():
            powers = library.exp(matrix - matrix.max(1, keepdims=True))
            powers /= powers.sum(1, keepdims=True)
            return powers

        def layer_norm():
            centred = matrix - matrix.mean(1, keepdims=True)
            variance = library.mean(centred * centred, 1, keepdims=True)
            centred /= library.sqrt(variance + library.float32(1e-5))
            return centred

        return {
            "add": lambda: library.add(x, y, out=z),
            "multiply": lambda: library.multiply(x, y, out=z),
            "exp": lambda: library.exp(x, out=z),
            "tanh": lambda: library.tanh(x, out=z),
            "sum": lambda: library.sum(x),
            "mean": lambda: library.mean(x),
            "max": lambda: library.max(x),
            "sum along axis 0": lambda: library.sum(wide, 0),
            "sum along axis 1": lambda: library.sum(matrix, 1),
            "add a row": lambda: library.add(wide, row, out=z.reshape(wide.shape)),
            "transpose": lambda: library.copyto(square, turned),
            "softmax": softmax,
            "layerNorm": layer_norm,
            "new add": lambda: x + y,
            "new transpose": lambda: library.ascontiguousarray(turned),
            "fused chain": lambda: library.tanh(library.maximum(x * y + one, 0)) * 2 - x,
        }


class NumPy(NumPyLike):
    on_gpu = False

    def __init__(self, values):
        super().__init__("numpy", values)

    def synchronize(self):
        pass

    def product(self, work):
        if work["dtype"] not in ("float32", "float64") or "activation" in work or "copies" in work:
            return None
        batch = [work["batch"]] if "batch" in work else []
        x = self.operand([*batch, work["m"], work["k"]], 0, work["dtype"])
        shape = [work["n"], work["k"]] if work["transposed"] else [work["k"], work["n"]]
        y = self.operand([*batch, *shape], 1, work["dtype"])
        if work["transposed"]:
            y = y.swapaxes(-1, -2)
        return lambda: x @ y


class CuPy(NumPyLike):
    on_gpu = True

    def __init__(self, values):
        import cupy

        if not cupy.cuda.is_available():
            raise ImportError("it finds no GPU")
        super().__init__("cupy", values)
        self._spin = cupy.RawKernel(SPIN, "spin")

    def synchronize(self):
        self.library.cuda.Device().synchronize()

    def events(self):
        start, end = (self.library.cuda.Event() for _ in range(2))
        between = lambda: self.library.cuda.get_elapsed_time(start, end) * 1e6
        return start.record, end.record, between

    def spin(self, nanoseconds):
        self._spin((1,), (1,), (self.library.uint64(nanoseconds),))

    def kernel(self, work):
        cupy = self.library
        if work["dtype"] == "bfloat16":
            return None
        pattern = cupy.sin(cupy.arange(4096, dtype=cupy.float64)).astype(work["dtype"])
        repeats = work["bytes"] // pattern.itemsize // 4096
        x, y, z = (cupy.tile(pattern, repeats) for _ in range(3))
        one = cupy.empty((), dtype=work["dtype"])
        half = pattern.dtype.type(0.5)
        return {
            "copy": lambda: cupy.copyto(z, x),
            "fill": lambda: z.fill(1),
            "scale": lambda: cupy.multiply(x, half, out=z),
            "add": lambda: cupy.add(x, y, out=z),
            "multiply": lambda: cupy.multiply(x, y, out=z),
            "sum": lambda: cupy.sum(x, out=one),
            "max": lambda: cupy.max(x, out=one),
        }.get(work["operation"])

    def allocate(self, work):
        pool = self.library.cuda.MemoryPool()
        return lambda: pool.malloc(work["bytes"])

    def replace(self, work):
        return replacements(self.library.cuda.MemoryPool().malloc, work["largest"])

    def record(self, work):
        return self.library.cuda.Event(disable_timing=True).record

    def launch(self, work):
        cupy = self.library
        if work["kernel"] == "empty":
            empty = cupy.RawKernel('extern "C" __global__ void empty() {}', "empty")
            return lambda: empty((1,), (32,), ())
        x, y = (cupy.full(32, 1, dtype=cupy.float32) for _ in range(2))
        if work["kernel"] == "built-in axpy":
            axpy = cupy.ElementwiseKernel(
                "float32 a, float32 x", "float32 y", "y = a * x + y", "bench_axpy"
            )
            return lambda: axpy(2, x, y)
        axpy = cupy.RawKernel(AXPY, "axpy")
        a, n = cupy.float32(2), cupy.uint64(32)
        return lambda: axpy((1,), (32,), (a, x, y, n))


def _read(path):
    import numpy

    return numpy.fromfile(path, dtype=numpy.float32)
