"""Bounds on data from outside: documents, test sets, replies, stored runs.

One place to look them up.
"""

from __future__ import annotations

# Files

MAX_FILE_BYTES = 1 << 28
"""Bytes of a file that is read whole."""
MAX_LINE_BYTES = 1 << 25
"""Bytes of a line; a book on one line of JSON has fewer."""
MAX_PROBLEMS = 1_000
"""Problems after which a file is read no further: it is of another kind, and may be of any size."""

# YAML

MAX_YAML_BYTES = 1 << 20
"""Bytes of a YAML file of keys."""
MAX_YAML_LIST_CHARS = 1 << 25
"""Characters of a YAML file that holds a list."""
MAX_YAML_DEPTH = 50
"""Levels; a list of questions needs four, and what walks them has no more room than Python's."""
MAX_YAML_VALUES = 100_000
"""Values of a document; 100,000 take some seconds."""
MAX_YAML_LIST_VALUES = 500_000
"""Values of a list."""
MAX_YAML_NUMBER_CHARS = 1_000
"""Characters of a number; the time to read one grows with their square."""

# Configurations

MAX_SPEC_CHARS = 20_000
"""Characters of a spec on one line; the time to split one grows with their square."""
MAX_SPEC_COMPONENTS = 1_000
"""Components that one spec stands for."""
MAX_CELLS = 10_000
"""Cells that one configuration stands for."""
MAX_GATE_DRAWS = 1_000_000
"""Draws of a sign-flip test that a gate may ask for; each of a family needs about 2 times its
size / (1 - confidence)."""
MAX_PROMPT_BYTES = 1 << 20
"""Bytes of a prompt's file."""

# Documents and their conversion

MAX_CONVERTED_FILE_BYTES = 1 << 28
"""Bytes of a file that is converted."""
CONVERSION_SECONDS = 120.0
"""Seconds that the conversion of one file may take."""
CONVERSION_MEMORY_BYTES = 4 << 30
"""Bytes of memory that the process which converts may take."""
MAX_ARCHIVE_PARTS = 10_000
"""Parts of a DOCX or PPTX file."""
MAX_ARCHIVE_BYTES = 1 << 29
"""Bytes of all parts of a DOCX or PPTX file, unpacked."""
MAX_ARCHIVE_XML_BYTES = 1 << 26
"""Bytes of its XML parts, unpacked."""
MAX_PDF_PAGES = 20_000
"""Pages of a PDF."""
MAX_PDF_CHARS = 1 << 27
"""Characters of a PDF, as a small file can say the same page over and over."""
MAX_TABLE_VALUES = 10_000_000
"""Values of a table, which is read whole."""
MAX_HTML_DEPTH = 64
"""Blocks in more others than this are cut as if they were in so many."""

# Judgements, rankings and questions of users

MAX_GRADE = 1_000
"""The highest grade, and below 0 the lowest: an exponential gain, 2^grade, is still a number."""
MAX_TREC_LINE_BYTES = 1 << 20
"""Bytes of a line of a TREC file, which holds a few ids and numbers."""
MAX_SCORE_CHARS = 400
"""Characters of a score; the time to read one grows with their square."""
MAX_TRAFFIC_FILE_BYTES = 1 << 27
"""Bytes of a file of users' questions."""
MAX_TRAFFIC_TABLE_BYTES = 1 << 25
"""Bytes of such a file that is a table, which is read whole."""
MAX_TRAFFIC_QUESTION_CHARS = 10_000
"""Characters of a user's question."""

# Replies of models and of systems under test

MAX_REPLY_BYTES = 10_000_000
"""Bytes of an HTTP reply, unpacked."""
MAX_REPLY_TEXT_CHARS = 1_000_000
"""Characters that one text of a reply may have; more is no context and no answer."""
MAX_REPLY_CONTEXTS = 10_000
"""Contexts that one reply may have."""

# People's ratings

MAX_RATINGS_FILE_BYTES = 20_000_000
"""Bytes of a file of ratings; a form of a thousand items with long comments has fewer."""
MAX_COMMENT_CHARS = 10_000
"""Characters of a comment."""
MAX_RATER_NAME_CHARS = 100
"""Characters of the name of a rater."""

# Stored runs

MAX_PAST_RUN_BYTES = 64_000_000
"""Bytes of a run.json in a history; none has that many."""
MAX_DIGEST_BYTES = 1_000_000
MAX_GATE_BYTES = 10_000_000
"""Bytes of a report.json; no digest has that many."""
MAX_FIRST_LINE_BYTES = 1_000_000
"""Bytes of a first line whose end is looked at."""

# Messages that quote what came from outside

MAX_ABOUT_CHARS = 300
"""Characters of what an artefact of the cache says of itself."""
MAX_MESSAGE_LINES = 300
"""Lines of a message."""
MAX_MESSAGE_LINE_CHARS = 2_000
"""Characters of a line of a message."""
MAX_SUGGESTED_NAME_CHARS = 100
"""Characters of a name that is compared with the known ones."""
MAX_ERROR_CHARS = 300
"""Characters of an error of another library or of a reply, as messages quote it."""
MAX_REPLY_QUOTE_CHARS = 200
"""Characters of a model's reply, as messages quote it."""
MAX_VALUE_QUOTE_CHARS = 40
"""Characters of a single value, as messages quote it."""
