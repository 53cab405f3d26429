"""Models: files of models, encoders, chat models, prompts, and HTTP with retries."""
