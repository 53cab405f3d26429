"""Documents in a temporary file: any text comes back as it was, and memory does not grow."""

import tracemalloc

import pytest

from harness.corpus import Documents
from harness.records import Document

EXOTIC = {
    "empty": "",
    "white space": " \n\t\r\v\f\x1c\x85\u3000",
    "line separators": "one\u2028two\u2029three\nfour\r\nfive",
    "half a surrogate pair": "\ud800 and \udfff",
    "a surrogate pair in two halves": "\ud83d\ude00",
    "one character outside the basic plane": "😀 \U0010ffff",
    "NUL and other control characters": "a\x00b\x01\x7f\x1b[0m",
    "quotes and backslashes": '"\\n" \\u0041 [1, "2"]',
    "accents in two forms": "e\u0301 é",
    "a byte-order mark": "\ufeffx",
}


def stored(*documents):
    found = Documents()
    for document in documents:
        found.add(document)
    return found


@pytest.mark.parametrize("text", EXOTIC.values(), ids=EXOTIC)
def test_any_text_title_and_id_come_back_as_they_were(text):
    document, other = Document(f"id {text}", text, text), Document("other", "x")
    found = stored(document, other)

    assert found[f"id {text}"] == document
    assert found["other"] == other


def test_they_keep_the_order_in_which_they_were_added_whatever_is_read_first():
    documents = [Document(id_, f"text of {id_}", f"title of {id_}") for id_ in "zaymb"]
    found = stored(*documents)

    assert found["m"] == documents[3]
    assert found["z"] == documents[0]
    assert list(found) == list("zaymb")
    assert list(found.values()) == documents
    assert list(found.items()) == [(each.id, each) for each in documents]
    assert len(found) == 5


def test_forty_megabytes_are_not_held_in_memory_neither_while_they_are_added_nor_when_read():
    megabyte, number = 1 << 20, 40
    found = Documents()
    tracemalloc.start()
    try:
        for at in range(number):
            found.add(Document(str(at), f"{at:04} " + "x" * (megabyte - 5)))
        held, peak_while_adding = tracemalloc.get_traced_memory()
        tracemalloc.reset_peak()
        starts = [document.text[:4] for document in found.values()]
        _, peak_while_reading = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()

    assert starts == [f"{at:04}" for at in range(number)]
    assert held < 2 * megabyte
    assert peak_while_adding < 30 * megabyte
    assert peak_while_reading < 15 * megabyte
    assert found["39"].text == "0039 " + "x" * (megabyte - 5)
    assert found["0"].text[:6] == "0000 x"
