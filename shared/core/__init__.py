"""The turn: from a `ChatRequest` to a stream of `ChatEvent`s, with no knowledge of JSON, HTTP or Azure."""
