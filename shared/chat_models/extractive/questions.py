"""Makes standalone search queries and follow-up questions from a conversation, without a language model."""

import json
import re
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from itertools import combinations, groupby
from pathlib import Path

from shared.chat_models.extractive.relevance import LONGEST_QUESTION, subject_words
from shared.chat_models.extractive.sayings import GREETINGS, LONGEST_TOPIC, SAYINGS
from shared.chat_models.extractive.statements import QUESTION_MARKS, Statement
from shared.chat_types import Message, Role
from shared.history.contents import title_of
from shared.words.stop_words import DOCUMENTS, LIGHT, MENTIONING, joining_words
from shared.words.terms import ends_of, spelled, words

_MOST_ADDED_WORDS = 12
"""Maximum number of words added from earlier questions."""
_MIN_SUBJECT_WORDS = 2
"""A question with fewer subject words and without an auxiliary verb is a fragment, such as `With family?`."""

_LINES = Path(__file__).with_name("questions.txt").read_text(encoding="utf-8").splitlines()
_PATTERNS = {
    name: re.compile(pattern, re.IGNORECASE)
    for name, between, pattern in (line.partition(": ") for line in _LINES)
    if between and not name.startswith("//")
}
_MOST_PARTS = 3
"""Maximum number of questions in one."""
_LEAST_GRAMMAR = 2
"""Stop words and words that ask in what is a question of its own: `what is the fee` has three."""
_FIRST_WORDS = 4
"""Words of a question among which what it asks for is."""
_MOST_FOLLOWUPS = 3
"""Maximum number of follow-up questions."""
_SHORTEST_TOPIC = 6
"""Characters of a name or a word that can be a topic."""
_UNSPACED = re.compile("[\u3400-\u9fff\uf900-\ufaff\uac00-\ud7a3]{2,}")
_LENGTHS = range(2, 7)
"""Characters of topics in Han and Hangul: parts of words, which have no spaces or have endings."""


def asks_for_nothing(questions: Sequence[str]) -> bool:
    """Whether the last of some questions asks nothing that documents could tell: a greeting, thanks, who is here."""
    question = questions[-1][:LONGEST_QUESTION]
    if subject_words(question).keys() - GREETINGS.keys():
        return False
    greets = any(spelled(word) in GREETINGS for word in words(question))
    return len(questions) == 1 or greets or bool(_PATTERNS["about_us"].search(question))


def standalone_query(questions: Sequence[str]) -> str:
    """Return the last question of some, oldest first, with words of earlier ones added if it refers to them."""
    *earlier, question = questions
    last = " ".join(ends_of(question, LONGEST_QUESTION).split())
    known = set(subject_words(last))
    added: list[str] = []
    refers = _refers_to_earlier(last)
    while refers and earlier and len(added) < _MOST_ADDED_WORDS:
        before = earlier.pop()[:LONGEST_QUESTION]
        new = {folded: word.text for folded, word in subject_words(before).items() if folded not in known}
        known |= new.keys()
        added += new.values()
        refers = _refers_to_earlier(before)
    return " ".join([last, *added[:_MOST_ADDED_WORDS]])


def parts_asked(question: str) -> list[str]:
    """Split a question into the two or three that it asks; empty: it asks one.

    `How long is A, and what is B?` asks for each. What is compared, as in `A B or C B`, and `A and C B`, takes along
    the words that only the other has.
    """
    text = " ".join(ends_of(question, LONGEST_QUESTION).split())
    joining, pieces = joining_words(text), [""]
    for word in text.split():
        if spelled(word) in joining:
            pieces.append("")
            continue
        pieces[-1] = f"{pieces[-1]} {word}".strip()
        if word.endswith(QUESTION_MARKS):
            pieces.append("")
    parts = [piece.rstrip(" ,") for piece in pieces if subject_words(piece)]
    if not 1 < len(parts) <= _MOST_PARTS:
        return []
    asked = [[word.text for word in subject_words(part).values()] for part in parts]
    if len(parts) == 2 and len(list(words(parts[1]))) - len(asked[1]) < _LEAST_GRAMMAR:
        first, second = asked
        same = min(len(first), len(second))
        return [" ".join((*first, *second[same:])), " ".join((*first[: len(first) - same], *second))]
    return parts


def documents_mentioning(question: str, statements: Sequence[Statement]) -> str:
    """Name the documents that have what a question asks for, where it asks which do; empty: it asks something else."""
    every = [spelled(word) for word in words(question[:LONGEST_QUESTION])]
    if DOCUMENTS.isdisjoint(every[:_FIRST_WORDS]) or MENTIONING.isdisjoint(every):
        return ""
    wanted = [word for key, word in subject_words(question).items() if key not in DOCUMENTS | MENTIONING]
    found = [one.sourcepage for one in statements if all(not one.passage.isdisjoint(word.terms) for word in wanted)]
    return "\n".join(f"- [{name}]" for name in dict.fromkeys(found)) if wanted else ""


def followups(statements: Sequence[Statement], answer: Sequence[Statement], asked: Sequence[str], language: str) -> str:
    """Suggest at most three follow-up questions about what was not said, a line `<<question>>` each."""
    languages = tuple({one.language: None for one in statements})
    known = [*filter(None, (_subject(one, languages) for one in (*asked, *(one.topic or "" for one in answer))))]
    said = {one.text for one in answer}
    answering = {one.sourcepage for one in answer}
    unsaid = [one for one in statements if one.text not in said]
    found: list[str] = []
    for topic in _topics(sorted(unsaid, key=lambda one: one.sourcepage not in answering)):
        subject = _subject(topic, languages)
        if len(topic) <= LONGEST_TOPIC and subject and not any(subject <= one or one <= subject for one in known):
            known.append(subject)
            found.append(topic)
        if len(found) == _MOST_FOLLOWUPS:
            break
    return topic_questions(found, language)


def topic_questions(topics: Sequence[str], language: str) -> str:
    """Ask about at most three topics, a line `<<question>>` each."""
    template = SAYINGS[language].question
    asked = [one if one.endswith(QUESTION_MARKS) else template.format(topic=one.rstrip(" .:;,!")) for one in topics]
    return "".join(f"\n<<{one}>>" for one in asked[:_MOST_FOLLOWUPS])


def _refers_to_earlier(question: str) -> bool:
    """Whether a question goes on from the one before it, is a fragment, or has a word for a noun that it lacks."""
    subject = subject_words(question)
    is_whole = len(subject) >= _MIN_SUBJECT_WORDS or (
        subject.keys() - LIGHT and _PATTERNS["auxiliary"].search(question)
    )
    goes_on = _PATTERNS["goes_on"].match(question) or spelled(next(words(question), "")) in joining_words(question)
    if goes_on or not is_whole:
        return True
    second = _PATTERNS["second_clause"].search(question)
    if second and len(subject_words(question[: second.start()])) >= _MIN_SUBJECT_WORDS:
        question = question[: second.start()]
    return bool(_PATTERNS["refers_back"].search(_PATTERNS["refers_to_nothing"].sub("", question)))


def _topics(statements: Sequence[Statement]) -> Iterator[str]:
    """Yield headings, then labels of table rows, then names; if there are no titles, also what is said most often."""
    titles = [one.topic for one in statements] + [one.label for one in statements]
    shown = [title for title in titles if title and not title[:1].islower()]
    yield from shown
    for pieces_of in (_names,) if shown else (_names, _parts):
        counts = Counter(piece for one in statements for piece in pieces_of(one.text))
        yield from sorted(counts, key=lambda piece: (1 - counts[piece]) * len(piece))


def _names(text: str) -> Iterator[str]:
    """Yield the words in a row inside a sentence that begin with capital letters: names, or nouns in German."""
    for piece in re.split(r"[^\w\s'’-]+", text[:1].lower() + text[1:]):
        for is_name, found in groupby(piece.split(), lambda word: word[0].isupper()):
            if is_name and len(name := " ".join(found)) >= _SHORTEST_TOPIC:
                yield name


def _parts(text: str) -> Iterable[str]:
    """The long words of a text, and the parts of Chinese, Japanese and Korean words, each once."""
    found = dict.fromkeys(word for word in words(text) if len(word) >= _SHORTEST_TOPIC and not word[0].isupper())
    for run in _UNSPACED.findall(text):
        ends = combinations(range(len(run) + 1), 2)
        found |= dict.fromkeys(run[start:end] for start, end in ends if end - start in _LENGTHS)
    return found


def _subject(text: str, languages: Sequence[str]) -> frozenset[str]:
    return frozenset(word.terms[0] for word in subject_words(text, languages).values())


_FIRST_SAID = (
    re.compile(r'"(?:text|mainText|content)"\s*:\s*"((?:[^"\\]|\\.)+)"'),
    re.compile(r"^\W*(?:user|human)\s*:\s*(.+)", re.IGNORECASE | re.MULTILINE),
    re.compile(r"```\s*\n(.+)"),
)
"""What was said first, in a chat that a front end sends in a message for a title of it."""


def title_of_chat(messages: Sequence[Message]) -> str:
    """Return the first words of a chat as its title: of its messages, or of those that the last one quotes."""
    first, *more = [message.content for message in messages if message.role is Role.USER]
    quoted = next((found[1] for pattern in _FIRST_SAID if (found := pattern.search(first))), None)
    said = first if more else quoted or first.strip().rpartition("\n\n")[2]
    return json.dumps({"title": title_of(said)}) if '"title"' in messages[-1].content else title_of(said)
