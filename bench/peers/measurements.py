"""Timing the work of other libraries, and printing what was found.

What is printed is one JSON object: {"peers": [{name, version, nanoseconds: {work: time}, fastest:
{work: time}}], "skipped": [why]}. As in bench/report/figure.ts a time is what three quarters of the
samples took at most.
"""

import gc
import json
import math
import os
import time

LAUNCHES = 500
OPERATIONS = 10
SAMPLES = 40


def samples_of(body, calls, synchronize, waits):
    """Nanoseconds per call; with waits the time includes the device's."""
    times = []
    for sample in range(SAMPLES + 5):
        synchronize()
        start = time.perf_counter_ns()
        for _ in range(calls):
            body()
        if waits:
            synchronize()
        end = time.perf_counter_ns()
        if sample >= 5:  # the first ones compile kernels and fill pools
            times.append((end - start) / calls)
    return times


class Measurements:
    """The times of one library; work that it cannot do is left out and said."""

    def __init__(self, library, synchronize):
        self.library = library
        self.synchronize = synchronize
        self.nanoseconds = {}
        self.fastest = {}
        self.skipped = []

    def enqueue(self, name, body, calls=LAUNCHES):
        """Times what the host takes to enqueue it."""
        self._measure(name, body, calls, waits=False)

    def run(self, name, body, calls=OPERATIONS):
        """Times it until the device is done."""
        self._measure(name, body, calls, waits=True)

    def _measure(self, name, body, calls, waits):
        try:
            times = sorted(samples_of(body, calls, self.synchronize, waits))
        except Exception as error:  # a library's own: whatever it raises, the others go on
            self.skipped.append(f"{self.library.__name__}: {name}: {error}")
            return
        self.nanoseconds[name] = times[math.ceil(0.75 * len(times)) - 1]
        self.fastest[name] = times[0]


def print_peers(measured, on_gpu=True):
    """Measures the libraries, pairs of a name and a function, that can be imported."""
    peers, skipped = [], []
    for name, measure_peer in measured:
        # Importing PyTorch takes seconds.
        if on_gpu and os.environ.get("CUDA_VISIBLE_DEVICES") == "":
            skipped.append(f"{name}: no GPU is visible")
            continue
        try:
            times = measure_peer()
        except Exception as error:  # not there, no GPU, or its own: the others go on
            skipped.append(f"{name}: {error}")
            continue
        version = times.library.__version__
        figures = {"nanoseconds": times.nanoseconds, "fastest": times.fastest}
        peers.append({"name": name, "version": version, **figures})
        skipped.extend(times.skipped)
        gc.collect()
    print(json.dumps({"peers": peers, "skipped": skipped}))
