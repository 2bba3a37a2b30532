"""The part of py3langid that `make eval` uses: the package has no types."""

from collections.abc import Sequence
from pathlib import Path
from typing import Self

MODEL_FILE: Path

class LanguageIdentifier:
    @classmethod
    def from_model_file(cls, model_file: Path, *, norm_probs: bool = ...) -> Self: ...
    def set_languages(self, langs: Sequence[str] | None = ...) -> None: ...
    def classify(self, text: str) -> tuple[str, float]: ...
