"""What the model says itself, in many languages, and in which of them."""

import re
from collections.abc import Iterable
from pathlib import Path
from typing import NamedTuple

from shared.words.stop_words import STOP_WORDS, stop_words_in
from shared.words.terms import spelled, words

_LONGEST_TEXT = 2_000
"""Characters of a text that its language is told by."""
_MOST_ACCEPTED = 10
"""Languages of `Accept-Language` that are looked at."""
_CHARACTERS_EACH = 40
"""Characters of a text for each such letter, at most: a Greek one can be in a formula."""
_LONGEST_GREETING = 4
"""Words of a message whose language a greeting tells."""
_LEAST_SHARE = 0.25
"""Share of a text's words that are stop words of its language, at least: Swahili has some that are Spanish ones."""


class Sayings(NamedTuple):
    """The sentences of a language."""

    name: str
    """What its speakers call it."""
    nearest: str
    """Introduces the nearest passage, where no sentence is an answer."""
    nothing: str
    """The answer where nothing comes near. It does not claim that the documents say nothing: a search can miss."""
    about: str
    """Introduces titles of documents that can be asked about."""


def _listed() -> dict[str, Sayings]:
    lines = Path(__file__).with_name("sayings.txt").read_text(encoding="utf-8").splitlines()
    return {language: Sayings(*said) for language, *said in (line.split("|") for line in lines)}


SAYINGS = _listed()
"""By language: the first part of a BCP 47 tag."""
_SAME = {"nb": "no", "nn": "no"}
_GREETINGS = {
    "en": "hi hello hey thanks thank help bye goodbye good morning evening cool great ok okay welcome",
    "de": "hallo moin servus danke hilfe tschüss guten tag morgen abend prima",
    "es": "hola gracias ayuda adiós buenos días",
    "fr": "bonjour salut merci aide bonsoir",
    "it": "ciao grazie aiuto buongiorno",
    "pt": "olá oi obrigado obrigada ajuda",
    "nl": "hoi dank bedankt hulp",
    "pl": "cześć dziękuję pomoc",
    "tr": "merhaba teşekkürler yardım",
    "ru": "привет здравствуйте спасибо помощь",
    "zh": "你好 您好 谢谢 帮助",
    "ja": "こんにちは ありがとう ヘルプ",
}
_LANGUAGES_OF_GREETINGS = {
    spelled(word): language for language, listed in reversed(_GREETINGS.items()) for word in listed.split()
}
GREETINGS = _LANGUAGES_OF_GREETINGS.keys()
"""Words of messages that ask for nothing."""

_UNSPACED = (
    ("ja", re.compile("[\u3040-\u30ff]")),
    ("zh", re.compile("[\u3400-\u9fff\uf900-\ufaff\U00020000-\U0003ffff]")),
    ("ko", re.compile("[\u1100-\u11ff\uac00-\ud7a3]")),
    ("th", re.compile("[\u0e00-\u0e7f]")),
)
"""Scripts of languages without stop words. Japanese comes before Chinese, as it has Chinese characters too."""
_OTHER_WORD = re.compile("[A-Za-z\u00c0-\u024f\u0370-\u06ff]+")
_LETTERS = (
    ("el", re.compile("[\u0370-\u03ff\u1f00-\u1fff]")),
    ("uk", re.compile("[іїєґ]", re.IGNORECASE)),
    ("ru", re.compile("[ыэё]", re.IGNORECASE)),
    ("ar", re.compile("[ةىأإ]")),
    ("hy", re.compile("[\u0530-\u058f]")),
    ("he", re.compile("[\u0590-\u05ff]")),
    ("ta", re.compile("[\u0b80-\u0bff]")),
    ("tr", re.compile("[ğıĞİşŞ]")),
    ("ro", re.compile("[ășț]", re.IGNORECASE)),
    ("pl", re.compile("[ąęłńśźż]", re.IGNORECASE)),
    ("vi", re.compile("[\u1ea0-\u1ef9ơư]", re.IGNORECASE)),
    ("es", re.compile("[ñ¿¡]", re.IGNORECASE)),
    ("de", re.compile("ß")),
)
"""Letters that one of the languages has, and tell it where stop words do not, as in `Ce a tradus …?`."""


def told_language(text: str) -> str | None:
    """Tell the language of a text, a key of `SAYINGS`; None if it is not certain."""
    text = text[:_LONGEST_TEXT]
    characters = sum(len(script.findall(text)) for _, script in _UNSPACED)
    if characters > len(_OTHER_WORD.findall(text)):
        return next(language for language, script in _UNSPACED if script.search(text))
    every = list(words(text))
    counts = stop_words_in(every)
    most = max(counts.values(), default=0)
    if most >= max(2, _LEAST_SHARE * len(every)):
        likely = [language for language in STOP_WORDS if counts[language] == most]
        if len(likely) == 1:
            return likely[0] if likely[0] in SAYINGS else None
        return next((one for one, letters in _LETTERS if one in likely and letters.search(text)), None)
    greeted = next((found for word in every if (found := _LANGUAGES_OF_GREETINGS.get(spelled(word)))), None)
    told = (one for one, letters in _LETTERS if len(letters.findall(text)) * _CHARACTERS_EACH >= len(text) > 0)
    return greeted if greeted and len(every) <= _LONGEST_GREETING else next(told, None)


def reply_language(said: Iterable[str], wanted: str | None, accepted: str, documents: str) -> str:
    """Choose the language to speak in, a key of `SAYINGS`.

    It is the first that is known: that of the conversation, the wanted one, the first that the client accepts, that of
    the documents, English.

    Args:
        said: The user's questions, the last one first.
        wanted: A BCP 47 tag that the request names: front ends send the language of their menus.
        accepted: The header `Accept-Language`.
        documents: Text of the documents.
    """
    tags = (*(told_language(text) or "" for text in said), wanted or "")
    accepts = (tag.partition(";")[0].strip() for tag in accepted.split(",")[:_MOST_ACCEPTED])
    for tag in (*tags, *accepts):
        language = tag.partition("-")[0].lower()
        if (language := _SAME.get(language, language)) in SAYINGS:
            return language
    return told_language(documents) or "en"
