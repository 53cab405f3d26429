"""What a decline looks like: the usual patterns, the configuration's, and a generator's own."""

import pytest

from harness.config.run_config import load
from harness.text.decline_patterns import DECLINES, is_decline
from tests.support.small import project

OWN = {"chat": {"model": "openai:m", "decline_patterns": ["^no idea$"]}}


@pytest.mark.parametrize(
    ("answer", "patterns", "declined"),
    [
        ("I don\u2019t know.", DECLINES, True),
        ("The context does not say.", DECLINES, True),
        ("Das weiß ich leider nicht.", DECLINES, True),
        ("Je ne sais pas.", DECLINES, True),
        ("No lo sé.", DECLINES, True),
        ("抱歉，我不知道。", DECLINES, True),
        ("上下文中没有提到。", DECLINES, True),
        ("申し訳ありませんが、わかりません。", DECLINES, True),
        ("मुझे नहीं पता।", DECLINES, True),
        ("संदर्भ में इसका उल्लेख नहीं है।", DECLINES, True),
        ("لا أعرف.", DECLINES, True),
        ("北京不知道这件事。", DECLINES, False),
        ("Der Mond hat keine Luft.", DECLINES, False),
        ("  ", ("^no$",), True),
        ("NO", ("^no$",), True),
        ("I don't know.", ("^no$",), False),
    ],
)
def test_an_answer_declines_where_it_is_empty_or_matches_a_pattern(answer, patterns, declined):
    assert is_decline(answer, patterns) is declined


def test_a_chat_generator_takes_the_patterns_of_the_run_unless_it_has_its_own(tmp_path):
    chat = {"chat": "openai:m", "chunkers": "recursive", "retrievers": "bm25"}
    usual = project(tmp_path, **chat, generators=["chat", OWN])

    def patterns(*overrides):
        found = load(usual, overrides, {})
        return [cell.generator.identity()["decline_patterns"] for cell in found.cells]

    assert patterns() == [DECLINES, ("^no idea$",)]
    assert patterns("decline_patterns=['^rien']") == [("^rien",), ("^no idea$",)]
