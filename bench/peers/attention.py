"""Attention in PyTorch, beside bench/attention_bench.ts and in the same run.

usage: attention.py SHAPES

SHAPES is a JSON array of [batch, heads, keyHeads, queries, keys, headSize, causal, dtype]. Prints a
line when it is ready. For each line "index calls" of its input it computes attention of that shape as
often, with two threads, and prints a line.
"""

import json
import sys

import torch
from torch.nn.functional import scaled_dot_product_attention

torch.set_num_threads(2)
device = "cuda" if torch.cuda.is_available() else "cpu"
work = []
for batch, heads, key_heads, queries, keys, size, causal, dtype in json.loads(sys.argv[1]):
    place = {"device": device, "dtype": getattr(torch, dtype)}
    q = torch.randn(batch, heads, queries, size, **place)
    k, v = (torch.randn(batch, key_heads, keys, size, **place) for _ in range(2))
    options = {"is_causal": causal, "enable_gqa": heads != key_heads}
    work.append(lambda q=q, k=k, v=v, options=options: scaled_dot_product_attention(q, k, v, **options))
print("ready", flush=True)
for line in sys.stdin:
    index, calls = map(int, line.split())
    for _ in range(calls):
        work[index]()
    if device == "cuda":
        torch.cuda.synchronize()
    print("done", flush=True)
