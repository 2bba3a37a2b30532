"""Azure AI Search: the retriever, the index that is written, and agentic retrieval from a knowledge base."""
