"""Numbers for people."""

import pytest

from harness.text import numbers


@pytest.mark.parametrize(
    ("values", "digits"),
    [
        ([0.12, 0.03, None], 2),
        ([-0.0012, -0.0021, -0.0004], 4),  # -0.0004 is 0.000 with three digits
        ([0.0, None], 2),
        ([0.004999], 3),
        ([1e-9], 6),
    ],
)
def test_a_value_that_is_not_0_is_not_written_as_0(values, digits):
    assert numbers.enough_digits(values, 2) == digits


@pytest.mark.parametrize(
    ("value", "digits", "written"),
    [(0.125, 2, "+0.12"), (-0.0004, 4, "−0.0004"), (-0.0004, 2, "0.00"), (None, 2, "–")],
)
def test_a_difference_has_its_sign(value, digits, written):
    assert numbers.difference(value, digits) == written


@pytest.mark.parametrize(
    ("p", "written"), [(0.0004, "< 0.001"), (0.0123, "0.01"), (0.0994, "0.1"), (0.25, "0.25")]
)
def test_a_p_value_has_one_or_two_digits(p, written):
    assert numbers.probability(p) == written
