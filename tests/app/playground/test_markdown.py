"""Markdown as models write it: maths, right-to-left text, columns, wide tables, and pieces that are cut anywhere."""

import asyncio

import pytest
from playwright.async_api import Page, Request, expect

from tests.app.playground.asking import ask, ended
from tests.local.running_host import RunningHost
from tests.stand_ins.openai_service import OpenAIStandIn

pytestmark = [pytest.mark.asyncio(loop_scope="session"), pytest.mark.timeout(300)]

MATHS = r"""Rate \(r\) gives $K_n$ for $5 and $6, or US$7, in `$A/$B` and $HOME/$PATH:

\[
K_n = K_0 \cdot \left(1 + \frac{r}{100}\right)^n
\]

1. $$x = \sqrt{2}$$

| sign | value |
|:--|--:|
| \(\alpha\) | $90^\circ$ |

Not valid: \(\frac{1\) and $\nosuchmacro$.
"""
ARABIC = """## الإجازات

يحق لكل موظف **25 يومًا** من الإجازة. [plan.pdf#page=3]

- `API` أولاً
- ثانيًا

| سنوات | أيام |
|---|---:|
| 5 | 28 |

In English.
"""
WIDE = f"""|name|{"age|" * 11}
|:-|{"-:|" * 10}:-:|
|x|{"1,234.50|" * 11}
"""
CODE = """Here:
- first
- **then** [the site](https://elsewhere.example/x)

```python
names = [1]
print(f"`{names[0]}`")
```

```bash
echo "$$" # \\(not maths\\)
```

~~~json
{"a": [1]}
~~~

1. In a list [plan.pdf#page=3]:
   ```js
   const a = 1;
   ```
2. End *here*.
"""
EVERY_CUT = """async ([path, texts]) => {
  const { AnswerRenderer, purified } = await import(document.querySelector("script[src]").src.replace("app.js", path));
  const sources = [{ id: "plan.pdf#page=3", title: "", url: "", text: "" }];
  const shown = (blocks) => {
    const element = document.createElement("div");
    for (const { unsafe } of blocks) element.append(purified(unsafe));
    return element;
  };
  const letters = (element) => element.textContent.replace(/[\\s\\u2060]+/g, "");
  const kinds = (element) => [...element.children].map((one) => one.tagName + one.className);
  const faults = [];
  for (const text of texts) {
    const whole = shown(new AnswerRenderer().render(text, sources, true));
    const growing = new AnswerRenderer();
    for (let end = 1; end <= text.length; end += 1) {
      const part = shown(growing.render(text.slice(0, end), sources, false));
      const fresh = shown(new AnswerRenderer().render(text.slice(0, end), sources, false));
      const isShaped = kinds(part).every((kind, at) => kind === kinds(whole)[at]);
      const isBeginning = isShaped && letters(whole).startsWith(letters(part));
      if (!isBeginning || part.innerHTML !== fresh.innerHTML) faults.push([text.slice(0, end), part.innerHTML]);
    }
    if (shown(growing.render(text, sources, true)).innerHTML !== whole.innerHTML) faults.push([text, "at its end"]);
  }
  return faults.slice(0, 3);
}"""


async def test_no_piece_of_markdown_is_shown_as_something_else_first(page: Page, built_in: RunningHost) -> None:
    await page.goto(built_in.url)
    assert await page.evaluate(EVERY_CUT, ["chat/markdown.js", [MATHS, ARABIC, WIDE, CODE]]) == []


async def test_maths_are_set_once_there_are_some_and_stay_source_where_they_are_not_valid(
    page: Page, app: RunningHost, openai: OpenAIStandIn
) -> None:
    asked_for: list[Request] = []
    page.on("request", lambda request: asked_for.append(request))  # noqa: PLW0108 (Playwright marks handlers)
    openai.reply("No maths for $5 and $6.")
    await ask(page, app)
    await ended(page)
    assert not any("katex" in request.url for request in asked_for)
    openai.reply(MATHS)
    said = await ask(page, app)
    await ended(page)
    await expect(said.locator(".typeset")).to_have_count(6)
    await expect(said.locator(".typeset.display")).to_have_count(2)
    await expect(said.locator(".typeset annotation").first).to_have_text("r")
    await expect(said.get_by_role("paragraph").first).to_contain_text(
        "for $5 and $6, or US$7, in $A/$B and $HOME/$PATH:"
    )
    await expect(said.get_by_role("paragraph").last).to_have_text(r"Not valid: \(\frac{1\) and $\nosuchmacro$.")
    heights = await said.locator(".typeset .strut").evaluate_all("all => all.map((one) => one.style.height)")
    assert all(heights), "the security policy lets KaTeX place what it sets"
    fonts = await page.evaluate(
        "async () => { await document.fonts.ready;"
        " return [...document.fonts].filter((one) => one.status === 'loaded').map((one) => one.family) }"
    )
    assert {"KaTeX_Main", "KaTeX_Math"} <= {font.strip('"') for font in fonts}


async def test_text_lies_as_its_letters_and_columns_as_the_table_says(
    page: Page, app: RunningHost, openai: OpenAIStandIn
) -> None:
    openai.reply(ARABIC)
    said = await ask(page, app)
    await expect(said).to_contain_text("In English.")
    directions = await said.locator(".block > *").evaluate_all(
        "all => all.map((one) => [one.dir, getComputedStyle(one).direction])"
    )
    assert directions == [["auto", "rtl"]] * 4 + [["auto", "ltr"]]
    first, second = [await said.get_by_role("columnheader").nth(at).bounding_box() for at in (0, 1)]
    assert first
    assert second
    assert first["x"] > second["x"], "the first column is at the right"
    aligned = await said.get_by_role("cell").evaluate_all("all => all.map((one) => getComputedStyle(one).textAlign)")
    assert aligned == ["start", "right"]


async def test_a_wide_table_scrolls_within_the_answer_and_a_number_stays_with_its_word(
    narrow_page: Page, app: RunningHost, openai: OpenAIStandIn
) -> None:
    page = narrow_page
    await page.set_viewport_size({"width": 375, "height": 800})
    openai.reply(
        WIDE + "\n" + "\n\n".join(f"{'word ' * count}word. [plan.pdf#page=3] [dental.md]" for count in range(4, 12))
    )
    said = await ask(page, app)
    await ended(page)
    table = said.get_by_role("group", name="Table")
    assert await table.evaluate("one => one.scrollWidth > one.clientWidth + 100")
    assert "linear-gradient" in await table.evaluate("one => getComputedStyle(one).backgroundImage")
    await table.focus()
    await page.keyboard.press("ArrowRight")
    assert await page.evaluate("document.documentElement.scrollWidth") == 375
    alone = await said.locator(".cite").evaluate_all(
        """all => all.filter((one) => {
            const range = document.createRange();
            range.setStart(one.closest("p"), 0);
            range.setEndBefore(one);
            const before = [...range.getClientRects()].filter((rect) => rect.width > 5).at(-1);
            return before.bottom < one.getBoundingClientRect().top;
        }).length"""
    )
    assert alone == 0


async def test_code_that_grows_keeps_its_element_and_what_is_selected(
    page: Page, app: RunningHost, openai: OpenAIStandIn
) -> None:
    more, closed, end = asyncio.Event(), asyncio.Event(), asyncio.Event()
    openai.reply("So:\n\n```python\nfirst = 1\n", more, "second = 2\n`", closed, "``\n\nAnd", end, " more.")
    said = await ask(page, app)
    code = said.locator("pre > code")
    await expect(code).to_contain_text("first")
    await code.evaluate("one => { one.isTheSame = true; getSelection().selectAllChildren(one) }")
    more.set()
    await expect(code).to_have_text("first = 1\nsecond = 2\n")
    assert await code.evaluate("one => one.isTheSame && getSelection().toString().includes('first')")
    closed.set()  # then its colours come, which are other nodes
    await expect(code.locator(".hljs-number")).to_have_text(["1", "2"])
    await code.locator(".hljs-number").first.evaluate("one => { one.isTheSame = true }")
    end.set()
    await ended(page)
    assert await code.locator(".hljs-number").first.evaluate("one => one.isTheSame")
