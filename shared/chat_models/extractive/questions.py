"""Search queries that stand alone, and follow-up questions, made from a conversation without a language model."""

import re
from collections.abc import Iterable, Iterator, Sequence

from shared.chat_models.extractive.relevance import Scored, telling_words
from shared.words.stop_words import Language

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

_MOST = 3
_LONGEST_TOPIC = 80
"""Characters."""

_TEMPLATES: dict[Language, tuple[str, ...]] = {
    "en": (
        "What do the documents say about “{topic}”?",
        "What should I know about “{topic}”?",
        "Can you tell me more about “{topic}”?",
    ),
    "de": (
        "Was steht in den Dokumenten zu „{topic}“?",
        "Was muss ich über „{topic}“ wissen?",
        "Was gilt beim Thema „{topic}“?",
    ),
}
_IS_QUESTION: dict[Language, re.Pattern[str]] = {
    "en": re.compile(r"(who|what|which|why|how|where)\b(?! (to|the|an?|you|your|we|our|it|they)\b)", re.IGNORECASE),
    "de": re.compile(
        r"(wer|was|welche[rsmn]?|warum|wie|wo)\b(?! (der|die|das|den|dem|ein|eine|sie|wir|ihr|ich|man|es)\b)",
        re.IGNORECASE,
    ),
}
"""Titles that are questions but for their mark; `How to be paid back` and `What the plan covers` are none."""
_NOUN = re.compile(r"(?<=[a-zäöüß,] )[A-ZÄÖÜ][a-zäöüß-]{5,}\b")
"""A capital inside a sentence: a noun in German, a name in English."""


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


def followup_questions(
    statements: Sequence[Scored], answer: Sequence[Scored], asked: Iterable[str], language: Language
) -> list[str]:
    """At most three questions to go on with.

    Args:
        statements: All that the sources say.
        answer: Those that were just said.
        asked: The user's questions so far.
        language: The language to ask in.
    """
    known = [_subject(question) for question in asked]
    known += [_subject(one.statement.topic) for one in answer if one.statement.topic]
    said = {one.statement.text for one in answer}
    answering = {one.sourcepage for one in answer}
    unsaid = [one for one in statements if one.statement.text not in said]
    found: list[str] = []
    for topic in _topics(sorted(unsaid, key=lambda one: one.sourcepage not in answering)):
        subject = _subject(topic)
        is_title = topic[:1].isupper() and len(topic) <= _LONGEST_TOPIC
        if is_title and subject and not any(_overlap(subject, other) for other in known):
            known.append(subject)
            found.append(_worded(topic.rstrip(" .:;,!?"), language, _TEMPLATES[language][len(found)]))
        if len(found) == _MOST:
            break
    return found


def _leans(question: str) -> bool:
    return bool(
        _REFERS_BACK.search(question)
        or _REFERS_BACK_BY_CASE.search(question)
        or _CONTINUES.match(question)
        or len(telling_words(question)) < _SHORT
    )


def _topics(statements: Sequence[Scored]) -> Iterator[str]:
    """What the statements are about, the broadest first: headings, then rows of tables, then nouns."""
    yield from (one.statement.topic for one in statements if one.statement.topic)
    yield from (one.statement.label for one in statements if one.statement.label)
    for one in statements:
        yield from _NOUN.findall(one.statement.text)


def _subject(text: str) -> frozenset[str]:
    return frozenset(word.terms[0] for word in telling_words(text).values())


def _overlap(one: frozenset[str], other: frozenset[str]) -> bool:
    """Whether one subject is the other, or a part of it."""
    return bool(one and other) and (one <= other or other <= one)


def _worded(topic: str, language: Language, template: str) -> str:
    return f"{topic}?" if _IS_QUESTION[language].match(topic) else template.format(topic=topic)
