"""The built-in model in many languages: what it says when it knows nothing, and where sentences end."""

from collections.abc import AsyncGenerator
from copy import replace
from functools import cache
from pathlib import Path

import pytest
from py3langid.langid import MODEL_FILE, LanguageIdentifier

from shared.chat_models import ModelRequest
from shared.chat_models.extractive.model import ExtractiveModel
from shared.chat_models.extractive.relevance import subject_words
from shared.chat_models.extractive.sayings import SAYINGS
from shared.chat_models.extractive.statements import statements_of
from shared.chat_types import ChatRequest, Message, Overrides, Passage, Role
from shared.core.source_images import SourceImages
from shared.core.turn import run_turn
from shared.documents.file_store import FileStore
from shared.events import TextDelta
from shared.retrieval import FileEntry
from shared.retrieval.sqlite.index import SqliteIndex
from shared.retrieval.sqlite.retriever import SqliteRetriever
from shared.runtime.late_imports import Late
from shared.words.stop_words import language_of
from tests.chat_models.model_contract import CONTEXT, answer

CAPITAL_OF_FRANCE = {
    "ar": "ما هي عاصمة فرنسا؟",
    "ca": "Quina és la capital de França i on és?",
    "cs": "Jaké je hlavní město Francie a kde leží?",
    "da": "Hvad er hovedstaden i Frankrig, og hvornår blev den det?",
    "de": "Was ist die Hauptstadt von Frankreich?",
    "el": "Ποια είναι η πρωτεύουσα της Γαλλίας;",
    "en": "What is the capital of France?",
    "eo": "Kio estas la ĉefurbo de Francio?",
    "es": "¿Cuál es la capital de Francia?",
    "et": "Mis on Prantsusmaa pealinn ja millal see selleks sai?",
    "eu": "Zein da Frantziako hiriburua eta non dago?",
    "fa": "پایتخت فرانسه کجا است؟",
    "fi": "Mikä on Ranskan pääkaupunki ja missä se on?",
    "fr": "Quelle est la capitale de la France ?",
    "ga": "Cad é an phríomhchathair agus cá bhfuil sí?",
    "he": "מהי בירת צרפת?",
    "hi": "फ्रांस की राजधानी क्या है?",
    "hu": "Mi Franciaország fővárosa, és hol van?",
    "hy": "Ո՞րն է Ֆրանսիայի մայրաքաղաքը։",
    "id": "Apa ibu kota negara Prancis dan di mana letaknya?",
    "it": "Qual è la capitale della Francia?",
    "ja": "フランスの首都はどこですか。",
    "ko": "프랑스의 수도는 어디입니까?",
    "lt": "Kas yra Prancūzijos sostinė ir kur ji yra?",
    "ne": "फ्रान्सको राजधानी कुन हो र कहाँ छ?",
    "nl": "Wat is de hoofdstad van Frankrijk en waar ligt het?",
    "no": "Hva er hovedstaden i Frankrike, og hvordan ble den det?",
    "pl": "Jaka jest stolica Francji?",
    "pt": "Qual é a capital da França e onde fica?",
    "ro": "Care este capitala Franței?",
    "ru": "Какой город является столицей Франции?",
    "sr": "Који је главни град Француске?",
    "sv": "Vad är huvudstaden i Frankrike och hur blev den det?",
    "ta": "பிரான்சின் தலைநகரம் எது?",
    "th": "เมืองหลวงของฝรั่งเศสคือที่ไหน",
    "tr": "Fransa'nın başkenti neresidir?",
    "uk": "Яке місто є столицею Франції, і де її історія?",
    "vi": "Thủ đô của Pháp là gì?",
    "zh": "法国的首都是哪里？",
}
GLASSES = Passage("a", "The plan pays 150 euros for glasses. Lunch is at noon.", "a.md", "a.md")


@cache
def languages() -> LanguageIdentifier:
    """The library that tells the language of a text, with the languages of the sentences to choose from."""
    identifier = LanguageIdentifier.from_model_file(MODEL_FILE)
    identifier.set_languages(sorted(CAPITAL_OF_FRANCE))
    return identifier


async def said(question: str, *sources: Passage, language: str | None = None) -> str:
    messages = (Message(Role.USER, f"{question}\n\nSources: …"),)
    request = ModelRequest(messages, question, sources, language=language)
    return (await answer(ExtractiveModel(), request)).text


def test_each_sentence_has_a_question_here() -> None:
    assert SAYINGS.keys() == CAPITAL_OF_FRANCE.keys()


@pytest.mark.parametrize("language", CAPITAL_OF_FRANCE)
async def test_what_the_sources_do_not_hold_is_said_in_the_language_of_the_question(language: str) -> None:
    text = await said(CAPITAL_OF_FRANCE[language], GLASSES)
    assert languages().classify(text)[0] == language
    assert "[" not in text


@pytest.mark.parametrize(
    ("question", "language"),
    [
        ("Ce a tradus în română Marlee Matlin?", "ro"),  # French and Romanian have equally many stop words in it
        ("Στάθμευση;", "el"),
        ("Kilimanjaro?", "en"),
        ("「The Beatles」のメンバーは誰ですか？", "ja"),
        ("What does 你好 mean?", "en"),
        ("iPhone 15 的价格是多少？", "zh"),
        ("臺灣的首都在哪裡？", "zh"),
        ("", "en"),
    ],
)
async def test_the_language_of_a_short_or_mixed_question_is_told_by_its_letters(question: str, language: str) -> None:
    assert languages().classify(await said(question, GLASSES))[0] == language


@pytest.mark.parametrize(
    ("question", "language", "subject"),
    [
        ("Qu'est ce qu'un standard ouvert ?", "fr", {"quest", "standard", "ouvert"}),  # `est` is in definitions too
        ("Qu’est-ce qu’une donnée ?", "fr", {"quest", "donnée"}),
        ("Cos'è una franchigia?", "it", {"franchigia"}),
    ],
)
def test_shortened_words_tell_the_language_and_are_no_subject(question: str, language: str, subject: set[str]) -> None:
    assert language_of(question) == language
    assert subject_words(question).keys() == subject


@pytest.mark.parametrize(
    ("wanted", "accepted", "language"),
    [
        ("fr", "de", "fr"),
        ("ZH-Hant-TW", "", "zh"),
        ("nb-NO", "", "no"),
        ("xx", "sw, pt-BR;q=0.8, de", "pt"),
        ("\ud800", "", "en"),
        (None, "*", "en"),
    ],
)
async def test_where_the_question_does_not_tell_the_request_and_the_header_do(
    wanted: str | None, accepted: str, language: str
) -> None:
    messages = (Message(Role.USER, "Kilimanjaro?\n\nSources: …"),)
    request = ModelRequest(messages, "Kilimanjaro?", (GLASSES,), language=wanted)
    got = await answer(ExtractiveModel(), request, replace(CONTEXT, accept_language=accepted))
    assert languages().classify(got.text.partition(".")[0])[0] == language


async def test_the_language_of_the_conversation_comes_before_that_of_menus() -> None:
    assert languages().classify(await said(CAPITAL_OF_FRANCE["it"], GLASSES, language="fr"))[0] == "it"


async def test_a_passage_in_another_language_is_shown_as_the_nearest_with_its_language() -> None:
    passage = Passage(
        "p", "The Plus plan pays 300 euros for glasses, and what is more it pays for lenses.", "p.md", "p.md"
    )
    text = await said("Was zahlt der Plus Plan für Glasses und Lenses?", passage)
    assert text.startswith(f"{SAYINGS['de'].nearest} (English) The Plus plan pays 300 euros")


@pytest.mark.parametrize("passages", [(GLASSES,), ()])
async def test_a_refusal_across_languages_says_in_the_language_of_the_question_what_would_find_it(
    passages: tuple[Passage, ...],
) -> None:
    question = "¿Cuál es la capital de Francia?"
    request = ModelRequest((Message(Role.USER, f"{question}\n\nSources: …"),), question, passages, foreign="es")
    got = await answer(ExtractiveModel(), request)
    assert got.text.startswith(SAYINGS["es"].nothing)
    assert got.text.endswith(SAYINGS["es"].by_meaning)
    own = await answer(ExtractiveModel(), replace(request, foreign=None))
    assert SAYINGS["es"].by_meaning not in own.text
    assert "EMBEDDINGS" not in got.text, "a reader can set nothing"


ACCORDING_TO_VECTORS = Passage(
    "p", "After five years of service you get 30 vacation days. They do not lapse at the end.", "leave.md", "leave.md"
)


@pytest.mark.parametrize(
    ("question", "language", "name"),
    [
        ("¿Cuántos días de vacaciones tengo después de cinco años?", "es", " (English)"),
        ("How much holiday may a colleague take who has been here for long?", "en", ""),
    ],
)
async def test_a_passage_that_vectors_place_near_is_shown_though_it_has_no_word_of_the_question(
    question: str, language: str, name: str
) -> None:
    free = "Parking is free for all of us."
    other = Passage("o", free, "o.md", "o.md", closeness=(0.1,), parts=(free,))
    near = replace(ACCORDING_TO_VECTORS, closeness=(0.25,), parts=(ACCORDING_TO_VECTORS.content,))
    nearest = SAYINGS[language].nearest
    text = await said(question, other, near)
    assert f"{nearest}{name} After five years of service you get 30 vacation days." in text
    assert "[leave.md]" in text
    assert (await said(question, other, ACCORDING_TO_VECTORS)).startswith(SAYINGS[language].nothing)
    assert (await said(question, other, replace(near, closeness=(1.0,)))).startswith("After five years")
    rules = "These rules are for all who work here, wherever that is. " * 15
    long = replace(near, content=f"{rules}\n\n{near.content}", closeness=(0.1, 0.25), parts=(rules, near.content))
    assert near.content in await said(question, other, long)


async def test_a_language_that_is_not_known_is_not_taken_for_a_neighbour() -> None:
    for question in ("Je, mji mkuu wa Kenya ni upi?", "hi"):
        assert (await said(question, GLASSES)).startswith((SAYINGS["en"].nothing, SAYINGS["en"].about))


MUSEUM = {
    "en.md": "The Zeppelin museum stands by the lake. Its cellar was built in 1911.",
    "es.md": "La capital de la provincia es la ciudad que está en el valle, con un río que la cruza desde el norte.",
    "es-2.md": "El río de la provincia nace en el norte y pasa por el valle, donde está la ciudad con su plaza.",
    "th.md": "พิพิธภัณฑ์เปิดทุกวันอาทิตย์เวลาเก้าโมง",
}


@pytest.fixture
async def museum(tmp_path: Path) -> AsyncGenerator[SqliteRetriever]:
    """An index in three languages, with words that most passages have and words that few have."""
    file = tmp_path / "index.sqlite"
    index = SqliteIndex(file)
    texts = MUSEUM | {f"filler-{n}.md": f"The tower of the town hall number {n} was built of stone." for n in range(30)}
    for name, text in texts.items():
        await index.replace(FileEntry(name, "1", [Passage(name, text, name, name)]))
    await index.aclose()
    retriever = SqliteRetriever(file, None)
    yield retriever
    await retriever.aclose()


async def answered(index: SqliteRetriever, question: str, language: str | None = None) -> str:
    """The answer of a whole turn: search, rarities of the index, model."""
    request = ChatRequest((Message(Role.USER, question),), Overrides(language=language))
    documents = FileStore(Path())
    images = SourceImages(Late(lambda: documents), Late(lambda: documents), "The model sees no images.")
    events = run_turn(request, CONTEXT, ExtractiveModel(), index, images)
    return "".join([event.text async for event in events if isinstance(event, TextDelta)])


async def test_the_whole_index_tells_that_a_name_is_not_in_it_and_that_other_words_are_common(
    museum: SqliteRetriever,
) -> None:
    assert SAYINGS["en"].nearest in await answered(museum, "Who built the tower of Zanzibar?")
    assert "The Zeppelin museum stands by the lake." in await answered(museum, "Where is the Zeppelin tower?")


@pytest.mark.parametrize(
    "question",
    ["¿Cuál es la velocidad de la luz en el vacío?", "¿Quién es el presidente de la república y desde cuándo lo es?"],
)
async def test_a_spanish_question_about_something_else_is_not_answered_because_of_its_function_words(
    museum: SqliteRetriever, question: str
) -> None:
    assert (await answered(museum, question)).startswith((SAYINGS["es"].nothing, SAYINGS["es"].nearest))
    assert "[es" in await answered(museum, "¿Qué río cruza la capital de la provincia?")


async def test_the_language_that_a_request_asks_for_reaches_the_model_in_a_turn(museum: SqliteRetriever) -> None:
    assert (await answered(museum, "Xylophone?", "pt-BR")).startswith(SAYINGS["pt"].nothing)


@pytest.mark.parametrize(
    ("text", "sentences"),
    [
        ("यह पहला वाक्य है। यह दूसरा वाक्य है।", ["यह पहला वाक्य है।", "यह दूसरा वाक्य है।"]),
        ("هل هذا سؤال؟ نعم هذا جواب.", ["هل هذا سؤال؟", "نعم هذا جواب."]),
        ("这是第一句。这是第二句！", ["这是第一句。", "这是第二句！"]),
        ("กขคงจฉชซ " * 60, 3),
        ("กขคงจฉชซ " * 10, 1),
    ],
    ids=["danda", "arabic", "chinese", "long-thai", "short-thai"],
)
def test_sentences_end_where_their_script_ends_them(text: str, sentences: list[str] | int) -> None:
    found = [one.text for one in statements_of(text)]
    assert (found if isinstance(sentences, list) else len(found)) == sentences
    assert "".join(found).replace(" ", "") == text.replace(" ", "")


@pytest.mark.parametrize(
    ("question", "source", "expected"),
    [
        ("संग्रहालय कब खुलता है?", "संग्रहालय रविवार को नौ बजे खुलता है।", "संग्रहालय रविवार को नौ बजे खुलता है। [p.md]"),
        ("متى يفتح المتحف؟", "يفتح المتحف يوم الأحد في التاسعة؟", "يفتح المتحف يوم الأحد في التاسعة؟ [p.md]"),
    ],
)
async def test_a_sentence_that_ends_in_its_own_script_gets_no_full_stop(
    question: str, source: str, expected: str
) -> None:
    assert await said(question, Passage("p", source, "p.md", "p.md")) == expected


HARBOUR = {
    "ar": (
        "متى يفتح المتحف؟",
        "يفتح المتحف في التاسعة. تعود المنارة إلى القرن الماضي. ترى المنارة من بعيد. تباع التذاكر في الميناء.",
        "المنارة؟",
    ),
    "es": (
        "¿Cuándo abre el museo?",
        "El museo abre a las nueve. Los barcos salen del Puerto Viejo cada hora. Muchos comen en el Puerto Viejo.",
        "¿Puerto Viejo?",
    ),
    "hi": (
        "संग्रहालय कब खुलता है?",
        "संग्रहालय रविवार को नौ बजे खुलता है। प्रकाशस्तंभ पुराना है। लोग प्रकाशस्तंभ देखने आते हैं।",
        "प्रकाशस्तंभ?",
    ),
    "ru": (
        "Когда открывается музей?",
        "Музей открывается в девять. Летом паром ходит на Валаам каждый час. Остров Валаам виден с берега.",
        "Валаам?",
    ),
    "tr": (
        "Müze saat kaçta açılıyor?",
        "Müze saat dokuzda açılıyor.\nVapurlar Kız Kulesi önünden geçer. Herkes Kız Kulesi ile fotoğraf çeker.",
        "Kız Kulesi?",
    ),
    "zh": ("博物馆几点开门？", "博物馆九点开门。\n老灯塔在港口。游客喜欢老灯塔。", "老灯塔？"),
}


@pytest.mark.parametrize("language", HARBOUR)
async def test_followup_questions_come_from_text_without_headings_in_any_language(language: str) -> None:
    question, text, followup = HARBOUR[language]
    sources = tuple(Passage(part, part, "p.md", "p.md") for part in text.splitlines())
    request = ModelRequest((Message(Role.USER, question),), question, sources, want_followups=True)
    answered, *followups = (await answer(ExtractiveModel(), request)).text.split("\n")
    assert followups[0] == f"<<{followup}>>"
    assert followup.strip("¿?؟？") not in answered
    for one in followups:
        assert "[p.md]" in await said(one.strip("<>"), *sources)
