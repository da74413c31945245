"""The work of the benchmarks in PyTorch, eager and compiled; on the processor where there is no GPU."""

import torch

from allocating import replacements

ROW_LENGTH = 1024
SPIN_CYCLES_PER_NANOSECOND = 2.0
COMPILED_POWER = 26
PERIOD = 2**16
NAMES = {"float8_e4m3": "float8_e4m3fn"}


class PyTorch:
    def __init__(self, values):
        self.version = torch.__version__
        self.on_gpu = torch.cuda.is_available()
        self.device = "cuda" if self.on_gpu else "cpu"
        self.values = torch.from_file(values, size=_count(values), dtype=torch.float32)
        self.made = {}

    def synchronize(self):
        if self.on_gpu:
            torch.cuda.synchronize()

    def events(self):
        start, end = (torch.cuda.Event(enable_timing=True) for _ in range(2))
        return start.record, end.record, lambda: start.elapsed_time(end) * 1e6

    def spin(self, nanoseconds):
        torch.cuda._sleep(int(nanoseconds * SPIN_CYCLES_PER_NANOSECOND))

    def compile(self, body):
        return body

    def operand(self, shape, index, dtype):
        """As randomOperand() of bench/support/random_values.ts."""
        size = 1
        for extent in shape:
            size *= extent
        first = (7919 * index) % len(self.values)
        pattern = torch.cat((self.values[first:], self.values[:first])).to(self.device)
        numbers = pattern.repeat(-(-size // len(pattern)))[:size].reshape(shape)
        if dtype == "int8":
            numbers = numbers * 127
        return numbers.to(getattr(torch, NAMES.get(dtype, dtype)))

    # Tensors of 2^power elements.

    def tensor(self, work):
        make = self._tensor_work(work["power"], work["dtype"], work.get("columns", ROW_LENGTH))
        body = make.get(work["title"])
        return None if body is None else self.compile(body)

    def _operands(self, power, dtype):
        key = (power, dtype)
        if key not in self.made:
            self.made.clear()  # frees the operands of the last size
            n = 2**power
            i = torch.arange(min(n, PERIOD), dtype=torch.float64)
            values = (2 * torch.sin(i * 1.7), 2 * torch.cos(i * 0.3))
            patterns = [it.to(torch.float32).to(self.device, getattr(torch, dtype)) for it in values]
            x, y = (pattern.repeat(n // len(pattern)) for pattern in patterns)
            self.made[key] = x, y, torch.zeros_like(x)
        return self.made[key]

    def _tensor_work(self, power, dtype, columns):
        n, rows = 2**power, 2 ** (power // 2)
        x, y, z = self._operands(power, dtype)
        turned, square = x.reshape(rows, n // rows).t(), z.reshape(n // rows, rows)
        wide = x.reshape(rows, n // rows)
        matrix = x[: n // columns * columns].reshape(-1, columns)
        result = z[: matrix.numel()].reshape(matrix.shape)
        row = y[: n // rows]

        def chain():
            return torch.tanh(torch.clamp_min(x * y + 1, 0)) * 2 - x

        return {
            "add": lambda: torch.add(x, y, out=z),
            "multiply": lambda: torch.mul(x, y, out=z),
            "exp": lambda: torch.exp(x, out=z),
            "tanh": lambda: torch.tanh(x, out=z),
            "sum": lambda: torch.sum(x),
            "mean": lambda: torch.mean(x),
            "max": lambda: torch.max(x),
            "sum along axis 0": lambda: torch.sum(wide, 0),
            "sum along axis 1": lambda: torch.sum(matrix, 1),
            "add a row": lambda: torch.add(wide, row, out=z.reshape(wide.shape)),
            "transpose": lambda: square.copy_(turned),
            "softmax": lambda: torch.softmax(matrix, 1, out=result),
            # It has no result of the caller's.
            "layerNorm": lambda: torch.nn.functional.layer_norm(matrix, (columns,)),
            "new add": lambda: x + y,
            "new transpose": lambda: turned.contiguous(),
            "fused chain": chain,
        }

    # Products, and attention.

    def product(self, work):
        m, n, k, dtype = work["m"], work["n"], work["k"], work["dtype"]
        batch = [work["batch"]] if "batch" in work else []
        x = self.operand([*batch, m, k], 0, dtype)
        copies = work.get("copies", 1)
        shape = [n, k] if work["transposed"] else [k, n]
        matrices = [self.operand([*batch, *shape], 1 + copy, dtype) for copy in range(copies)]
        if work["transposed"]:
            matrices = [y.transpose(-1, -2) for y in matrices]
        call = 0

        def next_matrix():
            nonlocal call
            call += 1
            return matrices[call % copies]

        if dtype == "int8":
            return lambda: torch._int_mm(x, next_matrix())
        if dtype == "float8_e4m3":
            one = torch.ones((), device=self.device)
            scaled = dict(scale_a=one, scale_b=one, out_dtype=torch.bfloat16)
            return lambda: torch._scaled_mm(x, next_matrix(), **scaled)
        if "activation" in work:
            bias = self.operand([n], 9, dtype)
            activate = {"relu": torch.relu, "gelu": torch.nn.functional.gelu}[work["activation"]]
            return self.compile(lambda: activate(torch.addmm(bias, x, matrices[0])))
        return lambda: x @ next_matrix()

    def attention(self, work):
        dtype, size = work["dtype"], work["size"]
        q = self.operand([work["batch"], work["heads"], work["queries"], size], 0, dtype)
        k, v = (
            self.operand([work["batch"], work["keyHeads"], work["keys"], size], index, dtype)
            for index in (1, 2)
        )
        options = {"is_causal": work["causal"], "enable_gqa": work["heads"] != work["keyHeads"]}
        attend = torch.nn.functional.scaled_dot_product_attention
        return lambda: attend(q, k, v, **options)

    # Buffers, copies, allocations, events and launches, which are a GPU's.

    def kernel(self, work):
        if not self.on_gpu:
            return None
        own = getattr(torch, work["dtype"])
        pattern = torch.sin(torch.arange(4096, dtype=torch.float64, device="cuda")).to(own)
        repeats = work["bytes"] // pattern.element_size() // 4096
        x, y, z = (pattern.repeat(repeats) for _ in range(3))
        one = torch.empty((), dtype=own, device="cuda")
        return {
            "copy": lambda: z.copy_(x),
            "fill": lambda: z.fill_(1),
            "scale": lambda: torch.mul(x, 0.5, out=z),
            "add": lambda: torch.add(x, y, out=z),
            "multiply": lambda: torch.mul(x, y, out=z),
            "sum": lambda: torch.sum(x, dim=0, out=one),
            "max": lambda: torch.amax(x, dim=0, out=one),
            "moments": lambda: torch.var_mean(x),
        }.get(work["operation"])

    def copy(self, work):
        if not self.on_gpu:
            return None
        device = torch.zeros(work["bytes"], dtype=torch.uint8, device="cuda")
        array = torch.ones(work["bytes"], dtype=torch.uint8)
        if "pinned" in work["direction"]:
            array = array.pin_memory()
        if work["direction"].startswith("to"):
            return lambda: array.copy_(device, non_blocking=True)
        return lambda: device.copy_(array, non_blocking=True)

    def allocate(self, work):
        if not self.on_gpu:
            return None
        return lambda: torch.empty(work["bytes"], dtype=torch.uint8, device="cuda")

    def replace(self, work):
        if not self.on_gpu:
            return None
        allocate = lambda size: torch.empty(size, dtype=torch.uint8, device="cuda")
        return replacements(allocate, work["largest"])

    def record(self, work):
        return torch.cuda.Event().record if self.on_gpu else None

    def launch(self, work):
        """PyTorch has no kernels of one's own without an extension: the eager operation of axpy."""
        if not self.on_gpu or work["kernel"] == "empty":
            return None
        x, y = (torch.full((32,), 1.0, device="cuda") for _ in range(2))
        return lambda: torch.add(y, x, alpha=2, out=y)


class CompiledPyTorch(PyTorch):
    """The same by torch.compile, which needs a GPU here: on the processor it needs a C++ compiler."""

    def __init__(self, values):
        super().__init__(values)
        if not self.on_gpu:
            raise ImportError("it finds no GPU")

    def compile(self, body):
        return torch.compile(body, dynamic=False)

    def tensor(self, work):
        # Each takes a second to compile: those of the largest size and of the first type do.
        wanted = work["dtype"] == "float32" and work["power"] >= COMPILED_POWER
        return super().tensor(work) if wanted else None

    def product(self, work):
        return super().product(work) if "activation" in work else None

    def attention(self, work):
        return None

    kernel = copy = allocate = replace = record = launch = attention


def _count(path):
    import os

    return os.path.getsize(path) // 4
