"""Many strings in many texts at once: what is found is what each by itself would find."""

import pytest

from harness.ranking.relevance import TextSearch, fold, occurs

PIECES = ["a", "b", "ab", "_", "6", " ", ".", "-", "é", "ß", "aa", "b6", "\n", "x_", "ª", "²", "İ"]
SCRIPTS = [*"字语a。 न", "です", "नि", "ก็", "น้ำ", "\u0e33", "می", "\u0301", "\u200c"]


def found(strings, text):
    return sorted(TextSearch(strings).find_in(fold(text)))


@pytest.mark.parametrize(
    ("strings", "text", "expected"),
    [
        (["day pass", "pass", "a day", "ass"], "A day pass costs 6 dollars.", 3),
        (["6", "16", "6 dollars", "dollar"], "It costs 6 dollars.", 2),
        (["C++", "C", "+"], "Written in C++ and C.", 3),
        (["_x", "x", "a_x"], "the name a_x", 1),
        (["STRASSE", "Straße"], "Die Straße.", 2),
        (["", " ", "."], "A sentence.", 1),
        (["超级碗", "碗五", "五十届超"], "第五十届超级碗五十届", 3),
        (["हिन्द", "हिन्दी", "न"], "हिन्दी भाषा", 1),
        (["น", "น้ำ", "น้"], "ดื่มน้ำ", 1),
        (["خواهم", "می‌خواهم"], "من می‌خواهم", 1),
    ],
)
def test_strings_are_found_at_word_boundaries(strings, text, expected):
    assert len(found(strings, text)) == expected
    assert found(strings, text) == sorted(each for each in strings if occurs(each, fold(text)))
