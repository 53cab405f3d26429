"""A forecast in plain lines."""

from __future__ import annotations

from collections.abc import Iterator

from harness import numbers
from harness.forecast.work import Calls, Embedding, Forecast

NOTHING = "nothing is left to do but scoring and the report: all else is kept from earlier runs"


def lines(found: Forecast) -> list[str]:
    """Return what a run has still to do; one line where all of it is kept."""
    if found.nothing and found.ranked:
        return [NOTHING]
    said = [f"to do: {_data(found)}", *_called(found), *_time(found), *_money(found)]
    if found.nothing:
        said.append("  no model is asked")
    if found.unlooked:
        said.append(
            "  what is kept under the names of models is not taken off: that is looked up by --deep"
        )
    return said


def _data(found: Forecast) -> str:
    parts = [numbers.count(found.documents, "document")]
    if found.cuts:
        known = [cut.chunks for cut in found.cuts if cut.chunks is not None]
        about = "" if all(cut.exact for cut in found.cuts) else "about "
        parts.append(about + numbers.count(sum(known), "chunk") if known else "")
        if len(known) < len(found.cuts):
            parts.append("chunks that --deep counts")
    parts += [part for each in found.embeddings if (part := _embedded(each))]
    if found.pairs:
        most = "" if found.pairs_exact else "at most "
        parts.append(f"{most}{numbers.count(found.pairs, 'pair')} to rerank")
    return "; ".join(filter(None, parts))


def _embedded(each: Embedding) -> str:
    """Return what an embedder has still to do; "" where that is nothing."""
    texts = "all chunks" if each.chunks is None else numbers.count(each.chunks, "chunk")
    most = "" if each.exact else "at most "
    asked = f"{most}{numbers.count(each.questions, 'question')}"
    said = [texts] * (each.chunks != 0) + [asked] * (each.questions != 0)
    return f"{' and '.join(said)} to embed with {each.embedder}" if said else ""


def _called(found: Forecast) -> Iterator[str]:
    for each in found.asking:
        likely = f"about {each.likely:,}, " if each.likely != each.most else ""
        most = "" if each.exact else f"{likely}at most "
        yield (
            f"  {most}{each.most:,} {_noun(each)} by {each.model}: about {each.tokens_in:,} tokens "
            f"in, {_out(each)}"
        )
    for system, count in found.told:
        if count:
            asked = numbers.count(count, "question")
            yield f"  {asked} to ask {system}; what it pays for is not known here"


def _noun(each: Calls) -> str:
    return each.purpose[:-1] if each.most == 1 else each.purpose


def _out(each: Calls) -> str:
    most = f"at most {each.most_out:,} out"
    return most if each.guessed else f"about {each.tokens_out:,} out, {most}"


def _time(found: Forecast) -> Iterator[str]:
    parts: list[str] = []
    unknown: list[str] = []
    for each in found.embeddings:
        if each.seconds:
            parts.append(f"{numbers.duration(each.seconds)} for embedding with {each.embedder}")
    unknown += [f"embedding with {each.model}" for each in found.hosted]
    for calls in found.asking:
        if calls.seconds is not None:
            parts.append(f"{numbers.duration(calls.seconds)} for {calls.purpose} by {calls.model}")
        elif "answers" in calls.purpose:
            unknown.append(f"{calls.purpose} (no answer of {calls.model} is kept)")
        else:
            unknown.append(calls.purpose)
    said = [f"about {' + '.join(parts)}"] if parts else []
    said += [f"not known yet for {', '.join(unknown)}"] if unknown else []
    left = ["reranking"] * bool(found.pairs)
    if found.scoring:
        left.append(f"scoring with {' and '.join(found.scoring)}")
    said += [f"not in it: {', '.join(left)}"] if left else []
    if said:
        yield f"  time: {'; '.join(said)}"


def _money(found: Forecast) -> Iterator[str]:
    if not found.asking and not found.hosted:
        return
    unpriced = found.unpriced or (found.unpriced_embedders if not found.asking else [])
    besides = ", ".join(found.unpriced_embedders)
    if found.currency is None:
        if found.hosted or not all(each.model.startswith("gguf:") for each in found.asking):
            yield "  money: not known; name a price file: `prices: prices.yaml`"
    elif unpriced:
        yield f"  money: not known; the price file has no price of {', '.join(unpriced)}"
    else:
        likely = numbers.money(found.money, found.currency)
        most = numbers.money(found.most_money, found.currency)
        left = f"; not in it: embedding by {besides}" if besides else ""
        yield f"  money: about {likely}, at most {most}{_free(found)}{left}"


def _free(found: Forecast) -> str:
    """Return which models are counted as free."""
    free = dict.fromkeys(
        each.model
        for each in found.asking
        if each.model.startswith("gguf:") and each.most_money == 0
    )
    return f" ({', '.join(free)} counted as 0)" if free else ""
