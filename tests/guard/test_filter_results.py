import pytest

from shared.chat_types import Json
from shared.guard import Finding
from shared.guard.rules import filter_results, merged, merged_prompt


def found(category: str, severity: int = 0, *, kind: str = "HARM_CATEGORY", blocking: bool = False) -> Finding:
    return Finding(kind, category, severity > 0, severity, "", blocking)


@pytest.mark.parametrize(
    ("severity", "word"),
    [(0, "safe"), (1, "safe"), (2, "low"), (3, "low"), (4, "medium"), (5, "medium"), (6, "high"), (7, "high")],
)
def test_severities_have_azures_words(severity: int, word: str) -> None:
    assert filter_results([found("HATE", severity)], enforced=True) == {"hate": {"filtered": False, "severity": word}}


@pytest.mark.parametrize(
    ("severity", "risk", "word"),
    [
        (3, "HIGH", "high"),
        (1, "LOW", "low"),
        (5, "MEDIUM", "medium"),
        (0, "LOW", "safe"),
        (2, "SAFE", "safe"),
        (6, "SEVERE", "high"),
    ],
)
def test_the_services_own_word_counts(severity: int, risk: str, word: str) -> None:
    finding = Finding("HARM_CATEGORY", "HATE", severity > 0, severity, risk, blocking=False)
    assert filter_results([finding], enforced=True) == {"hate": {"filtered": False, "severity": word}}


@pytest.mark.parametrize("name", ["SELF_HARM", "SELFHARM", "selfHarm", "self-harm", "Self harm"])
def test_categories_have_azures_names(name: str) -> None:
    assert list(filter_results([found(name)], enforced=True)) == ["self_harm"]


def test_a_task_without_severities_says_whether_it_detected_something() -> None:
    jailbreak = found("", 1, kind="JAILBREAK", blocking=True)
    assert filter_results([jailbreak], enforced=True) == {"jailbreak": {"filtered": True, "detected": True}}


def test_nothing_is_filtered_where_nothing_is_enforced() -> None:
    results = filter_results([found("HATE", 7, blocking=True)], enforced=False)
    assert results == {"hate": {"filtered": False, "severity": "high"}}


def test_in_a_category_that_both_report_the_worse_counts() -> None:
    ours = filter_results([found("HATE", 2), found("SEXUAL", 6, blocking=True), found("VIOLENCE")], enforced=True)
    theirs: Json = {
        "hate": {"filtered": True, "severity": "high"},
        "sexual": {"filtered": False, "severity": "safe"},
        "protected_material_code": {"filtered": False, "detected": True, "citation": {"URL": "x"}},
        "custom_blocklists": [{"id": "b", "filtered": False}],
    }
    assert merged(ours, theirs) == {
        "hate": {"filtered": True, "severity": "high"},
        "sexual": {"filtered": True, "severity": "high"},
        "violence": {"filtered": False, "severity": "safe"},
        "protected_material_code": {"filtered": False, "detected": True, "citation": {"URL": "x"}},
        "custom_blocklists": [{"id": "b", "filtered": False}],
    }


@pytest.mark.parametrize("theirs", [None, "text", [], 7])
def test_results_in_no_known_shape_are_left_out(theirs: Json) -> None:
    ours = filter_results([found("HATE")], enforced=True)
    assert merged(ours, theirs) == ours


def test_the_prompts_results_join_those_of_the_first_prompt() -> None:
    ours = filter_results([found("HATE", 4)], enforced=True)
    hate: Json = {"hate": {"filtered": False, "severity": "medium"}}
    assert merged_prompt(ours, None) == [{"prompt_index": 0, "content_filter_results": hate}]
    assert merged_prompt({}, None) is None
    theirs: Json = [
        {"prompt_index": 1, "content_filter_results": {}},
        {"prompt_index": 0, "content_filter_results": {"sexual": {"filtered": False, "severity": "safe"}}},
    ]
    both: Json = {"sexual": {"filtered": False, "severity": "safe"}, "hate": {"filtered": False, "severity": "medium"}}
    assert merged_prompt(ours, theirs) == [
        {"prompt_index": 1, "content_filter_results": {}},
        {"prompt_index": 0, "content_filter_results": both},
    ]
