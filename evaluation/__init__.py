"""`make eval`: how good the answers of a chat backend are, on questions with known answers.

It asks over HTTP, as a front end does: the app of this folder, which it starts itself, or any backend by its URL. It is
no part of the deployed app; `docs/evaluation.md` says what it measures and how.
"""


class EvaluationError(Exception):
    """The evaluation cannot go on; the message says what to change."""
