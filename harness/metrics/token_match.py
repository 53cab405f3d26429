"""Computes BERTScore for pairs of texts, bit for bit the same whatever else is scored.

Not by `bert_score.score`: `make bench` holds this to 0.7 of that function's time, and there the
values of a pair depend on the others in its batch.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence
from functools import lru_cache
from typing import Any

from harness.errors import MissingExtra, ModelError
from harness.files.batches import batched
from harness.metrics.references import AnswerPair
from harness.models import runtime
from harness.models.model_files import hide_progress_bars, locate
from harness.models.runtime import processor
from harness.models.runtime.processor import Device

PrecisionRecallF1 = tuple[float, float, float]
_Embedding = tuple[Any, Any, Any]
"""Of one text: its vectors (tokens × width), mask and weights (one a token), all tensors."""

_TOKENS_PER_BATCH: dict[Device, int] = {"cpu": 64, "cuda": 65_536}
"""Tokens per model batch: as many texts of one length as fit, or one longer text."""

_PAIRS_PER_BATCH = 256
_MAX_TOKENS_CACHED, _MAX_PAIRS_CACHED = 50_000, 100_000


class TokenMatcher:
    """One model's embeddings of texts, and the values of pairs of them, by bert-score's own code.

    The last bits of an embedding depend on the shape of the batch that it is made in, and in a
    padded match padding even stands in for a token whose best match is negative. A text is
    therefore embedded in a shape that its own length sets, without padding, and a pair is matched
    alone: its values are the same in any company. A graphics card gets as many texts of one length
    as there are, up to its budget of tokens, and the last digits differ.
    """

    def __init__(self, model: Any, tokenizer: Any, device: Device = "cpu") -> None:
        self._model, self._tokenizer, self._device = model, tokenizer, device
        self._weights = defaultdict(lambda: 1.0)
        self._weights[tokenizer.sep_token_id] = self._weights[tokenizer.cls_token_id] = 0.0
        self._embeddings: dict[str, _Embedding] = {}
        self._scores: dict[AnswerPair, PrecisionRecallF1] = {}

    def compare(self, pairs: Sequence[AnswerPair]) -> list[PrecisionRecallF1]:
        """Return precision, recall and F of each pair, each the best over its references.

        Earlier pairs are remembered: three metrics ask for them, and cells that answered alike.
        """
        new = [pair for pair in dict.fromkeys(pairs) if pair not in self._scores]
        for batch in batched(new, _PAIRS_PER_BATCH):
            texts = dict.fromkeys(text for answer, refs in batch for text in (answer, *refs))
            if sum(len(vectors) for vectors, *_ in self._embeddings.values()) > _MAX_TOKENS_CACHED:
                self._embeddings.clear()
            unknown = [text for text in texts if text not in self._embeddings]
            self._embeddings.update(zip(unknown, self._embed(unknown), strict=True))
            for answer, refs in batch:
                answered = self._embeddings[answer]
                rows = [_match(answered, self._embeddings[text]) for text in refs]
                precision, recall, f1 = (max(column) for column in zip(*rows, strict=True))
                self._scores[answer, refs] = precision, recall, f1
        scores = [self._scores[pair] for pair in pairs]
        if len(self._scores) > _MAX_PAIRS_CACHED:
            self._scores.clear()
        return scores

    def truncated(self, texts: Sequence[str]) -> list[bool]:
        """Return of each text whether it has more tokens than the model reads, marks included."""
        window = self._tokenizer.model_max_length
        # A token stands for a byte or more, so most texts need not be cut into tokens once again.
        return [
            len(text.encode()) + 2 > window
            and len(self._tokenizer.encode(text, truncation=False, verbose=False)) > window
            for text in texts
        ]

    def _embed(self, texts: list[str]) -> list[_Embedding]:
        from bert_score.utils import get_bert_embedding, sent_encode

        by_length = defaultdict(list)
        for text in texts:
            by_length[len(sent_encode(self._tokenizer, text))].append(text)
        embeddings = {}
        for length, group in by_length.items():
            rows = max(1, _TOKENS_PER_BATCH[self._device] // length)
            for batch in batched(group, rows):
                spare = rows - len(batch) if self._device == "cpu" else 0
                vectors, masks, weights = get_bert_embedding(
                    [*batch, *[batch[-1]] * spare],
                    self._model,
                    self._tokenizer,
                    self._weights,
                    device=self._device,
                )
                # Copies, as a part of a batch would keep the whole of it in memory.
                for text, vector, mask, weight in zip(batch, vectors, masks, weights, strict=False):
                    embeddings[text] = (
                        vector.float().cpu().clone(),
                        mask.cpu().clone(),
                        weight.float().cpu().clone(),
                    )
        return [embeddings[text] for text in texts]


def _match(answer: _Embedding, reference: _Embedding) -> PrecisionRecallF1:
    from bert_score.utils import greedy_cos_idf

    # Copies, as bert-score brings what it is given to length 1 in place.
    reference_parts, answer_parts = (
        [part[None].clone() for part in parts] for parts in (reference, answer)
    )
    precision, recall, f1 = (
        float(value) for value in greedy_cos_idf(*reference_parts, *answer_parts)
    )
    return precision, recall, f1


@lru_cache(maxsize=2)
def load_matcher(model: str, layer: int) -> TokenMatcher:
    """Return the matcher for `model`, read up to `layer`; the last two are kept.

    Raises:
        MissingExtra: bert-score is not installed.
        ModelError: there is no such model, or it has no such layer.
    """
    try:
        from bert_score.utils import get_model, get_tokenizer
    except ModuleNotFoundError as error:
        raise MissingExtra("metric 'bertscore'", str(error.name), "offline") from None
    hide_progress_bars()
    device = processor.device()
    try:
        folder = str(locate(model))
        encoder, tokenizer = get_model(folder, layer), get_tokenizer(folder, True)
    except (OSError, ValueError, AssertionError) as error:
        raise ModelError(f"model {model!r} cannot be used for BERTScore: {error}") from None
    if device == "cpu":
        return TokenMatcher(runtime.faster_encoder(encoder), tokenizer)
    if processor.default_precision() == "bfloat16":
        encoder = encoder.bfloat16()
    return TokenMatcher(encoder.to(device), tokenizer, device)
