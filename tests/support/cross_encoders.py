"""A tiny cross-encoder with weights drawn at random, and what transformers says of a pair."""

import torch
from transformers import AutoTokenizer, BertConfig, BertForSequenceClassification
from transformers.utils import logging

from harness.models.model_files import DEFAULT_MODEL, locate


def tiny(folder, labels=1, seed=3):
    """Save a model of two layers in `folder`, with the tokenizer of all-MiniLM-L6-v2."""
    logging.disable_progress_bar()
    tokenizer = AutoTokenizer.from_pretrained(locate(DEFAULT_MODEL))
    config = BertConfig(
        vocab_size=tokenizer.vocab_size,
        hidden_size=32,
        num_hidden_layers=2,
        num_attention_heads=2,
        intermediate_size=64,
        max_position_embeddings=128,
        num_labels=labels,
        initializer_range=0.5,
    )
    with torch.random.fork_rng():
        torch.manual_seed(seed)
        model = BertForSequenceClassification(config)
    model.save_pretrained(folder)
    tokenizer.model_max_length = 128
    tokenizer.save_pretrained(folder)
    return str(folder)


def logit(folder, question, passage, longest=128):
    """Return the model's number for one pair, by transformers alone."""
    tokenizer = AutoTokenizer.from_pretrained(folder)
    model = BertForSequenceClassification.from_pretrained(folder).eval()
    # In lists, as an empty passage by itself would be no passage.
    pair = tokenizer(
        [question], [passage], truncation=True, max_length=longest, return_tensors="pt"
    )
    with torch.inference_mode():
        return float(model(**pair).logits[0, 0])
