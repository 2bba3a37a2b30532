"""What is measured of one answer: numbers by name, without those that its question says nothing about.

Ranks follow trec_eval's definitions for documents that are relevant or not; tests compare them with ir_measures.
"""

import math
import re
import unicodedata
from collections.abc import Iterable, Sequence
from functools import cache

from py3langid.langid import MODEL_FILE, LanguageIdentifier

from evaluation.backends import Reply, Source
from evaluation.questions import Question
from shared.citations import citations_in, unverified_citations
from shared.core.context_window import tokens_in

DEPTH = 10
"""Sources that a ranking is measured on."""

_SEPARATED = re.compile(r"(?<=\d)[.,'’\u00a0\u202f](?=\d)")
"""What stands within numbers, which each language writes in its own way: 1,200 and 1.200, 4.50 and 4,50."""
_NO_WORD = re.compile(r"[^\w%]+")
_UNSPACED = r"\u0e00-\u0eff\u1000-\u109f\u1780-\u17ff\u3040-\u30ff\u3400-\u9fff"
"""Scripts without spaces between words: Thai, Lao, Burmese, Khmer, Japanese, Chinese."""
_IN_WORD = rf"[^\W{_UNSPACED}]"

_DONT_KNOW = (
    r"do(es)?( not|n['’]t) (know|contain|mention|say|provide|have|hold|include)",
    r"(cannot|can['’]t|could not|couldn['’]t|unable to) (answer|find)|do not seem to have",
    r"no information|not (mentioned|specified|stated)|sa(y|ys) nothing",
    r"scheint nicht in den",
    r"wei(ß|ss) (ich|es)( das)? nicht|ich wei(ß|ss) (das |es )?nicht|kann .{0,30}nicht beantworten|steht nichts",
    r"keine (angaben?|informationen)|nicht (erwähnt|angegeben)",
    r"no (lo )?sé|no (se )?menciona|no (hay|contienen?) informaci|no puedo responder",
    r"je ne (le )?sais pas|ne (mentionnent|contiennent|précisent) pas|aucune information",
    r"non (lo )?so|nessuna informazione|não sei|nenhuma informação|weet (ik )?(het )?niet|geen informatie",
    r"nie wiem|brak informacji|nu știu|nu conțin|не знаю|нет информации|не (содержат|упомина)|не знам",
    r"no ho sé|nevím|ved jeg ikke|vet (jeg ikke|jag inte)|en tiedä|ei tea\b|nem tudom|nežinau|ez dakit|mi ne scias",
    r"níl a fhios|tidak tahu|نمی‌دانم|לא ידוע|איני יודע|չգիտեմ|थाहा छैन|தெரியாது",
    r"δεν (γνωρίζω|ξέρω|αναφέρ)|bilmiyorum|bilgi (yok|bulun)|لا (أعرف|أعلم|توجد معلومات)",
    r"नहीं (पता|जानत|मालूम)|(पता|मालूम) नहीं|जानकारी नहीं|không (biết|có thông tin)|ไม่(ทราบ|มีข้อมูล)",
    r"不知道|没有(提到|相关|信息)|[无無]法回答|[分わ]か?りません|情報[はが]ありません|모르|정보가 없",
)
"""How answers say that they do not know, as far as we have seen."""
_REFUSALS = re.compile("|".join(rf"(?<!\w)(?:{one})" if one[0].isascii() else one for one in _DONT_KNOW), re.IGNORECASE)
_REFUSAL_LETTERS = 300
"""At the beginning of an answer, where that is looked for."""
_LANGUAGE_LETTERS = 25
"""Letters below which the language of a text is not told."""
_LANGUAGES = (
    *("ar", "bg", "bn", "ca", "cs", "da", "de", "el", "en", "es", "et", "fa", "fi", "fr", "he", "hi", "hr", "hu", "id"),
    *("it", "ja", "ko", "lt", "lv", "nl", "no", "pl", "pt", "ro", "ru", "sk", "sl", "sr", "sv", "th", "tr", "uk", "ur"),
    *("vi", "zh"),
)
"""Those that are told from each other; more would be taken for their neighbours."""


_MORE_WORDS = 3
"""Words beside those of `I don't know` in an answer that says only this, whatever it cites."""
_EARLY = 90
"""Words of an answer that people read."""
_WORDS = re.compile(rf"[{_UNSPACED}]{{1,2}}|{_IN_WORD}+(?:[^\w\s]+{_IN_WORD}+)*")
"""`1,200` is one; in scripts without spaces, two characters are."""
_MARKUP = re.compile(
    r"\{[{%#<]|[>}%#]\}|<!--|-->|</?[A-Za-z][\w-]*(?:\s[^<>]*)?/?>|^:::|^---$|\blayout: ", re.MULTILINE
)
"""What is no text: tags, comments, fences, front matter, and the marks of Liquid, Jinja and Hugo."""


def of_answer(question: Question, reply: Reply, ranking: Sequence[Source]) -> dict[str, float]:
    """Measure an answer.

    Args:
        question: What was asked.
        reply: The answer.
        ranking: The sources that were found, the best first.
    """
    measured = {"seconds": reply.seconds, "sources": float(len(ranking))}
    if reply.tokens:
        measured |= {"prompt_tokens": float(reply.tokens[0]), "completion_tokens": float(reply.tokens[1])}
    if question.sources:
        measured |= _of_ranking(question.sources, ranking)
    refused = is_refusal(reply)
    if question.silent:
        measured["silent_refused"] = float(refused)
    elif question.wanted or question.sources:
        measured["refused"] = float(refused)
    if question.wanted:
        measured |= _of_facts(question, reply, refused=refused)
    elif question.silent:
        measured["claimed"] = float(not refused)
    measured["markup"] = float(bool(_MARKUP.search(reply.text)))
    measured["words"] = float(sum(1 for _ in _WORDS.finditer(uncited(reply.text))))
    if reply.shown:
        measured["question_tokens"] = float(sum(map(tokens_in, reply.shown)))
    unknown = unverified_citations(reply.text, {name for source in reply.sources for name in _names(source)})
    measured["unverified"] = float(bool(unknown))
    if not refused:
        measured["cites"] = float(bool(reply.cited))
        right = [_is_right(question, name, reply.sources) for name in reply.cited]
        if judged := [one for one in right if one is not None]:
            measured["citation_precision"] = sum(judged) / len(judged)
    kept = keeps_language(question, reply.text)
    return measured if kept is None else measured | {"language_kept": float(kept)}


def _of_facts(question: Question, reply: Reply, *, refused: bool) -> dict[str, float]:
    """Measure whether an answer says what is known, and whether the model could have known it.

    The name of a source is an answer to the question in which documents something is.
    """
    text = uncited(reply.text)
    early = next((word.end() for count, word in enumerate(_WORDS.finditer(text), 1) if count == _EARLY), len(text))
    named = [not set(fact).isdisjoint(reply.cited) for fact in question.wanted]
    said = [is_named or holds(text, fact) for is_named, fact in zip(named, question.wanted, strict=True)]
    in_time = [is_named or holds(text[:early], fact) for is_named, fact in zip(named, question.wanted, strict=True)]
    measured = {
        "answer_recall": float(all(said)),
        "said_early": float(all(in_time)),
        "claimed": float(not refused and not any(said)),
    }
    if any(source.text for source in reply.sources) or not reply.sources:
        right = [one for one in reply.sources if not question.sources or _is_any(one, question.sources)]
        held = [{_normal(f"{source.name} {source.text}") for source in right}]
        if reply.shown:  # a source may be shown in part
            held.append({_normal("\n".join(reply.shown))})
        measured["in_prompt"] = float(all(_any_holds(texts, fact) for texts in held for fact in question.wanted))
    return measured


def _of_ranking(wanted: Sequence[str], ranking: Sequence[Source]) -> dict[str, float]:
    """Hits, reciprocal rank and nDCG; each wanted source counts where it is first found."""
    left, gains = list(wanted), list[bool]()
    for source in ranking[:DEPTH]:
        found = next((name for name in left if _is(source, name)), None)
        gains.append(found is not None)
        if found:
            left.remove(found)
    first = next((rank for rank, gain in enumerate(gains, 1) if gain), 0)
    ideal = sum(1 / math.log2(rank + 1) for rank in range(1, min(len(wanted), DEPTH) + 1))
    gained = sum(1 / math.log2(rank + 1) for rank, gain in enumerate(gains, 1) if gain)
    hits = {f"hit@{k}": float(0 < first <= k) for k in (1, 3, 10)}
    return {**hits, "mrr@10": 1 / first if first else 0.0, "ndcg@10": gained / ideal}


def is_refusal(reply: Reply) -> bool:
    """Whether an answer says that it does not know: by its kind, or its first words; if it cites, it says only that."""
    if not (reply.text.strip() and reply.is_answer):
        return True
    said = uncited(reply.text)
    refusal = _REFUSALS.search(said[:_REFUSAL_LETTERS])
    return bool(refusal) and (not reply.cited or len(_WORDS.findall(said.replace(refusal[0], "", 1))) <= _MORE_WORDS)


def holds(text: str, answers: Iterable[str]) -> bool:
    """Whether a text has one of some answers as whole words, whatever their case and punctuation."""
    return _any_holds({_normal(uncited(text))}, answers)


def _any_holds(texts: Iterable[str], answers: Iterable[str]) -> bool:
    wanted = "|".join(re.escape(answer) for answer in map(_normal, answers) if answer)
    pattern = re.compile(rf"(?<!{_IN_WORD})(?:{wanted})(?!{_IN_WORD})")
    return bool(wanted) and any(map(pattern.search, texts))


def uncited(text: str) -> str:
    """A text without what stands in brackets: the names of sources hold words and numbers too."""
    places = [place.span() for place in citations_in(text)]
    for start, end in reversed(places):
        text = f"{text[:start]} {text[end:]}"
    return text


def _normal(text: str) -> str:
    folded = unicodedata.normalize("NFKC", text).casefold()
    return _NO_WORD.sub(" ", _SEPARATED.sub("", folded)).replace(" %", "%").strip()


def _names(source: Source) -> tuple[str, ...]:
    return (source.name, *source.aliases)


def _is_any(source: Source, wanted: Iterable[str]) -> bool:
    return any(_is(source, one) for one in wanted)


def _is(source: Source, wanted: str) -> bool:
    """Whether a source is the wanted one, or a page of the wanted file."""
    return any(name == wanted or name.partition("#page=")[0] == wanted for name in _names(source))


def _is_right(question: Question, cited: str, sources: Sequence[Source]) -> bool | None:
    """Whether a cited source holds the answer: by its text, else by its name; None: nothing tells."""
    named = [source for source in sources if cited in _names(source)]
    if question.wanted and any(source.text for source in named):
        return any(holds(source.text, fact) for source in named for fact in question.wanted)
    if question.sources:
        return any(_is_any(source, question.sources) for source in named or [Source(cited)])
    return None


def keeps_language(question: Question, text: str) -> bool | None:
    """Whether an answer is in the language of its question; None: too short to tell, or not known."""
    asked = question.language.partition("-")[0].lower()
    words = uncited(text)
    if asked not in _LANGUAGES or sum(map(str.isalpha, words)) < _LANGUAGE_LETTERS:
        return None
    return _identifier().classify(words)[0] == asked


@cache
def _identifier() -> LanguageIdentifier:
    identifier = LanguageIdentifier.from_model_file(MODEL_FILE)
    identifier.set_languages(_LANGUAGES)
    return identifier
