"""Azure AI Content Safety behind the same interface as the RAI service."""
