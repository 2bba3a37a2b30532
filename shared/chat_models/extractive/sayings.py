"""What the model says itself, in many languages, and in which of them."""

import re
from collections.abc import Iterable
from pathlib import Path
from typing import NamedTuple

from shared.words.stop_words import STOP_WORDS, stop_words_in
from shared.words.terms import spelled, words

LONGEST_TOPIC = 80
"""Maximum length of a topic that is named, in characters."""
_LONGEST_TEXT = 2_000
"""Maximum characters of a text that are read to find its language."""
_CHARACTERS_EACH = 40
"""Maximum characters of a text for each letter of a language's own: a formula can have a Greek letter too."""
_LONGEST_GREETING = 4
"""Maximum words of a message whose language is taken from a greeting in it."""
_LEAST_SHARE = 0.25
"""Share of a text's words that are stop words of its language, at least: Swahili has some that are Spanish ones."""


class Sayings(NamedTuple):
    """The sentences of a language; the last three are in English where they are missing."""

    name: str
    """What its speakers call it."""
    letters: str
    """Letters that tell it, as a class of a pattern. Chinese comes last: Japanese has its letters too."""
    greetings: str
    """Words of messages that ask for nothing."""
    points_back: str
    """First words of sentences that refer to the sentence before, in the languages that most documents here are in."""
    question: str
    """How a `{topic}` becomes a question."""
    unsaid: str
    """Says that no sentence says it, before the nearest passage; with a space behind it."""
    nearest: str
    """Introduces the nearest passage, where no sentence is an answer."""
    nothing: str
    """The answer where nothing comes near. It does not claim that the documents say nothing: a search can miss."""
    about: str
    """Introduces titles of documents that can be asked about."""
    by_meaning: str
    """Says what finds documents in another language than the question's."""
    nothing_to_add: str
    no_documents: str
    only_quotes_files: str


_LINES = Path(__file__).with_name("sayings.txt").read_text(encoding="utf-8").splitlines()
_SAID = {language: said for language, *said in (line.split("|") for line in _LINES)}
SAYINGS = {language: Sayings(*said, *_SAID["en"][len(said) :]) for language, said in _SAID.items()}
"""By language: the first part of a BCP 47 tag."""
_SAME = {"nb": "no", "nn": "no"}
GREETINGS = {spelled(word): language for language, said in SAYINGS.items() for word in said.greetings.split()}
"""Words of messages that ask for nothing, with their language."""
POINTS_BACK = frozenset(spelled(word) for said in SAYINGS.values() for word in said.points_back.split())
_LETTERS = {language: re.compile(f"[{said.letters}]") for language, said in SAYINGS.items() if said.letters}


def told_language(text: str) -> str | None:
    """Tell the language of a text, a key of `SAYINGS`; None if it is not certain."""
    text = text[:_LONGEST_TEXT]
    every = list(words(text))
    counts = stop_words_in(every)
    most = max(counts.values(), default=0)
    likely = [one for one in STOP_WORDS if counts[one] == most] if most >= max(2, _LEAST_SHARE * len(every)) else []
    if len(likely) == 1:
        return likely[0] if likely[0] in SAYINGS else None
    greeted = (GREETINGS[word] for word in map(spelled, every[:_LONGEST_GREETING]) if word in GREETINGS)
    told = (one for one, letters in _LETTERS.items() if len(letters.findall(text)) * _CHARACTERS_EACH >= len(text) > 0)
    found = next(greeted if len(every) <= _LONGEST_GREETING else told, None) or next(told, None)
    return found if not likely or found in likely else None


def reply_language(said: Iterable[str], wanted: str | None, accepted: str, documents: str) -> str:
    """Choose the language to speak in, a key of `SAYINGS`: the first that is known.

    That of what the user has `said`, the last question first; the `wanted` one, which front ends send as that of their
    menus; the first that the client `accepted` by the header; that of the `documents`; English.
    """
    tags = (*(told_language(text) or "" for text in said), wanted or "")
    accepts = (tag.partition(";")[0].strip() for tag in accepted.split(","))
    for tag in (*tags, *accepts):
        language = tag.partition("-")[0].lower()
        if (language := _SAME.get(language, language)) in SAYINGS:
            return language
    return told_language(documents) or "en"
