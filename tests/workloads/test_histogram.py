"""The buckets of times: nothing falls between them, and none is wider than it says."""

from hypothesis import example, given
from hypothesis import strategies as st

from workloads.histogram import SUB_BITS, bounds, bucket_of

TIMES = st.integers(-(2**62), 2**62)


@given(TIMES)
@example(0)
@example(-1)
@example(255)
@example(256)
def test_a_time_lies_in_its_bucket(time):
    """`bounds` is the inverse of `bucket_of`: both ends of a bucket belong to it, and what lies next to it does not."""
    bucket = bucket_of(time)
    low, high = bounds(bucket)

    assert low <= time <= high
    assert bucket_of(low) == bucket_of(high) == bucket
    assert (bucket_of(low - 1), bucket_of(high + 1)) == (bucket - 1, bucket + 1)


@given(TIMES, TIMES)
def test_order_is_kept(one, other):
    """A smaller time is never in a higher bucket, negative ones included."""
    assert (bucket_of(min(one, other))) <= bucket_of(max(one, other))


@given(TIMES)
def test_the_stated_resolution(time):
    """A bucket is at most 1/128 of its least time wide, and exact below 256 ns."""
    low, high = bounds(bucket_of(time))

    nearest = min(abs(low), abs(high))
    assert high - low <= nearest / 2**SUB_BITS
    assert abs(time) >= 256 or low == high == time


@given(TIMES)
def test_negative_times_are_mirrored(time):
    """A time below 0 has a bucket of its own: nothing is clamped, and nothing loses its sign."""
    assert (bucket_of(time) < 0) == (time < 0)
    assert bucket_of(-1 - time) == -1 - bucket_of(time)
