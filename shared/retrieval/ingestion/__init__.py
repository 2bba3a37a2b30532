"""Ingestion: fills a `PassageIndex` from a folder of documents.

`ingest` drives it file by file: `folder` lists what is there, `readers` turn a file into pages of clean text,
`splitting` cuts pages into passages, and `copies` keeps the documents that answers cite. The command is
`python -m shared.retrieval.ingestion DOCS`.
"""
