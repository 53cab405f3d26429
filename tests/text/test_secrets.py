"""Secrets are blotted out of texts in every form that a server sends them back in."""

import pytest

from harness.text.secrets import redact

KEY = "sk-Proj-4711abc"


@pytest.mark.parametrize(
    ("text", "blotted"),
    [
        (f"key {KEY} is wrong", "key $OPENAI_API_KEY is wrong"),
        (f"KEY {KEY.upper()}!", "KEY $OPENAI_API_KEY!"),
        (f"{KEY.lower()}{KEY}", "$OPENAI_API_KEY$OPENAI_API_KEY"),
        ("sk%2dproj%2d4711abc", "$OPENAI_API_KEY"),
        ("sk-Proj-4711", "sk-Proj-4711"),
    ],
)
def test_a_key_is_blotted_out_in_any_case(monkeypatch, text, blotted):
    monkeypatch.setenv("OPENAI_API_KEY", KEY)

    assert redact(text) == blotted


@pytest.mark.parametrize(
    ("text", "blotted"),
    [
        ("invalid key: k7x", "invalid key: $APP_TOKEN"),
        ("'K7X' is unknown", "'$APP_TOKEN' is unknown"),
        ("ak7xb", "ak7xb"),
    ],
)
def test_a_short_key_is_blotted_out_where_it_stands_alone(monkeypatch, text, blotted):
    monkeypatch.setenv("APP_TOKEN", "k7x")

    assert redact(text) == blotted


def test_one_or_two_characters_are_no_secret(monkeypatch):
    monkeypatch.setenv("APP_TOKEN", "x1")

    assert redact("x1 and x2") == "x1 and x2"
