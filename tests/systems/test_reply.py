"""Replies of systems under test: every form that is read, and what makes no sense in one."""

from pathlib import PurePosixPath
from types import SimpleNamespace
from uuid import UUID

import numpy as np
import pytest

from harness.errors import StageError
from harness.systems import reply
from harness.systems.reply import RetrievedText, SystemReply


def failure(call):
    with pytest.raises(StageError) as caught:
        call()
    return str(caught.value)


@pytest.mark.parametrize(
    ("returned", "read"),
    [
        (([], ""), SystemReply((), "")),
        (
            (["a", {"id": 0, "text": "b"}], None),
            SystemReply((RetrievedText("a"), RetrievedText("b", ("0",))), None, "answer is null"),
        ),
        (
            ([SimpleNamespace(page_content="a", id="x", metadata={"source": "s", "id": 3})], "y"),
            SystemReply((RetrievedText("a", ("x", "3", "s")),), "y"),
        ),
        ({"answer": "x"}, SystemReply(None, "x")),
        (
            {"documents": ["a"], "answer": None},
            SystemReply((RetrievedText("a"),), None, "answer is null"),
        ),
        ({"contexts": [{"id": "d"}]}, SystemReply((RetrievedText("", ("d",)),))),
        (
            {"contexts": [{"text": "a", "start": 3, "score": 1}]},
            SystemReply((RetrievedText("a", (), 3, 1.0),)),
        ),
        (
            {"answer": "x", "declined": True, "context": "sent", "tokens_in": 1, "model": "m"},
            SystemReply(None, "x", None, True, "sent", 1, None, "m"),
        ),
        ("x", SystemReply(None, "x")),
        (iter(["a"]), SystemReply((RetrievedText("a"),))),
        (SimpleNamespace(content="x"), SystemReply(None, "x")),
        (SimpleNamespace(content=[{"type": "text"}], text="x"), SystemReply(None, "x")),
    ],
)
def test_every_form_of_reply_is_read(returned, read):
    assert reply.parse_reply(returned) == read


ID = UUID(int=7)


@pytest.mark.parametrize(
    ("metadata", "ids", "start"),
    [
        ({"source": "a.md", "start_index": -1}, ("a.md",), None),
        ({"source": "a.md", "start": "00:10"}, ("a.md",), None),
        ({"source": "a.md", "start": 1.5}, ("a.md",), None),
        ({"source": PurePosixPath("docs/a.md"), "id": ID}, (str(ID), "docs/a.md"), None),
        ({"source": ["a.md"], "id": {"x": 1}, "start_index": True}, (), None),
        ({"id": np.int64(3), "start_index": np.int32(5)}, ("3",), 5),
        ({"source": "half \ud800"}, (), None),
    ],
)
def test_a_hint_in_metadata_that_makes_no_sense_is_left_out(metadata, ids, start):
    document = SimpleNamespace(page_content="a", id=None, metadata=metadata)
    mapping = {"text": "a", "metadata": metadata}

    assert (
        reply.parse_reply(([document, mapping], "x")).contexts
        == (RetrievedText("a", ids, start),) * 2
    )


def test_numbers_of_numpy_and_ids_of_other_types_are_read_where_they_are_told():
    context = {"id": ID, "text": "a", "start": np.int64(2), "score": np.float32(0.5)}
    other = {"id": PurePosixPath("b.md"), "text": "b"}
    said = reply.parse_reply(
        {"contexts": [context, other], "declined": np.True_, "tokens_in": np.int8(4)}
    )

    contexts = (RetrievedText("a", (str(ID),), 2, 0.5), RetrievedText("b", ("b.md",)))
    assert said == SystemReply(contexts, declined=True, tokens_in=4)
    assert type(said.tokens_in) is int
    assert said.declined is True


class Odd:
    """A value that does not want to be shown."""

    def __repr__(self):
        raise RuntimeError


@pytest.mark.parametrize(
    ("returned", "said"),
    [
        (None, "the system returned null: neither contexts nor an answer"),
        (6, "the system returned 6: neither contexts nor an answer"),
        (b"x", "the system returned of type bytes: neither contexts nor an answer"),
        (Odd(), "the system returned of type Odd: neither contexts nor an answer"),
        ({}, "the reply has neither 'contexts' nor 'answer': it holds nothing"),
        ({"text": 1}, "the reply has neither 'contexts' nor 'answer': it holds 'text'"),
        (("x", "y"), "contexts is 'x': Input should be a valid list"),
        ((None, "y"), "contexts is null: Input should be a valid list"),
        (([], 6), "answer is 6: Input should be a valid string"),
        (([7], "y"), "contexts[0] is 7: Input should be a valid dictionary or object"),
        (([Odd()], "y"), "contexts[0] has neither `text` nor `id`"),
        (([{}], "y"), "contexts[0] has neither `text` nor `id`"),
        (([{"text": None}], "y"), "contexts[0] has neither `text` nor `id`"),
        (
            ([{"text": "a", "metadata": 3}], "y"),
            "contexts[0].metadata is 3: Input should be",
        ),
        (
            ([{"text": "a", "id": 1.5}], "y"),
            "contexts[0].id is 1.5: Input should be",
        ),
        (
            ([{"text": "a", "score": float("nan")}], "y"),
            "contexts[0].score is nan: Input should be",
        ),
        (
            ([{"text": "a", "score": 10**400}], "y"),
            "contexts[0].score is of type int: Input should be",
        ),
        (
            ([{"text": "a", "start": -1}], "y"),
            "contexts[0].start is -1: Input should be",
        ),
        (
            ([{"text": "a", "id": ["b"]}], "y"),
            "contexts[0].id is of type list: Input should be",
        ),
        (["a\ud800"], "contexts[0].text is 'a\\ud800': Input should be"),
        ((["x"] * 10_001, "y"), "contexts is of type list: List should have at most 10000 items"),
        ({"answer": "x", "declined": "no"}, "declined is 'no': Input should be a valid boolean"),
        ({"answer": "x", "tokens_in": 1.0}, "tokens_in is 1.0: Input should be a valid integer"),
        ("x" * 1_000_001, "answer is of type str: String should have at most 1000000 characters"),
    ],
)
def test_what_makes_no_sense_is_the_failure_of_its_question(returned, said):
    assert failure(lambda: reply.parse_reply(returned)).startswith(said)
