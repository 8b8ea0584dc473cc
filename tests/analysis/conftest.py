"""One Spark session for all tests of the analysis; whatever asks for a session then gets this one."""

from collections.abc import Iterator

import pytest
from pyspark.sql import SparkSession

from analysis.session import session


@pytest.fixture(scope="session")
def spark() -> Iterator[SparkSession]:
    with session("local[2]") as spark:
        yield spark
