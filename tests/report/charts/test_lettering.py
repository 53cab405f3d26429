"""Texts of charts: bounded, on one line, and fit for XML."""

from xml.etree import ElementTree

import pytest

from harness.report.charts.theme import one_line, short_name


def test_a_text_that_fits_is_left_alone():
    assert short_name("markdown") == "markdown"


def test_of_a_long_name_the_longest_parts_lose_most():
    short = short_name("markdown × dense × chat(model=a-very-long-name)", 34)

    assert short.startswith("mar")
    assert " × dense × chat(mo…" in short
    assert len(short) <= 34


@pytest.mark.parametrize("text", ["x" * 50_000, "a × " * 500, "🚲" * 500, ""])
@pytest.mark.parametrize("longest", [20, 60])
def test_whatever_it_is_it_fits(text, longest):
    assert len(one_line(text, longest)) <= longest


def test_what_xml_cannot_hold_is_replaced():
    assert one_line("a\x00b\ud800c\uffffd\x7fe") == "a�b�c�d�e"
    assert one_line(" a\n b\t") == "a b"
    ElementTree.fromstring(f"<a>{one_line(chr(0x1F6B2))}</a>")
