"""From the last question of a conversation to a search query that stands alone, without a language model."""

import re
from collections.abc import Sequence

from shared.chat_models.extractive.relevance import telling_words

_LONGEST_QUESTION = 500
"""Characters of a question that go into the query."""
_MOST_ADDED = 12
"""Words taken over from the questions before."""
_SHORT = 2
"""A question with so few telling words or less may lean on the one before."""

_REFERS_BACK = re.compile(
    r"\b(it|its|they|them|their|this|these|those|that one|ones?|same|he|him|she|"
    r"es|ihn|ihm|dies\w{0,2}|davon|dafür|dafuer|dazu|damit|daran|darauf|darüber|darueber|dabei|dort|denen|derselbe)\b",
    re.IGNORECASE,
)
_REFERS_BACK_BY_CASE = re.compile(r"\bdas\b(?!\s+[A-ZÄÖÜ0-9])")
"""German `das` that is no article: no noun follows it."""
_CONTINUES = re.compile(
    r"\s*(and|or|but|what about|how about|what else|why|also|und|oder|aber|auch|wie ist es|wie sieht es|was ist mit|"
    r"warum|wieso|sonst)\b",
    re.IGNORECASE,
)


def standalone_query(questions: Sequence[str]) -> str:
    """The last question, with the subject of those before it if it leans on them.

    Args:
        questions: What the user asked, oldest first; at least one.
    """
    *earlier, question = questions
    last = " ".join(question[:_LONGEST_QUESTION].split())
    known = set(telling_words(last))
    added: list[str] = []
    leans = _leans(last)
    while leans and earlier and len(added) < _MOST_ADDED:
        before = earlier.pop()[:_LONGEST_QUESTION]
        new = {folded: word.text for folded, word in telling_words(before).items() if folded not in known}
        known |= new.keys()
        added += new.values()
        leans = _leans(before)
    return " ".join([last, *added[:_MOST_ADDED]])


def _leans(question: str) -> bool:
    return bool(
        _REFERS_BACK.search(question)
        or _REFERS_BACK_BY_CASE.search(question)
        or _CONTINUES.match(question)
        or len(telling_words(question)) < _SHORT
    )
