"""What the app uses of snowballstemmer, which has no types."""

class _Stemmer:
    def stemWord(self, word: str, /) -> str: ...  # noqa: N802

def stemmer(lang: str) -> _Stemmer: ...
