"""Files of questions: what is read, and what is wrong with the others."""

import json
import tracemalloc
from pathlib import Path

import pytest

from evaluation import EvaluationError
from evaluation.questions import LONGEST_LINE, Question, check, read

GOOD = '{"id": "a", "question": "How many?", "answers": ["30"], "sources": ["plan.pdf#page=3"], "language": "en"}'


def written(folder: Path, content: str | bytes) -> Path:
    path = folder / "questions.jsonl"
    path.write_bytes(content.encode() if isinstance(content, str) else content)
    return path


def problems(folder: Path, content: str | bytes) -> str:
    with pytest.raises(EvaluationError) as wrong:
        check(written(folder, content))
    return str(wrong.value)


def test_a_question_has_what_its_line_says(tmp_path: Path) -> None:
    path = written(tmp_path, f'{GOOD}\n\n{{"id": 7, "question": "ダイビング？", "silent": true, "category": "x"}}')
    assert check(path).count == 2
    assert [*read(path)] == [
        Question("a", "How many?", ("30",), ("plan.pdf#page=3",), "en"),
        Question("7", "ダイビング？", category="x", silent=True),
    ]


def test_a_byte_order_mark_and_line_ends_of_windows_are_read(tmp_path: Path) -> None:
    path = written(tmp_path, b"\xef\xbb\xbf" + GOOD.encode() + b"\r\n")
    assert check(path).count == 1
    assert next(read(path)).id == "a"


@pytest.mark.parametrize(
    ("line", "said"),
    [
        ('{"question": "How many?"}', "line 2: it lacks the required field `id`"),
        ('{"id": "b"}', "line 2: it lacks the required field `question`"),
        ('{"id": "b", "question": " "}', "line 2: its `id` or `question` is empty"),
        ('{"id": "b", "question": "x", "answers": "30"}', "line 2: Expected `array`, got `str` - at `$.answers`"),
        (
            '{"id": "b", "question": "x", "answers": [""]}',
            "line 2: one of its `answers`, `facts`, `sources` or `before` is empty",
        ),
        ('{"id": "b", "question": "x", "silent": true, "answers": ["30"]}', "line 2: it is `silent` and has"),
        ('{"id": "b", "question": ', "line 2: it is no JSON object"),
        ("[1]", "line 2: "),
        (GOOD, "line 2: the id 'a' is that of line 1 already"),
        (json.dumps({"id": "b" * 201, "question": "x"}), "line 2: its `id` has more than 200 characters"),
        ("[" * 100_000, "line 2: "),
    ],
)
def test_a_wrong_line_is_named_with_its_number(tmp_path: Path, line: str, said: str) -> None:
    assert said in problems(tmp_path, f"{GOOD}\n{line}\n")


@pytest.mark.parametrize("encoding", ["utf-16", "utf-16-be"])
def test_a_file_of_windows_powershell_is_read_by_its_byte_order_mark(tmp_path: Path, encoding: str) -> None:
    bom = "" if encoding == "utf-16" else "\ufeff"
    path = written(tmp_path, f'{bom}{GOOD}\r\n{{"id": "Ċ", "question": "ダイビング？"}}\r\n'.encode(encoding))
    assert check(path).count == 2
    assert [one.question for one in read(path)] == ["How many?", "ダイビング？"]


def test_other_encodings_are_named(tmp_path: Path) -> None:
    latin = GOOD.replace("How", "Für").encode("latin-1")
    assert "line 1: it is not UTF-8; save the file as UTF-8" in problems(tmp_path, latin)
    assert "begins as UTF-16 and is not: truncated data" in problems(tmp_path, f"{GOOD}\n".encode("utf-16")[:-1])


def test_an_empty_file_and_a_missing_one_are_named(tmp_path: Path) -> None:
    assert "has no question" in problems(tmp_path, "\n \n")
    with pytest.raises(EvaluationError, match="cannot be read"):
        check(tmp_path / "none.jsonl")
    with pytest.raises(EvaluationError, match="cannot be read"):
        check(tmp_path)


def test_of_many_wrong_lines_the_first_twenty_are_named(tmp_path: Path) -> None:
    said = problems(tmp_path, "{}\n" * 1_000)
    assert "line 20: " in said
    assert "line 21: " not in said


@pytest.mark.parametrize("encoding", ["utf-8", "utf-16"])
def test_a_line_of_ten_megabytes_is_wrong_and_the_next_is_read(tmp_path: Path, encoding: str) -> None:
    huge = json.dumps({"id": "b", "question": "x" * 10_000_000})
    path = written(tmp_path, f"{GOOD}\n{huge}\n{{}}\n".encode(encoding))
    tracemalloc.start()
    try:
        with pytest.raises(EvaluationError) as wrong:
            check(path)
        _, most = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    said = str(wrong.value)
    assert most < 10_000_000
    assert f"line 2: it has more than {LONGEST_LINE:,} bytes" in said
    assert "line 3: it lacks" in said


def test_facts_and_earlier_questions_are_read_and_checked(tmp_path: Path) -> None:
    line = {"id": "a", "question": "And for two?", "facts": [["16 weeks", "16 Wochen"], ["7"]], "before": ["How long?"]}
    path = written(tmp_path, json.dumps(line))
    assert check(path).unmeasured == 0
    (question,) = read(path)
    assert question.wanted == (("16 weeks", "16 Wochen"), ("7",))
    assert question.before == ("How long?",)
    for wrong in ('{"facts": [[]]', '{"facts": [[" "]]', '{"before": [""]', '{"facts": [["7"]], "silent": true'):
        with pytest.raises(EvaluationError, match=r"line 1: (one of its|it is `silent`)"):
            check(written(tmp_path, f'{wrong}, "id": "a", "question": "x"}}'))


def test_what_is_not_used_or_measured_is_counted(tmp_path: Path) -> None:
    path = written(tmp_path, f'{GOOD}\n{{"id": "b", "question": "x", "anwsers": ["30"]}}')
    contents = check(path)
    assert contents.unused_keys == {"anwsers": 1}
    assert contents.unmeasured == 1
    assert contents.sources == {"plan.pdf#page=3": 1}


def test_many_lines_take_little_memory(tmp_path: Path) -> None:
    path = tmp_path / "many.jsonl"
    with path.open("w") as file:
        for number in range(20_000):
            file.write(json.dumps({"id": str(number), "question": "x" * 400, "silent": True}) + "\n")
    tracemalloc.start()
    try:
        assert check(path).count == 20_000
        assert sum(1 for _ in read(path)) == 20_000
        _, most = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert most < 6_000_000  # the ids; the file has 9 MB
