"""The RAI service, over gRPC."""
