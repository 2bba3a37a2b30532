"""Findings in the shape of Azure OpenAI's content filter, and merged with what that filter itself reported.

Source: Azure OpenAI REST API reference, `contentFilterResults` and `promptFilterResults`.
"""

from collections.abc import Iterable
from typing import cast

from shared.chat_types import Json
from shared.guard import Finding

_SEVERITIES = ("safe", "low", "medium", "high")
"""Azure's words, each for two of the eight severities."""
_HARMS = {"hate": "hate", "selfharm": "self_harm", "sexual": "sexual", "violence": "violence"}
"""The categories that have a severity, by their names without separators."""

type Results = dict[str, Json]


def filter_results(findings: Iterable[Finding], *, enforced: bool) -> Results:
    """`content_filter_results` of these findings.

    Args:
        findings: In any order; of several in one category the worst counts.
        enforced: Whether what the policy forbids was held back, not just reported.
    """
    results: Results = {}
    for finding in findings:
        name = _name(finding)
        result: Results = {"filtered": finding.blocking and enforced}
        if name in _HARMS.values():
            result["severity"] = _SEVERITIES[min(max(finding.severity, 0), 7) // 2]
        else:
            result["detected"] = finding.detected
        results = merged(results, {name: result})
    return results


def merged(ours: Results, theirs: Json) -> Results:
    """Both results by category; in a category that both have, the worse counts."""
    results = dict(theirs) if isinstance(theirs, dict) else {}
    for name, result in ours.items():
        other = results.get(name)
        if isinstance(result, dict) and isinstance(other, dict):
            results[name] = {**other, **result, **_worse(result, other)}
        else:
            results[name] = result
    return results


def merged_prompt(ours: Results, theirs: Json) -> Json:
    """`prompt_filter_results`: theirs, with ours in the first prompt, which is the conversation."""
    rest = list(theirs) if isinstance(theirs, list) else []
    if not ours:
        return theirs
    for place, entry in enumerate(rest):
        if isinstance(entry, dict) and entry.get("prompt_index") == 0:
            rest[place] = {**entry, "content_filter_results": merged(ours, entry.get("content_filter_results"))}
            return rest
    return [{"prompt_index": 0, "content_filter_results": ours}, *rest]


def _worse(one: Results, other: Results) -> Results:
    worse: Results = {}
    for key in ("filtered", "detected"):
        if key in one or key in other:
            worse[key] = bool(one.get(key)) or bool(other.get(key))
    words = [cast("str", word) for result in (one, other) if (word := result.get("severity")) in _SEVERITIES]
    if words:
        worse["severity"] = max(words, key=_SEVERITIES.index)
    return worse


def _name(finding: Finding) -> str:
    """Azure's name of what was looked for, such as `self_harm` or `jailbreak`."""
    name = (finding.category or finding.kind).lower().replace("-", "_").replace(" ", "_")
    return _HARMS.get(name.replace("_", ""), name)
