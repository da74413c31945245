"""Matrix products in NumPy, or in PyTorch on a GPU, beside bench/matmul_bench.ts and in the same run.

usage: matmul.py SHAPES

SHAPES is a JSON array of [m, n, k, transposed, dtype]. Prints a line when it is ready. For each line
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
    options = {"device": "cuda", "dtype": getattr(torch, dtype)}
    x = torch.rand(m, k, **options)
    y = torch.rand(n, k, **options).t() if transposed else torch.rand(k, n, **options)
    return lambda: x @ y


try:
    import torch

    on_gpu = torch.cuda.is_available()
except ImportError:
    on_gpu = False
if on_gpu:
    wait = torch.cuda.synchronize
work = [in_pytorch(torch, *shape) if on_gpu else in_numpy(*shape) for shape in shapes]
print("ready", flush=True)
for line in sys.stdin:
    index, calls = map(int, line.split())
    for _ in range(calls):
        work[index]()
    wait()
    print("done", flush=True)
