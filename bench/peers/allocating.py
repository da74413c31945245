"""Blocks of random sizes, on a logarithmic scale, of which one after the other is replaced."""

import random

LIVE = 1000


def replacements(allocate, largest):
    """A function that replaces the next block: what `allocate` returns frees its memory when it goes."""
    draw = random.Random(largest)
    sizes = [int(512 * (largest / 512) ** draw.random()) for _ in range(2**16)]
    order = [draw.randrange(LIVE) for _ in range(2**16)]
    live = [allocate(size) for size in sizes[:LIVE]]
    turn = 0

    def replace():
        nonlocal turn
        at, turn = turn, turn + 1
        place = order[at & 0xFFFF]
        live[place] = None
        live[place] = allocate(sizes[(at + (at >> 16) * 7) & 0xFFFF])

    for _ in range(2**16):
        replace()
    return replace
