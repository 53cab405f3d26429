"""The stored run: writing, reading, integrity and exports of a run's folder."""
