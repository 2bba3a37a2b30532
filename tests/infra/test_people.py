"""What `DEPLOY_PEOPLE` sets is what `tools/cost.py` says, and what somebody chooses comes first."""

from collections.abc import Mapping
from typing import Any, cast

import pytest

from tests.infra.compiler import MISSING, Bicep, Refused, compiler
from tests.infra.deployed import app, app_settings, of_type
from tests.infra.snapshots import reduced
from tests.infra.ways import BEARER
from tools.cost import needed

LIMITS = {
    "callerRequestsPerMinute": "LIMIT_CALLER_REQUESTS_PER_MINUTE",
    "callerTokensPerDay": "LIMIT_CALLER_TOKENS_PER_DAY",
    "requestsPerMinute": "LIMIT_REQUESTS_PER_MINUTE",
    "tokensPerDay": "LIMIT_TOKENS_PER_DAY",
}


@pytest.mark.parametrize(("way", "people"), [("bearer", 0), ("people", 2_000)])
def test_a_deployment_gets_what_the_table_of_the_page_says(way: str, people: int) -> None:
    capacities = [
        of["sku"]["capacity"] for of in of_type(way, "Microsoft.CognitiveServices/accounts/deployments").values()
    ]
    (search,) = of_type(way, "Microsoft.Search/searchServices").values()
    settings = app_settings(way)
    assert needed(people) == {
        "chatCapacity": max(capacities),
        "embeddingCapacity": min(capacities),
        **{name: int(settings[variable]) for name, variable in LIMITS.items()},
        "searchReplicas": search["properties"]["replicaCount"],
        "maximumInstances": app(way)["functionAppConfig"]["scaleAndConcurrency"]["maximumInstanceCount"],
    }


def test_another_number_is_worked_out_alike_and_what_is_chosen_stays() -> None:
    command = compiler()
    if command is None:
        pytest.skip(MISSING)
    chosen: dict[str, Any] = {
        "searchSku": "standard",
        "callerTokensPerDay": 0,
        "requestsPerMinute": 7,
        "maximumInstances": 41,
    }
    with Bicep(command) as bicep:
        whole = _flat(reduced("bearer", bicep.snapshot({**BEARER, "people": 5, **chosen})))
        with pytest.raises(Refused, match="DEPLOY_PEOPLE 50000 needs 6 replicas of AI Search: choose a larger"):
            bicep.snapshot({**BEARER, "people": 50_000})
    expected = needed(5)
    assert {name: whole[variable] for name, variable in LIMITS.items()} == {
        name: str(chosen.get(name, expected[name])) for name in LIMITS
    }
    assert (whole["replicaCount"], whole["maximumInstanceCount"]) == (expected["searchReplicas"], 41)
    assert whole["capacity"] == {expected["chatCapacity"], expected["embeddingCapacity"]}


def _flat(tree: Mapping[str, Any]) -> dict[str, Any]:
    """Return the values of a tree by their last names; of `capacity`, all."""
    found: dict[str, Any] = {"capacity": set[int]()}
    waiting: list[tuple[str, Any]] = [*tree.items()]
    for name, value in waiting:
        if isinstance(value, dict):
            waiting += cast("dict[str, Any]", value).items()
        elif name == "capacity":
            found[name].add(value)
        else:
            found[name] = value
    return found
