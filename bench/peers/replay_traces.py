"""Replays traces through the real allocators of PyTorch and CuPy and prints what they reserved.

usage: replay_traces.py POLICY FILE...   with POLICY pytorch, pytorch-expandable or cupy

The files are traces in our text format (src/lab/memory/trace/memory_trace.ts). Prints one JSON object:
{"policy", "version", "capacityBytes", "traces": [{"trace", "peakReserved", "outOfMemory"}]}, or
{"policy", "skipped": why}. The capacity is what is free before the first trace. An allocator is as good as new for every trace. Nothing runs on the GPU, and
what the allocators record there is waited for after every event, so that, as in our replays, an
event completes when it is recorded. A policy has a process of its own, as PyTorch reads its
settings once.
"""

import json
import os
import pathlib
import sys

UNIT = 512


class Events:
    """The events of a trace file, in order: lists of the kind and its numbers."""

    def __init__(self, path):
        lines = pathlib.Path(path).read_text(encoding="utf-8").split("\n")
        if lines[0] != "gridstride memory trace 1" or lines[-1] != "":
            raise ValueError(f"Cannot replay {path} as it is no trace")
        rows = [line.split(" ") for line in lines[1:-1] if not line.startswith("#")]
        *events, end = rows
        if end != ["end", str(len(events))]:
            raise ValueError(f"Cannot replay {path} as it is cut short")
        self.events = [
            [kind, *(int(number) for number in numbers)] if kind != "p" else [kind]
            for kind, *numbers in events
        ]


class PytorchAllocator:
    """PyTorch's caching allocator; blocks are tensors."""

    def __init__(self):
        import torch

        if not torch.cuda.is_available():
            raise ImportError("it finds no GPU")
        self.torch = torch
        self.device = torch.device("cuda", torch.cuda.current_device())
        self.version = torch.__version__
        self.capacity = torch.cuda.mem_get_info()[0]
        self.streams = {}

    def renew(self):
        """Gives everything back."""
        self.torch.cuda.synchronize()
        self.torch.cuda.empty_cache()
        self.streams = {}
        if self.reserved() != 0:
            raise RuntimeError("PyTorch keeps memory that nobody has")

    def stream(self, number):
        """The stream that stands for that of a trace."""
        if number not in self.streams:
            self.streams[number] = self.torch.cuda.Stream(self.device)
        return self.streams[number]

    def allocate(self, size, stream):
        """A block; None where there is no memory."""
        with self.torch.cuda.stream(self.stream(stream)):
            try:
                return self.torch.empty(size, dtype=self.torch.uint8, device=self.device)
            except self.torch.cuda.OutOfMemoryError:
                return None

    def use(self, block, stream):
        """Says that another stream uses a block."""
        block.record_stream(self.stream(stream))

    def wait(self):
        """Until all events are complete."""
        self.torch.cuda.synchronize()

    def reserved(self):
        """Bytes taken from the device."""
        return self.torch.cuda.memory_reserved(self.device)


class CupyAllocator:
    """A memory pool of CuPy; blocks are its pointers. It has no notion of uses."""

    def __init__(self):
        import cupy

        if not cupy.cuda.is_available():
            raise ImportError("it finds no GPU")
        self.cupy = cupy
        self.version = cupy.__version__
        self.capacity = cupy.cuda.Device().mem_info[0]
        self.renew()

    def renew(self):
        """A new pool; the last one's memory goes with it."""
        self.pool = self.cupy.cuda.MemoryPool()
        self.streams = {}

    def allocate(self, size, stream):
        """A block; None where there is no memory."""
        if stream not in self.streams:
            self.streams[stream] = self.cupy.cuda.Stream(non_blocking=True)
        with self.streams[stream]:
            try:
                return self.pool.malloc(size)
            except self.cupy.cuda.memory.OutOfMemoryError:
                return None

    def use(self, block, stream):
        """Nothing."""

    def wait(self):
        """The pool records nothing."""

    def reserved(self):
        """Bytes taken from the device."""
        return self.pool.total_bytes()


def replay(events, allocator):
    """The most that was reserved after any event, and how many requests were refused."""
    live, used, refused, peak = {}, set(), 0, 0
    for kind, *numbers in events:
        if kind == "a":
            block, size, stream, *alignment = numbers
            if size > 0 and alignment and alignment[0] > UNIT:
                size += alignment[0] - UNIT  # what a caller asks for who needs the alignment
            memory = allocator.allocate(size, stream)
            if memory is None:
                refused += 1
            else:
                live[block] = memory
            del memory
        elif kind == "u":
            if numbers[0] in live:
                allocator.use(live[numbers[0]], numbers[1])
                used.add(numbers[0])
        elif kind == "f":
            live.pop(numbers[0], None)
            if numbers[0] in used:
                allocator.wait()
        # Waiting for a stream, its end and points are nothing that these allocators hear of.
        peak = max(peak, allocator.reserved())
    return peak, refused


ALLOCATORS = {
    "pytorch": (PytorchAllocator, ""),
    "pytorch-expandable": (PytorchAllocator, "expandable_segments:True"),
    "cupy": (CupyAllocator, ""),
}


def main():
    policy, *paths = sys.argv[1:]
    make, settings = ALLOCATORS[policy]
    # Both names, as the older one is still read. Read once, when the library is imported.
    for name in ("PYTORCH_ALLOC_CONF", "PYTORCH_CUDA_ALLOC_CONF"):
        os.environ.pop(name, None)
    if settings:
        os.environ["PYTORCH_CUDA_ALLOC_CONF"] = settings
    try:
        # Importing PyTorch takes seconds.
        if os.environ.get("CUDA_VISIBLE_DEVICES") == "":
            raise ImportError("no GPU is visible")
        allocator = make()
    except ImportError as error:
        print(json.dumps({"policy": policy, "skipped": str(error)}))
        return
    traces = []
    for path in paths:
        allocator.renew()
        peak, refused = replay(Events(path).events, allocator)
        name = pathlib.Path(path).stem
        traces.append({"trace": name, "peakReserved": peak, "outOfMemory": refused})
    result = {"policy": policy, "version": allocator.version, "traces": traces}
    print(json.dumps({**result, "capacityBytes": allocator.capacity}))


if __name__ == "__main__":
    main()
