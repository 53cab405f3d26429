"""Words of every script, METRICS.md section 2, and what a search makes of them."""

import re
import sys
import unicodedata
from statistics import fmean

import pytest

from harness import corpus as corpora
from harness import testset as testsets
from harness.config.run_config import load
from harness.metrics import metrics
from harness.ranking.relevance import judge_by_documents
from harness.retrievers.bm25 import Bm25
from harness.retrievers.hybrid import Hybrid
from harness.text.words import (
    count,
    cut,
    normalise_answer,
    search_terms,
    token_starts,
    tokenise,
)
from tests.support.searching import searching
from tests.support.small import project

XQUAD = {"en": 0.96, "de": 0.914, "zh": 0.955, "hi": 0.94, "ar": 0.885}
"""The least nDCG@10 of BM25."""


def test_tokens_are_words_and_single_marks():
    assert tokenise("It's 3.5 km… (Élan!)") == [
        *("it", "'", "s", "3", ".", "5", "km", "…", "(", "élan", "!", ")")
    ]
    assert count("It's 3.5 km… (Élan!)") == 12
    assert tokenise("It's  3.5\nKM", "whitespace") == ["it's", "3.5", "km"]


@pytest.mark.parametrize(
    ("text", "budget", "expected"),
    [
        ("ab, cd", 0, ("", 0)),
        ("ab, cd", 1, ("ab", 1)),
        ("ab, cd", 2, ("ab,", 2)),
        ("ab, cd ", 3, ("ab, cd", 3)),
        ("ab, cd ", 4, ("ab, cd ", 3)),
        ("ab, cd", 9, ("ab, cd", 3)),
        (" \n", 5, (" \n", 0)),
    ],
)
def test_a_text_is_cut_behind_the_last_token_it_has_room_for(text, budget, expected):
    assert cut(text, budget) == expected


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("हिन्दी भाषा", 2),
        ("超级碗五十届", 6),
        ("ภาษาไทย", 7),
        ("iPhone手机", 3),
        ("ABC株式会社123", 6),
        ("東京タワーは333メートル", 11),
        ("スーパー", 4),
        ("می\u200cخواهم", 1),
        ("مُحَمَّدٌ كتــاب", 2),
        ("தமிழ் மொழி", 2),
        ("ที่นี่ ๒๕๖๘", 3),
        ("한국어 문장입니다.", 3),
        ("你好，世界。「引用」", 10),
        ("a\u200bb\x00c\u0301", 3),
    ],
)
def test_words_of_every_script_are_counted(text, words):
    assert count(text) == len(tokenise(text)) == len(token_starts(text)) == words
    assert cut(text, words) == (text, words)


def test_a_word_is_the_same_in_either_normal_form():
    assert tokenise("CAFE\u0301") == tokenise("CAFÉ") == ["café"]
    assert tokenise("I\u0307stanbul") == tokenise("İstanbul")


def test_latin_words_are_what_python_calls_words():
    latin = [
        char
        for char in map(chr, range(sys.maxunicode + 1))
        if ord(char) < 0x300 or 0x2000 <= ord(char) < 0x2100
        if char != "İ" and not unicodedata.category(char).startswith(("M", "Cc", "Cf", "Cn"))
    ]
    text = "x".join(latin) + " ".join(latin)
    assert tokenise(text) == re.findall(r"\w+|[^\w\s]", text.lower())
    # With a word of another script the same text is cut by the pattern of all scripts.
    assert tokenise(text + " 字") == [*tokenise(text), "字"]


@pytest.mark.parametrize(
    ("text", "terms"),
    [
        ("Day pass, €6 for_two __", ["day", "pass", "6", "for_two"]),
        ("超级碗，五 十届iPhone手机", ["超级", "级碗", "五", "十届", "iphone", "手机"]),
        ("हिन्दी भाषा।", ["हिन्दी", "भाषा"]),
        ("", []),
    ],
)
def test_texts_without_spaces_are_searched_by_pairs(text, terms):
    assert search_terms(text) == terms


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("The “U.S.A.” – it’s $5", ["usa", "its", "5"]),
        ("北京 是「首都」。", ["北", "京", "是", "首", "都"]),
        ("5 °C", ["5", "°", "c"]),
    ],
)
def test_an_answer_is_compared_without_punctuation_of_any_script(text, words):
    assert normalise_answer(text) == words


def test_a_language_chooses_the_stop_words_of_searches(tmp_path):
    choices = {
        "retrievers": ["bm25", "bm25(stopwords=none)", "hybrid", "hybrid(of=(bm25, mmr))"],
        "baseline": {"retriever": "bm25"},
    }
    config = load(project(tmp_path, chunkers="whole", language="german", **choices))
    german = "bm25(stopwords=german)"
    assert [cell.retriever for cell in config.cells] == [
        Bm25(stopwords="german"),
        Bm25(stopwords="none"),
        Hybrid(of=("dense", german)),
        Hybrid(of=(german, "mmr")),
    ]
    assert config.baseline == config.cells[0]
    assert {cell.generator.language for cell in config.cells} == {"german"}


@pytest.mark.parametrize("language", XQUAD)
def test_bm25_searches_the_languages_of_xquad(language, test_data, tmp_path):
    folder = str(test_data / f"xquad-{language}")
    corpus = corpora.load(corpora.readers.build({"beir": {"path": folder}}))
    questions = testsets.load(testsets.readers.build({"beir": {"path": folder}}), corpus).questions
    with searching(tmp_path, corpus.documents) as ask:
        rankings = ask("bm25", [question.text for question in questions])
    ndcg = metrics.build("ndcg@10")
    scores = [
        ndcg.judge(judge_by_documents(question.documents, hits)).value
        for question, hits in zip(questions, rankings, strict=True)
    ]
    assert len(scores) > 1_150
    assert fmean(scores) >= XQUAD[language]
