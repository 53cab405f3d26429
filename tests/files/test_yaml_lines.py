"""YAML that the harness writes reads back as what was written, with keys in their order."""

from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from harness.files import yaml_lines

PLAIN = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | st.text(),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(), inner, max_size=4),
    max_leaves=12,
)


@settings(max_examples=30, deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(PLAIN)
def test_plain_data_reads_back_as_it_was(data):
    assert yaml_lines.parse_value(yaml_lines.dump(data)) == data


def test_keys_keep_their_order_and_the_innermost_lists_stand_on_one_line():
    data = {"seed": 7, "chunkers": [{"fixed": {"size": 60}}, "markdown"], "a": ["x", "y"]}

    assert yaml_lines.dump(data) == (
        "seed: 7\nchunkers:\n- fixed: {size: 60}\n- markdown\na: [x, y]\n"
    )


def test_what_stands_in_two_places_is_written_out_twice():
    shared = {"size": 60}

    assert yaml_lines.dump({"a": shared, "b": shared}) == "a: {size: 60}\nb: {size: 60}\n"


def test_texts_that_look_like_something_else_stay_texts():
    texts = [
        "no",
        "2020-01-01",
        "1e3",
        "null",
        "*a",
        "&a",
        "é 月 😀",
        "a\x00b",
        "{x",
        "# no comment",
    ]

    assert yaml_lines.parse_value(yaml_lines.dump(texts)) == texts
    assert "é 月 😀" in yaml_lines.dump(texts)
