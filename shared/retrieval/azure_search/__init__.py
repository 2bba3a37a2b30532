"""Azure AI Search: search, the index that ingestion writes, and agentic retrieval from a knowledge base."""
