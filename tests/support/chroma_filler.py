"""A process that builds an index on a Chroma server, in many small requests."""

FILL = """
import sys
from pathlib import Path
from harness.cache.folders import Cache
from harness.index import open_or_build, IndexSettings
from harness.index.local import ChromaClient
from harness.index.index_settings import ChromaServer
from tests.support.given import Given, numbered, unit
url, folder, rows = sys.argv[1], sys.argv[2], int(sys.argv[3])
ChromaClient.max_rows = 50
vectors = unit(rows)
settings = IndexSettings(ef_construction=600, ef_search=600, server=ChromaServer(url, timeout=20))
with Cache(Path(folder)) as cache:
    print("begun", flush=True)
    found = open_or_build(cache, numbered(vectors), Given(vectors), settings)
    print([ranking[0].chunk for ranking in found.nearest(vectors, 1)] == list(range(rows)))
"""
DONE = "begun\nTrue\n"
"""What it prints where each vector is found again."""
