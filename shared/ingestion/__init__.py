"""Ingestion: fills a `PassageIndex` from a folder of documents, and from those that others put into the store.

`ingest` drives a folder file by file, and `folder` lists what is there; `sync` follows the store. `document` does one
document: `readers` turn a file into pages of clean text, `scans` has text recognized where there is none, `splitting`
cuts pages into passages, `page_images` keeps images of the pages, `fingerprints` tell what is done already and where it
came from. The command is `python -m shared.ingestion`, with `DOCS` or with `--sync`.
"""
