"""Stored runs that tests of reports share; none changes them."""

import pytest

from tests.support.small import stored


@pytest.fixture(scope="session")
def many(tmp_path_factory):
    """A run of four cells: two chunkers, two retrievers."""
    return stored(tmp_path_factory.mktemp("many"))


@pytest.fixture(scope="session")
def one(tmp_path_factory):
    """A run of one cell."""
    one_cell = {"chunkers": ["markdown"], "retrievers": ["bm25"], "metrics": ["hit_rate@2"]}
    return stored(tmp_path_factory.mktemp("one"), **one_cell)
