"""Reading files: the text of documents in each format, for uploads and for ingestion."""
