"""The playground's files, read without a browser."""
