"""Makes standalone search queries and follow-up questions from a conversation, without a language model."""

import re
from collections.abc import Iterable, Iterator, Sequence

from shared.chat_models.extractive.relevance import Scored, subject_words
from shared.words.stop_words import Language

_LONGEST_QUESTION = 500
"""Characters of a question that are used for the query."""
_MOST_ADDED_WORDS = 12
"""Maximum number of words added from earlier questions."""
_MIN_SUBJECT_WORDS = 2
"""A question with fewer subject words is taken to refer to the question before it."""

_REFERS_BACK = re.compile(
    r"\b(it|its|they|them|their|this|these|those|that one|ones?|same|he|him|she|"
    r"es|ihn|ihm|dies\w{0,2}|davon|dafür|dafuer|dazu|damit|daran|darauf|darüber|darueber|dabei|dort|denen|derselbe)\b",
    re.IGNORECASE,
)
_GERMAN_PRONOUN_DAS = re.compile(r"\bdas\b(?!\s+[A-ZÄÖÜ0-9])")
"""German `das` as a pronoun: no noun (capital letter) or number follows it."""
_STARTS_AS_CONTINUATION = re.compile(
    r"\s*(and|or|but|what about|how about|what else|why|also|und|oder|aber|auch|wie ist es|wie sieht es|was ist mit|"
    r"warum|wieso|sonst)\b",
    re.IGNORECASE,
)

_MOST_FOLLOWUPS = 3
"""Maximum number of follow-up questions."""
_LONGEST_TOPIC = 80
"""Maximum length of a topic in a follow-up question, in characters."""

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
"""Headings that are questions without a question mark. `How to be paid back` and `What the plan covers` do not match.
"""
_NOUN = re.compile(r"(?<=[a-zäöüß,] )[A-ZÄÖÜ][a-zäöüß-]{5,}\b")
"""A capitalized word inside a sentence: a noun in German, a name in English."""


def standalone_query(questions: Sequence[str]) -> str:
    """Return the last question, with words of earlier questions added if it refers to them.

    Args:
        questions: The user's questions, oldest first; at least one.
    """
    *earlier, question = questions
    last = " ".join(question[:_LONGEST_QUESTION].split())
    known = set(subject_words(last))
    added: list[str] = []
    refers = _refers_to_earlier(last)
    while refers and earlier and len(added) < _MOST_ADDED_WORDS:
        before = earlier.pop()[:_LONGEST_QUESTION]
        new = {folded: word.text for folded, word in subject_words(before).items() if folded not in known}
        known |= new.keys()
        added += new.values()
        refers = _refers_to_earlier(before)
    return " ".join([last, *added[:_MOST_ADDED_WORDS]])


def followup_questions(
    statements: Sequence[Scored], answer: Sequence[Scored], asked: Iterable[str], language: Language
) -> list[str]:
    """Suggest at most three follow-up questions.

    Args:
        statements: All statements of the sources.
        answer: The statements in the current answer.
        asked: The user's questions so far.
        language: Language of the follow-up questions.
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
            found.append(_as_question(topic.rstrip(" .:;,!?"), language, _TEMPLATES[language][len(found)]))
        if len(found) == _MOST_FOLLOWUPS:
            break
    return found


def _refers_to_earlier(question: str) -> bool:
    return bool(
        _REFERS_BACK.search(question)
        or _GERMAN_PRONOUN_DAS.search(question)
        or _STARTS_AS_CONTINUATION.match(question)
        or len(subject_words(question)) < _MIN_SUBJECT_WORDS
    )


def _topics(statements: Sequence[Scored]) -> Iterator[str]:
    """Yield topics of the statements, broadest first: headings, then labels of table rows, then nouns."""
    yield from (one.statement.topic for one in statements if one.statement.topic)
    yield from (one.statement.label for one in statements if one.statement.label)
    for one in statements:
        yield from _NOUN.findall(one.statement.text)


def _subject(text: str) -> frozenset[str]:
    return frozenset(word.terms[0] for word in subject_words(text).values())


def _overlap(one: frozenset[str], other: frozenset[str]) -> bool:
    """Whether one subject equals the other or is a part of it."""
    return bool(one and other) and (one <= other or other <= one)


def _as_question(topic: str, language: Language, template: str) -> str:
    return f"{topic}?" if _IS_QUESTION[language].match(topic) else template.format(topic=topic)
