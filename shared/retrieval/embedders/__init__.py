"""What makes vectors of texts and images: OpenAI-compatible services and Azure AI Vision."""
