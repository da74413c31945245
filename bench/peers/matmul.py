"""Matrix products in NumPy or PyTorch beside bench/matmul_bench.ts and bench/ternary_bench.ts.

usage: matmul.py SHAPES

SHAPES is a JSON array of [m, n, k, transposed, dtype]; element types such as "torch.int8" are for
PyTorch, which also takes the others if there is a GPU. Prints a line when it is ready. For each line
"index calls" of its input it computes the product of that shape as often, and prints a line.
"""

import json
import sys

shapes = json.loads(sys.argv[1])
wait = lambda: None


def in_numpy(m, n, k, transposed, dtype):
    import numpy

    random = numpy.random.default_rng(1)
    x = random.random((m, k), dtype=dtype)
    y = random.random((n, k), dtype=dtype).T if transposed else random.random((k, n), dtype=dtype)
    return lambda: x @ y


def in_pytorch(torch, m, n, k, transposed, dtype):
    own = getattr(torch, dtype.removeprefix("torch."))
    rand = lambda *shape: torch.rand(*shape, device="cuda" if on_gpu else "cpu").mul(100).to(own)
    x = rand(m, k)
    y = rand(n, k).t() if transposed else rand(k, n)
    return lambda: torch._int_mm(x, y) if own == torch.int8 else x @ y


try:
    import torch

    on_gpu = torch.cuda.is_available()
except ImportError:
    torch = None
    on_gpu = False
if on_gpu:
    wait = torch.cuda.synchronize
work = [
    in_pytorch(torch, *shape) if on_gpu or shape[-1].startswith("torch.") else in_numpy(*shape)
    for shape in shapes
]
print("ready", flush=True)
for line in sys.stdin:
    index, calls = map(int, line.split())
    for _ in range(calls):
        work[index]()
    wait()
    print("done", flush=True)
