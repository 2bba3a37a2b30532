"""The built-in index: one SQLite file, with full-text search (FTS5) and vectors (sqlite-vec)."""
