"""The protocols, one file each: bytes to `ChatRequest`, events to JSON records, which `framing` makes bytes."""
