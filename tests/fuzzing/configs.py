"""Configurations that are nearly right: the keys and the components there are, and any values."""

from __future__ import annotations

import json
from dataclasses import fields
from pathlib import Path
from typing import Any

from hypothesis import strategies as st

from harness.chunkers import chunkers
from harness.config.settings import Settings
from harness.corpus import readers as corpora
from harness.embedders import embedders
from harness.generators import generators
from harness.metrics import metrics
from harness.registry import Registry
from harness.rerankers import rerankers
from harness.retrievers import retrievers
from harness.systems import systems
from harness.testset import readers as testsets
from tests.fuzzing.texts import mutated, nasty, scalars, values

SOUND = {
    "corpus": "corpus",
    "testset": "testset.jsonl",
    "chunkers": ["sentence"],
    "embedders": [{"hashing": {"dimensions": 64}}],
    "retrievers": ["dense"],
    "generators": ["extractive"],
    "metrics": ["recall@5", "token_f1"],
}
_FAMILIES: dict[str, Registry[Any]] = {
    "chunkers": chunkers, "embedders": embedders, "retrievers": retrievers, "system": systems,
    "rerankers": rerankers, "generators": generators, "metrics": metrics, "corpus": corpora,
    "testset": testsets,
}  # fmt: skip
_ROOT = Path(__file__).parent.parent.parent
_NESTED = ("gate", "judge", "chat", "index", "context", "answer_test", "baseline", "targets")
_INNER = (
    "fail_if", "baseline", "max", "segment", "seconds", "cost", "model", "tokens", "chunks",
    "space", "existing", "server", "cloud", "collection", "path", "url", "by", "metric",
    "temperature", "seed",
)  # fmt: skip


def _parameters(family: Registry[Any], name: str) -> list[str]:
    return [each.name for each in fields(family[name]) if each.init] or ["size"]


@st.composite
def specs(draw: st.DrawFn, key: str) -> Any:
    """Return a component of a family: by its name, in one of the three forms, or nearly."""
    family = _FAMILIES[key]
    name = draw(st.sampled_from(list(family)))
    known = st.sampled_from(_parameters(family, name))
    form = draw(st.integers(0, 4))
    if form == 0:
        return name + draw(st.sampled_from(["", "@5", "@0", "@5t", "@99999999999999999999", "()"]))
    if form == 1:
        options = draw(st.lists(st.tuples(known, st.one_of(nasty, st.just("3"))), max_size=3))
        inner = ", ".join(f"{option}={value}" for option, value in options)
        return f"{name}({inner}){draw(st.sampled_from(['', '@3']))}"
    if form == 2:
        return {name: draw(values)}
    if form == 3:
        return {name: draw(st.dictionaries(known, st.one_of(values, scalars), max_size=3))}
    return draw(values)


_component = {key: specs(key) for key in _FAMILIES}


@st.composite
def configs(draw: st.DrawFn) -> bytes:
    """Return a configuration as YAML in flow style: JSON, and what JSON has no place for."""
    data: dict[str, Any] = dict(SOUND)
    for _ in range(draw(st.integers(1, 3))):
        key = draw(st.one_of(st.sampled_from(sorted(Settings.model_fields)), nasty))
        if draw(st.integers(0, 9)) == 0:
            data.pop(key, None)
        elif key in _component and draw(st.booleans()):
            found = draw(_component[key])
            data[key] = found if key in ("corpus", "testset") else [found]
        elif key in _NESTED and draw(st.booleans()):
            data[key] = draw(st.dictionaries(st.sampled_from(_INNER), values, max_size=3))
        else:
            data[key] = draw(values)
    text = json.dumps(data, default=str)
    if draw(st.integers(0, 3)) == 0:
        text = text.replace(": ", f": {draw(nasty)}", draw(st.integers(1, 3)))
    return text.encode("utf-8", "surrogatepass")


def shipped() -> list[bytes]:
    """Return the configurations that come with the harness, and some that are all anchors."""
    found = sorted((_ROOT / "configs").glob("*.yaml"))
    anchors = b"corpus: corpus\ntestset: testset.jsonl\na: &a {x: 1}\nbaseline: {<<: *a, y: [*a]}\n"
    return [*(path.read_bytes() for path in found), (_ROOT / "config.yaml").read_bytes(), anchors]


files = st.one_of(configs(), mutated(shipped()))
overrides = st.lists(
    st.one_of(
        st.builds(
            "{}={}".format,
            st.one_of(
                st.sampled_from(sorted(Settings.model_fields)),
                st.sampled_from(["gate.max.seconds", "chat.model", "a.b.c", "index..x", "."]),
                nasty,
            ),
            st.one_of(nasty, values.map(lambda value: json.dumps(value, default=str))),
        ),
        nasty,
    ),
    max_size=3,
)
expressions = st.one_of(
    _component["metrics"],
    st.text("recalndg@(=,)\"'5t \\*+.0", max_size=40),
    st.builds(
        "composite(weights={})".format,
        st.lists(
            st.builds(
                "{}*{}".format,
                st.one_of(nasty, st.just("0.5")),
                st.sampled_from(["recall@5", "bleu", "composite", "ndcg(gain=x)@2", "mrr"]),
            ),
            max_size=3,
        ).map("+".join),
    ),
)
