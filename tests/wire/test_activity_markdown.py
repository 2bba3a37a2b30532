"""Tables, headings and rules of an answer, as Teams can draw them, also while the answer grows."""

import pytest

from shared.wire.activity_markdown import as_teams_draws

ANSWER = """\
# Plans

There are **two**:

| Plan | Pays |   |
|------|:----:|---|
| Basic | 50 % [1] | `a \\| b` |
| Standard | 80 % [2] | |

---
* one
- two

```
| not | a table |
|-----|---------|
# not a heading
```
| no table | either |
2 - 1 = 1
"""
DRAWN = """\
**Plans**

There are **two**:

- **Plan:** Basic · **Pays:** 50 % [1] · `a | b`
- **Plan:** Standard · **Pays:** 80 % [2]


* one
- two

```
| not | a table |
|-----|---------|
# not a heading
```
| no table | either |
2 - 1 = 1
"""


def test_tables_are_lists_and_headings_are_bold() -> None:
    assert as_teams_draws(ANSWER, is_whole=True) == DRAWN


def test_what_is_shown_while_the_answer_grows_only_grows() -> None:
    before = ""
    for end in range(len(ANSWER) + 1):
        shown = as_teams_draws(ANSWER[:end], is_whole=False)
        assert shown.startswith(before), ANSWER[:end]
        assert DRAWN.startswith(shown), ANSWER[:end]
        before = shown


@pytest.mark.parametrize("text", ["", "A sentence.", "- item\n- item", "a | b", "#hashtag", "1. one\n2. two"])
def test_other_texts_stay_as_they_are(text: str) -> None:
    assert as_teams_draws(text, is_whole=True) == text
