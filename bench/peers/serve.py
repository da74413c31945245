"""Does the work of the benchmarks in another library, on request.

usage: serve.py LIBRARY quick|full VALUES

LIBRARY is a name of LIBRARIES. VALUES is a file of random float32 numbers, which operands are made of,
as in bench/support/random_values.ts. Prints one JSON object a line: first {"version": text} or
{"skipped": why}, then an answer to each line of the input, {"kind", "clock", "calls", "ours", ...}: the samples
as bench/report/figure.ts has them, {"skipped": why}, or {} where the library has no such work.
"""

import gc
import importlib
import json
import os
import sys

LIBRARIES = {
    "PyTorch": ("pytorch", "PyTorch"),
    "compiled PyTorch": ("pytorch", "CompiledPyTorch"),
    "NumPy": ("numpy_like", "NumPy"),
    "CuPy": ("numpy_like", "CuPy"),
    "Triton": ("launchers", "Triton"),
    "numba": ("launchers", "Numba"),
    "cuda.core": ("launchers", "CudaCore"),
    "RMM": ("launchers", "Rmm"),
}


def answer(library, work, quick):
    from timing import samples_of

    make = getattr(library, work["kind"], None)
    body = None if make is None else make(work)
    if body is None:
        return {}
    return samples_of(library, body, work["clock"], work["calls"], work["ours"], quick)


def main():
    # What libraries print themselves must not come between the answers.
    output = os.fdopen(os.dup(1), "w")
    os.dup2(2, 1)

    def say(result):
        print(json.dumps(result), file=output, flush=True)

    name, extent, values = sys.argv[1:]
    module, kind = LIBRARIES[name]
    try:
        library = getattr(importlib.import_module(module), kind)(values)
    except Exception as error:  # it is not there, or finds no GPU: whatever it raises is the reason
        return say({"skipped": f"{name}: {error}"})
    say({"version": library.version})
    for line in sys.stdin:
        work = json.loads(line)
        try:
            result = answer(library, work, extent == "quick")
        except Exception as error:  # the library's own: the other work goes on
            result = {"skipped": f"{name}: {work['kind']}: {type(error).__name__}: {error}"[:300]}
        say(result)
        gc.collect()


main()
