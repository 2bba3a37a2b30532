"""Azure AI Search: search, and the index that ingestion writes."""
