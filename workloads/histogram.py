"""Log-linear histogram buckets for times: merging is exact, the relative error bounded, negative times allowed.

A time of k bits keeps its highest 8 bits: buckets below 256 ns hold a single value each, above that there are 128
buckets per doubling, so that a bucket is at most 1/128 (0.8 %) of its value wide. A negative time is counted in the
mirrored bucket; nothing is clamped.
"""

from __future__ import annotations

#: Buckets per doubling, as a power of two.
SUB_BITS = 7


def bucket_of(value_ns: int) -> int:
    """The bucket of a time; `bounds` is its inverse."""
    if value_ns < 0:
        return -1 - bucket_of(-1 - value_ns)
    shift = max(0, value_ns.bit_length() - SUB_BITS - 1)
    return (shift << SUB_BITS) + (value_ns >> shift)


def bounds(bucket: int) -> tuple[int, int]:
    """The smallest and the largest time of a bucket, both included, in ns."""
    if bucket < 0:
        low, high = bounds(-1 - bucket)
        return -1 - high, -1 - low
    shift = max(0, (bucket >> SUB_BITS) - 1)
    low = (bucket - (shift << SUB_BITS)) << shift
    return low, low + (1 << shift) - 1
