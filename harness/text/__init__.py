"""Text processing: tokens, sentences, normal forms, spans, escaping, quotes."""
