"""A neighbour on the host, for trials: it walks through memory in random spells, so that it empties the shared cache.

    python -m tests.support.neighbour [CPU [SECONDS [SEED]]]

It runs under SCHED_IDLE: it takes cache, but no CPU time that another process on its CPU (the load's) wants.
"""

from __future__ import annotations

import os
import random
import sys
import time

import numpy as np

#: Size of what it walks through, bytes, and of a step between two looks at the clock, in numbers of 8 bytes.
WALKED_BYTES, STEP = 64 << 20, 1 << 16

#: Least and greatest length of a spell, and of the gap after it, s.
SPELL_S = (0.3, 20.0)


def walk(cpu: int, seconds: float, seed: int) -> None:
    """Walks in spells until the time is over."""
    os.sched_setaffinity(0, {cpu})
    os.sched_setscheduler(0, os.SCHED_IDLE, os.sched_param(0))
    drawn = random.Random(seed)
    rng = np.random.default_rng(seed)
    memory = rng.integers(0, 1 << 40, WALKED_BYTES // 8)
    places = rng.permutation(len(memory)).reshape(-1, STEP)
    end = time.monotonic() + seconds
    while time.monotonic() < end:
        spell_end = time.monotonic() + drawn.uniform(*SPELL_S)
        while time.monotonic() < min(spell_end, end):
            memory[places[drawn.randrange(len(places))]] += 1
        time.sleep(max(0.0, min(drawn.uniform(*SPELL_S), end - time.monotonic())))


if __name__ == "__main__":
    words = dict(enumerate(sys.argv[1:]))
    walk(int(words.get(0, 0)), float(words.get(1, 3600)), int(words.get(2, 1)))
