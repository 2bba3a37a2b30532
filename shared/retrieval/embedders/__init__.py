"""Embedders: vectors of texts and images from OpenAI-compatible services and Azure AI Vision."""
