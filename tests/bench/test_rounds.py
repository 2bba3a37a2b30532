"""What is compared round by round."""

from bench.rounds import Comparison, by_turns


def test_ratios_are_taken_round_by_round() -> None:
    compared = Comparison("A stream", "seconds", {"ours": [2.0, 9.0, 4.0], "relay": [1.0, 3.0, 1.0]}, ("relay",))
    ratio = compared.ratio("ours", "relay")
    assert (ratio.low, ratio.middle, ratio.high) == (2.5, 3.0, 3.5)
    assert compared.lines() == [
        "A stream [seconds]",
        "  ours                         4.00     3.00 x relay (2.50 to 3.50)",
        "  relay                        1.00",
    ]


async def test_everything_is_measured_once_a_round_and_the_first_round_does_not_count() -> None:
    measured: list[str] = []

    async def measure(name: str) -> float:
        measured.append(name)
        return float(len(measured))

    values = await by_turns({"ours": lambda: measure("ours"), "relay": lambda: measure("relay")}, rounds=2)
    assert measured == ["ours", "relay"] * 3
    assert values == {"ours": [3.0, 5.0], "relay": [4.0, 6.0]}
