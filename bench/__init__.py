"""The benchmarks: two ways of the same work, measured side by side, by turns, as a ratio of their medians.

A ratio says the same on any machine; the times beside it are this machine's. `python -m bench` runs all, and
`python -m bench team` one. A new one is a module with a `report`, and a line in the table of `__main__`.
"""
