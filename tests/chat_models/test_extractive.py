"""Answers of the built-in model: which sentences it quotes, how, and when it says that it does not know."""

import asyncio
from contextlib import aclosing
from copy import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from shared.chat_models import ChatModel, ModelRequest, ModelText
from shared.chat_models.extractive.model import ExtractiveModel
from shared.chat_models.extractive.sayings import SAYINGS
from shared.chat_models.extractive.statements import statements_of
from shared.chat_types import FileText, Message, Passage, Role
from shared.events import Usage
from tests.chat_models.extractive_asked import EYES, URLAUB, ask, said
from tests.chat_models.model_contract import CONTEXT, REQUEST, ModelContract, answer

BIRDS = {"Kestrel": 5, "Osprey": 7, "Merlin": 8, "Hobby": 9}
NOTHING = SAYINGS["en"].nothing
NEAREST = SAYINGS["en"].unsaid + SAYINGS["en"].nearest


class TestExtractive(ModelContract):
    @pytest.fixture
    def model(self) -> ChatModel:
        return ExtractiveModel()

    async def test_others_get_their_turn_between_two_pieces(self, model: ChatModel) -> None:
        turns = 0
        stopped = asyncio.Event()

        async def take_turns() -> None:
            nonlocal turns
            while not stopped.is_set():
                turns += 1
                await asyncio.sleep(0)

        others = asyncio.create_task(take_turns())
        async with aclosing(model.stream(REQUEST, CONTEXT)) as events:
            seen = {turns async for event in events if isinstance(event, ModelText)}
        stopped.set()
        await others
        assert len(seen) > 1


async def test_the_answer_is_the_matching_sentence_without_markup_and_with_its_citation() -> None:
    got = await ask("What does the Standard plan pay for glasses?", URLAUB, EYES)
    assert got.text == (
        "The Standard plan pays up to 150 euros for glasses or contact lenses every two years. [eyes.md]"
    )


@pytest.mark.parametrize(
    ("question", "expected"),
    [
        (
            "Wie lang ist die Kündigungsfrist?",
            "Die Kündigungsfrist beträgt drei Monate zum Ende des Quartals. [urlaub.md]",
        ),
        ("kündigungsfristen?", "Die Kündigungsfrist beträgt drei Monate zum Ende des Quartals. [urlaub.md]"),
        ("Wie viel Urlaub habe ich?", "Neue Beschäftigte haben Anspruch auf 25 Urlaubstage im Jahr. "),
    ],
)
async def test_german_inflections_and_compounds_are_understood(question: str, expected: str) -> None:
    assert expected in (await ask(question, EYES, URLAUB)).text


async def test_an_abbreviation_or_an_ordinal_does_not_end_a_sentence() -> None:
    german = await ask("Wann verfallen übertragene Tage?", URLAUB)
    english = await ask("Which claims are paid?", EYES)
    assert (
        "verfallen am 31. März, wenn sie z. B. wegen eines Projekts nicht genommen wurden. [urlaub.md]" in german.text
    )
    assert "Approx. 80 % of claims, e.g. those of Dr. Meier, are paid by 1 March. [eyes.md]" in english.text


async def test_a_table_row_is_said_with_the_names_of_its_columns() -> None:
    got = await ask("Is laser surgery covered?", EYES)
    assert got.text.startswith("Laser surgery – Basic: not covered; Plus: up to 800 euros. [eyes.md]")


async def test_the_first_row_of_a_table_without_a_header_is_an_answer() -> None:
    source = said("| Ferry | 7 euros |\n| Tram | 3 euros |")
    assert (await ask("What does the ferry cost?", source)).text.endswith("Ferry: 7 euros. [page.md]")


async def test_each_cell_of_a_wide_table_can_be_asked_for() -> None:
    months = ["January", "February", "March", "April", "June", "July", "August", "September", "October", "November"]
    heads = ["Route", *months, "Remarks"]
    ferry = ["Ferry", *(str(number) for number in range(101, 111)), "no cars " * 20]
    tram = ["Tram", *(str(number) for number in range(201, 211)), ""]
    rows = [heads, ["---"] * len(heads), ferry, tram, ["Cable car", "7"]]
    source = said("\n".join(f"| {' | '.join(row)} |" for row in rows))
    for number, month in enumerate(months, 1):
        assert f"{month}: {100 + number}" in (await ask(f"How many passengers has the ferry in {month}?", source)).text
        assert f"{month}: {200 + number}" in (await ask(f"Tram in {month}?", source)).text
    assert "no cars" in (await ask("What are the remarks on the ferry?", source)).text
    assert (await ask("Cable car in January?", source)).text == "Cable car – January: 7. [page.md]"


async def test_a_list_item_is_said_without_its_mark() -> None:
    got = await ask("Where do I send the bill?", EYES)
    assert got.text == "Send the bill to the plan office within 90 days. [eyes.md]"


@pytest.mark.parametrize(
    ("question", "language"),
    [
        ("What is the capital of France?", "en"),
        ("Who may enter the palace in Antarctica?", "en"),
        ("Darf ich meinen Hund nach Japan mitbringen?", "de"),
    ],
)
async def test_where_nothing_comes_near_it_says_so_and_names_the_documents(question: str, language: str) -> None:
    got = await ask(question, replace(EYES, title="Eye care"), URLAUB)
    assert got.text == f"{SAYINGS[language].nothing} {SAYINGS[language].about} Eye care, urlaub.md."
    assert got.finished[0].answer_kind == "nothing"


@pytest.mark.parametrize("question", ["👓👓👓", "", "What is it?", "hi", "Thanks!", "help", "Who are you?"])
async def test_a_message_that_asks_for_nothing_gets_a_sentence_about_what_can_be_asked(question: str) -> None:
    got = await ask(question, EYES)
    assert got.text == f"{SAYINGS['en'].about} eyes.md."
    assert got.finished[0].answer_kind is None


async def test_where_no_sentence_is_an_answer_the_nearest_passage_is_shown() -> None:
    got = await ask("Does the Standard plan pay for the hearing aid of my aunt in Japan?", EYES, URLAUB)
    assert got.text.startswith(f"{SAYINGS['en'].nearest} Eye care: The Standard plan pays up to 150 euros")
    assert got.finished[0].answer_kind == "nearest"


async def test_without_sources_nothing_comes_near() -> None:
    got = await ask("What does the plan pay for glasses?")
    assert (got.text, got.finished[0].answer_kind) == (SAYINGS["en"].nothing, "nothing")


async def test_a_sentence_that_two_overlapping_passages_share_is_said_once() -> None:
    first = said("The bus is free for staff. Lunch is at noon.", "a.pdf#page=1")
    second = said("Lunch is at noon. The canteen closes at two.", "a.pdf#page=2")
    got = await ask("When is lunch?", first, second)
    assert got.text.count("Lunch is at noon.") == 1


async def test_sentences_that_differ_in_one_telling_word_are_both_said() -> None:
    source = said("The Basic plan pays 80 euros for glasses. The Plus plan pays 300 euros for glasses.")
    got = await ask("What is paid for glasses?", source)
    both = "The Basic plan pays 80 euros for glasses. The Plus plan pays 300 euros for glasses. [page.md]"
    assert got.text.endswith(both)


async def test_no_more_than_75_words_are_said() -> None:
    source = said(" ".join(f"Rule {number} is about parking near gate {number}." for number in range(1000, 1020)))
    assert (await ask("parking", source)).text.count("Rule") == 9


async def test_a_line_without_a_full_stop_is_a_statement_when_nothing_stands_under_it() -> None:
    assert (await ask("What does parking cost?", said("Parking costs 40 euros a month"))).text == (
        "Parking costs 40 euros a month. [page.md]"
    )


async def test_the_heading_counts_for_the_sentences_under_it() -> None:
    source = said("## Parking\n\nIt costs 40 euros a month.\n\n## Lunch\n\nIt costs 5 euros.")
    assert (await ask("What does parking cost?", source)).text.startswith(
        "Parking: It costs 40 euros a month. [page.md]"
    )


async def test_a_title_without_marks_counts_for_the_text_under_it_and_is_no_answer() -> None:
    source = said("Parking\n\nIt costs 40 euros a month.\n\nLunch\n\nIt costs 5 euros.")
    assert (await ask("What about parking?", source)).text == "Parking: It costs 40 euros a month. [page.md]"


async def test_the_sentence_that_introduces_a_list_counts_for_its_items() -> None:
    source = said("The Basic plan covers:\n\n- eye exams every two years\n- two cleanings\n\nThe garden is open.")
    assert (await ask("What does the Basic plan cover?", source)).text == (
        "The Basic plan covers:\n- eye exams every two years.\n- two cleanings. [page.md]"
    )


async def test_a_question_that_leans_on_the_one_before_is_answered_with_its_subject() -> None:
    source = said("The Basic plan has a hotline. The Basic plan pays nothing for glasses. The Plus plan pays for all.")
    got = await ask("And the Basic plan?", source, earlier=["What does the Plus plan pay for glasses?"])
    assert "The Basic plan pays nothing for glasses." in got.text


async def test_the_point_of_a_long_story_is_answered() -> None:
    question = (
        "I broke my glasses last week at the office and want to know whether the Standard plan pays for a new pair"
    )
    assert "The Standard plan pays up to 150 euros for glasses" in (await ask(question, EYES, URLAUB)).text


async def test_a_verb_that_the_sources_do_not_use_does_not_hide_the_answer() -> None:
    source = said("Bei Krankheit zahlt die Firma sechs Wochen lang weiter. Der Garten ist offen.")
    assert "Bei Krankheit zahlt die Firma" in (await ask("Was bekomme ich bei Krankheit?", source)).text


async def test_a_compound_that_the_sources_have_is_not_taken_for_its_parts() -> None:
    source = said("Der Urlaub dauert 25 Tage.\n\n## Sonderurlaub\n\nFür den Umzug gibt es zwei freie Tage.")
    got = await ask("Wer hat Anspruch auf Sonderurlaub?", source)
    assert got.text.endswith("Sonderurlaub: Für den Umzug gibt es zwei freie Tage. [page.md]")
    assert "25 Tage" not in got.text


async def test_a_sentence_that_has_all_that_is_asked_is_said_alone() -> None:
    brook = said("Ada Brook was a mechanical engineer. The harbour is old. Brook built ships for Aldmoor Yard.")
    assert (await ask("Is Ada Brook an engineer?", brook)).text.endswith(
        "Ada Brook was a mechanical engineer. [page.md]"
    )


@pytest.mark.parametrize(("village", "kind"), [("Aldmoor", "nearest"), ("Dunwick", "answer")])
async def test_a_sentence_about_another_village_than_the_question_names_is_no_answer(village: str, kind: str) -> None:
    question = f"What is the area of the village of {village}?"
    rarities = {"area": 4.4, "village": 4.2, village.lower(): 6.6}
    source = said("The area of the village of Dunwick is 1,705 hectares.")
    request = ModelRequest((Message(Role.USER, question),), question, (source,), rarities=rarities)
    assert (await answer(ExtractiveModel(), request)).finished[0].answer_kind == kind


async def test_half_of_what_is_asked_is_no_answer() -> None:
    got = await ask("What is the capital of France?", said("The capital of the firm grew."))
    assert got.finished[0].answer_kind != "answer"


async def test_an_answer_stops_after_max_tokens_words_and_says_that_it_did() -> None:
    got = await ask("What does the Standard plan pay for glasses?", EYES, max_tokens=3)
    assert got.text.split() == ["The", "Standard", "plan"]
    assert got.finished[0].reason == "length"


async def test_an_answer_of_just_max_tokens_words_is_complete() -> None:
    got = await ask("When is lunch?", said("Lunch is at noon."), max_tokens=5)
    assert got.finished[0].reason == "stop"


async def test_an_answer_costs_no_tokens() -> None:
    assert (await answer(ExtractiveModel())).finished[0].usage == Usage(0, 0)


async def test_large_sources_do_not_fail() -> None:
    text = "# Heading\n\n" + "The plan pays for glasses, and so on; " * 120 + "\n\n| a | b |\n" * 200
    sources = [said(f"{text} {number}. End.", f"{number}.md") for number in range(50)]
    assert "[" in (await ask("What does the plan pay for glasses? " * 200, *sources)).text


@pytest.mark.parametrize(
    "tiring",
    [
        *("[" * 250_000, "![a](" * 50_000, "[a](" * 50_000, "## " + "#" * 250_000 + "x"),
        *("**a " * 25_000, "__a " * 25_000),
    ],
    ids=lambda text: text[:5],
)
def test_a_text_without_end_to_its_marks_is_read_to_its_end(tiring: str) -> None:
    """A pattern that looks through the rest of the text from each mark takes hours: the runner's limit ends it."""
    assert len(statements_of(tiring)) <= len(tiring)


@pytest.mark.parametrize("heading", ["## Eye care", "## Eye care ##", "##  Eye care  #  "])
def test_a_heading_is_read_without_its_marks(heading: str) -> None:
    assert [(one.text, one.topic) for one in statements_of(f"{heading}\n\nIt pays.")] == [("It pays.", "Eye care")]


@given(
    question=st.text(max_size=80), content=st.text(alphabet=st.sampled_from("ab .|#*-_`<>[]()\n\\äÄ1你"), max_size=200)
)
async def test_any_question_and_any_source_get_an_answer(question: str, content: str) -> None:
    got = await ask(question, said(content), want_followups=True)
    assert got.text
    assert all(got.pieces)


async def test_the_health_says_that_it_is_no_language_model_and_which_settings_bring_one() -> None:
    health = await ExtractiveModel().check()
    assert health.kind == "embedded"
    assert "not a language model" in health.detail
    assert "OPENAI_CHAT_MODEL" in health.detail
    assert "AZURE_OPENAI_ENDPOINT" in health.detail


async def test_files_that_came_with_a_question_are_read_like_sources() -> None:
    file = FileText("letter.txt", "The deposit is 300 euros. Bring your passport.")
    request = ModelRequest((Message(Role.USER, "How much is the deposit?", files=(file,)),), "How much is the deposit?")
    assert (await answer(ExtractiveModel(), request)).text == "The deposit is 300 euros. [letter.txt]"


@pytest.mark.parametrize(
    ("question", "honest"),
    [
        ("What does this letter ask me to do?", "the built-in model only quotes sentences"),
        ("Worum bittet mich dieser Brief?", "zitiert das eingebaute Modell nur Sätze"),
    ],
)
async def test_a_file_that_it_cannot_answer_from_is_told_honestly(question: str, honest: str) -> None:
    file = FileText("letter.txt", "The deposit is 300 euros. Bring your passport.")
    request = ModelRequest((Message(Role.USER, question, files=(file,)),), question)
    assert honest in (await answer(ExtractiveModel(), request)).text


async def test_a_name_that_the_whole_index_lacks_keeps_it_silent_where_common_words_match() -> None:
    source = said("The tower of the old castle was built in 1250.")
    question = "Who built the tower of Zanzibar?"
    common = {"built": 0.3, "tower": 0.3, "zanzibar": 6.0}
    request = ModelRequest((Message(Role.USER, f"{question}\n\nSources: …"),), question, (source,), rarities=common)
    assert (await answer(ExtractiveModel(), request)).finished[0].answer_kind == "nothing"
    rare = replace(request, rarities={"built": 0.3, "tower": 6.0, "zanzibar": 0.3})
    assert "1250" in (await answer(ExtractiveModel(), rare)).text


async def test_a_sentence_that_says_it_counts_the_name_elsewhere_in_its_passage() -> None:
    story = "The Zeppelin museum in Friedrichshafen stands by the lake. It opens at ten on Sundays."
    question = "When does the Zeppelin museum in Friedrichshafen open on Sundays?"
    assert "It opens at ten on Sundays. [page.md]" in (await ask(question, said(story))).text
    elsewhere = said("It opens at ten on Sundays.", "other.md")
    assert "[other.md]" not in (await ask(question, said(story), elsewhere)).text


@pytest.mark.parametrize(
    ("text", "quote"),
    [
        (
            "Budget for the deductible. This helps you to plan visits to the dentist. Lunch is at noon.",
            "Budget for the deductible. This helps you to plan visits to the dentist.",
        ),
        (
            "Ask the dentist for a bill. By following these steps your visits to the dentist are planned.",
            "Ask the dentist for a bill. By following these steps your visits to the dentist are planned.",
        ),
        (
            "To plan visits to the dentist:\n\n1. Call the office.\n2. Choose a day.\n\nLunch is at noon.",
            "To plan visits to the dentist:\n- Call the office.\n- Choose a day.",
        ),
        (
            "To plan visits to the dentist you need three things:\n\nA phone and a pen help. So does a list.",
            "To plan visits to the dentist you need three things: A phone and a pen help. So does a list.",
        ),
    ],
    ids=["this", "these", "list", "colon"],
)
async def test_a_statement_is_quoted_with_what_it_needs(text: str, quote: str) -> None:
    got = await ask("How do I plan visits to the dentist?", said(text))
    assert got.text.startswith(quote)
    assert got.finished[0].answer_kind == "answer"


async def test_statements_under_different_headings_are_quoted_with_these() -> None:
    source = said("## In-network\n\nA specialist costs 50 euros.\n\n## Out-of-network\n\nA specialist costs 75 euros.")
    got = await ask("What does a specialist cost?", source)
    assert "In-network: A specialist costs 50 euros. [page.md]" in got.text
    assert "Out-of-network: A specialist costs 75 euros. [page.md]" in got.text


async def test_a_word_one_letter_off_counts_as_the_one_that_the_sources_have() -> None:
    assert (await ask("suglasses without perscription", EYES)).text.startswith("Sunglasses without a prescription")


async def test_further_statements_are_quoted_up_to_some_75_words_and_no_row_beside_the_one_that_is_asked_for() -> None:
    rows = "".join(f"| {bird} | nests in spring | {price} euros |\n" for bird, price in BIRDS.items())
    birds = Passage("birds", f"| Bird | Time | Price |\n|---|---|---|\n{rows}", "birds.md", "birds.md")
    assert "Osprey" not in (await ask("Which price has the bird kestrel?", birds)).text
    sentence = "The parking permit of number {0} is paid by the office of the town" + 9 * " and again" + " in {0}."
    permits = Passage("p", " ".join(map(sentence.format, ("one", "two", "three", "four"))), "p.md", "p.md")
    assert len((await ask("Who pays the parking permit?", permits)).text.split()) <= 80


LEAVE = said(
    "## Parental leave\n\nParental leave is 16 weeks. It is paid.\n\n## Visits\n\nVisitors sign in.", "leave.md"
)
STIPEND = said("## Coworking\n\nThe coworking stipend is 200 dollars a month.", "desk.md")


async def test_each_part_of_a_question_gets_its_quote_and_a_word_where_there_is_none() -> None:
    both = await ask("How long is parental leave, and how much is the coworking stipend?", LEAVE, STIPEND)
    assert "Parental leave is 16 weeks." in both.text
    assert "The coworking stipend is 200 dollars a month. [desk.md]" in both.text
    assert both.finished[0].answer_kind == "answer"
    one = await ask("How long is parental leave and who feeds the whales of Norway?", LEAVE, STIPEND)
    assert "Parental leave is 16 weeks." in one.text
    assert one.text.endswith(f"“who feeds the whales of Norway”: {NOTHING}")


async def test_what_is_compared_gets_a_quote_each() -> None:
    source = said(
        "## Oregon\n\nBonding leave is 14 weeks.\n\n## Ohio\n\nBonding leave is 12 weeks. No pay.", "states.md"
    )
    got = await ask("Ohio vs Oregon bonding leave", source)
    assert got.text.index("Ohio: Bonding leave is 12 weeks.") < got.text.index("Oregon: Bonding leave is 14 weeks.")


async def test_documents_that_mention_something_are_named_once_each() -> None:
    got = await ask("Which documents mention parental leave?", LEAVE, replace(LEAVE, id="again"), STIPEND)
    assert got.text == "- [leave.md]"
    assert (await ask("Welche Dokumente erwähnen Elternzeit?", EYES, URLAUB)).text == "- [urlaub.md]"


async def test_the_nearest_passage_that_has_part_of_what_is_asked_is_not_said_to_have_nothing() -> None:
    source = said("The coworking stipend of all staff is paid. The canteen is closed.")
    question = "Which coworking stipend is for Norway?"
    rarities = {"coworking": 3.0, "stipend": 3.0, "norway": 5.0}
    request = ModelRequest((Message(Role.USER, question),), question, (source,), rarities=rarities)
    got = await answer(ExtractiveModel(), request)
    assert got.text.startswith(f"{SAYINGS['en'].nearest} The coworking stipend of all staff is paid.")
    assert got.finished[0].answer_kind == "nearest"
    unlike = await answer(ExtractiveModel(), replace(request, rarities=rarities | {"norway": 20.0}))
    assert unlike.text.startswith(f"{NEAREST} The coworking stipend")


async def test_a_section_is_asked_for_by_its_sign_and_number_and_not_found_where_another_refers_to_it() -> None:
    law = said(
        "## § 7 Leave\n\nEverybody has 24 days.\n\n## § 9 Rest\n\nThe 7 days of § 7 do not count.", "leavelaw.md"
    )
    assert (await ask("What does § 7 Leavelaw say?", law)).text.startswith(
        "§ 7 Leave: Everybody has 24 days. [leavelaw.md]"
    )


async def test_a_sentence_is_no_answer_where_many_sections_say_as_much() -> None:
    rule = "The harbour office has, like all others of the town and of the towns around the lake, rule number"
    parts = [f"## Part {number}\n\n{rule} {number} of its own book." for number in range(12)]
    every, two = said("\n\n".join(parts)), said("\n\n".join(parts[:2]))
    assert (await ask("What is the harbour office?", every)).finished[0].answer_kind == "nearest"
    assert (await ask("What is the harbour office?", two)).finished[0].answer_kind == "answer"


async def test_an_abbreviation_in_capital_letters_is_no_stop_word() -> None:
    source = said("The MIT licence is permissive. The council feeds ducks with bread.")
    assert (await ask("MIT", source)).text.startswith("The MIT licence is permissive.")


@pytest.mark.parametrize("place", [0, 1])
async def test_a_question_before_or_behind_4000_words_is_answered(place: int) -> None:
    pieces = ["the weather and the traffic of another day " * 570]
    pieces.insert(place, " What does the Standard plan pay for glasses? ")
    assert "The Standard plan pays up to 150 euros" in (await ask("".join(pieces), EYES, URLAUB)).text
