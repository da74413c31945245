"""Samples of work in another library, as bench/support/sampling.ts takes them of ours.

A library has `synchronize()`, and on a GPU `events()`, which makes two events and returns functions
that record the first, record the second, and return the nanoseconds between them, and `spin(ns)`, which
keeps the device busy.
"""

import time

HEAD_START = 50_000
MAX_HEAD_START = 50_000_000
MAX_CALLS = 400
MIN_SAMPLES = 3
MUCH_SLOWER = 3
LONG = 500_000


class Plan:
    """The extent of the samples, in milliseconds."""

    def __init__(self, quick):
        self.samples = 1 if quick else 11
        self.milliseconds = 0 if quick else 40
        self.most = 0 if quick else 300
        self.warm_up = 0 if quick else 10
        self.warm_up_of_long = 0 if quick else 250
        self.sample = 0 if quick else 3
        self.min_calls = 1 if quick else 10


class DeviceClock:
    """Times calls by events; the device is busy until all are enqueued."""

    def __init__(self, library, body):
        self.library, self.body, self.head_start = library, body, HEAD_START

    def sample(self, calls):
        while True:
            start, end, elapsed = self.library.events()
            before = time.perf_counter_ns()
            self.library.spin(self.head_start)
            start()
            for _ in range(calls):
                self.body()
            enqueued = time.perf_counter_ns() - before
            end()
            self.library.synchronize()
            ahead = enqueued < self.head_start or self.head_start >= MAX_HEAD_START
            self.head_start = min(MAX_HEAD_START, max(self.head_start, 2 * enqueued))
            if ahead:
                return elapsed() / calls, enqueued / calls


class HostClock:
    """Times calls on the host, with or without the wait for them."""

    def __init__(self, library, body, waits):
        self.library, self.body, self.waits = library, body, waits

    def sample(self, calls):
        self.library.synchronize()
        start = time.perf_counter_ns()
        for _ in range(calls):
            self.body()
        if self.waits:
            self.library.synchronize()
        end = time.perf_counter_ns()
        self.library.synchronize()
        return (end - start) / calls, None


def fitting_calls(take, plan, by_events):
    """Calls that fill a sample: one, if it takes that long."""
    fitting = lambda nanoseconds: int(plan.sample * 1e6 / max(1, nanoseconds)) + 1
    nanoseconds = take.sample(1)[0]
    least = min(plan.min_calls if by_events else 1, fitting(nanoseconds))
    if nanoseconds < plan.sample * 1e6:
        nanoseconds = min(take.sample(least)[0] for _ in range(MIN_SAMPLES))
    return max(least, min(MAX_CALLS, fitting(nanoseconds)))


def samples_of(library, body, clock, calls, ours, quick):
    """Samples of `calls` calls; few if they take much longer than the nanoseconds that are `ours`."""
    plan = Plan(quick)
    by_events = clock == "device" and library.on_gpu
    take = DeviceClock(library, body) if by_events else HostClock(library, body, clock != "host")
    take.sample(1)  # compiles kernels and fills pools
    if clock == "device":
        calls = 1 if quick else fitting_calls(take, plan, by_events)
    if not quick:
        nanoseconds = take.sample(calls)[0]
        if nanoseconds > MUCH_SLOWER * ours:
            plan.samples, plan.milliseconds, plan.warm_up = MIN_SAMPLES, 0, 0
        elif by_events and nanoseconds >= LONG:
            plan.warm_up = plan.warm_up_of_long
    end = time.perf_counter() + plan.warm_up / 1e3
    while time.perf_counter() < end:
        take.sample(calls)
    samples, host = [], []
    start = time.perf_counter()
    while True:
        begin = time.time() * 1e3
        nanoseconds, enqueueing = take.sample(calls)
        sample = {"begin": begin, "end": time.time() * 1e3, "nanoseconds": max(nanoseconds, 1 / calls)}
        samples.append(sample)
        if enqueueing is not None:
            host.append(enqueueing)
        passed = (time.perf_counter() - start) * 1e3
        enough = len(samples) >= plan.samples and passed >= plan.milliseconds
        late = len(samples) >= min(MIN_SAMPLES, plan.samples) and passed >= plan.most
        if enough or late:
            return {"clock": clock if by_events or clock == "host" else "total", "samples": samples, "host": host}
