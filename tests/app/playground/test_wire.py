"""The tab 'Wire': a request and the records of its answer, as they were on the wire."""

from pathlib import Path

import pytest
from playwright.async_api import Page, expect

from tests.app.conftest import hosted
from tests.app.identity.conftest import REPORT, taking
from tests.app.test_answers import QUESTION
from tests.local.running_host import RunningHost

pytestmark = [pytest.mark.asyncio(loop_scope="session"), pytest.mark.timeout(300)]

MODULES = """const module = (name) => import(document.querySelector("script[src]").src.replace("app.js", name));"""


async def ask(page: Page, host: RunningHost, question: str) -> None:
    await page.goto(host.url)
    await page.get_by_label("Your question").fill(question)
    await page.keyboard.press("Enter")
    await page.get_by_role("tab", name="Wire").click()
    await expect(page.get_by_role("status").filter(has_text="records")).to_be_visible()


async def test_the_tab_shows_the_exchange_as_it_was_on_the_wire(page: Page, built_in: RunningHost) -> None:
    await ask(page, built_in, QUESTION)
    panel = page.get_by_role("tabpanel")
    await panel.get_by_text("POST /api/ag-ui").click()
    await expect(panel.get_by_label("Body of the request")).to_contain_text(f'"content": "{QUESTION}"')
    await panel.get_by_text("200 in").click()
    await expect(panel.get_by_role("definition").filter(has_text="text/event-stream").last).to_be_visible()
    records = panel.get_by_role("listbox", name="Records")
    await expect(records.get_by_role("option", name="RUN_STARTED")).to_be_visible()
    await panel.get_by_role("searchbox").fill("run_finished")
    await expect(records.get_by_role("option")).to_have_count(1)
    await expect(panel.get_by_text("1 of")).to_be_visible()
    await records.get_by_role("option").click()
    await expect(panel.get_by_label("Chosen record")).to_contain_text('"type": "RUN_FINISHED"')


async def test_two_thousand_records_draw_no_more_than_what_is_seen(page: Page, built_in: RunningHost) -> None:
    await page.goto(built_in.url)
    await page.evaluate(f"""async () => {{
      {MODULES}
      const {{ html, render }} = await module("html.js");
      const {{ Records }} = await module("wire/records.js");
      const link = Object.assign(document.createElement("link"), {{ rel: "stylesheet" }});
      link.href = document.querySelector("script[src]").src.replace("app.js", "panel.css");
      await new Promise((loaded) => {{
        link.onload = loaded;
        document.head.append(link);
      }});
      const place = document.createElement("div");
      Object.assign(place.style, {{ position: "fixed", inset: 0, zIndex: 9, background: "white" }});
      document.body.append(place);
      const record = (_, index) => ({{ at: index * 5, raw: `data: {{"n":${{index}}}}` }});
      const records = Array.from({{ length: 2000 }}, record);
      render(html`<${{Records}} records=${{records}} dropped=${{0}} />`, place);
    }}""")
    records = page.get_by_role("listbox", name="Records")
    await expect(records.get_by_role("option").first).to_be_visible()
    assert await records.get_by_role("option").count() <= 60
    await page.wait_for_load_state("networkidle")  # until then the page may take the focus to its question
    await records.press("End")
    await expect(records.get_by_role("option", selected=True)).to_contain_text('{"n":1999}')
    await expect(records.get_by_role("option", selected=True)).to_be_in_viewport()
    assert await records.get_by_role("option").count() <= 60


async def test_the_key_is_in_no_text(page: Page, data_dir: Path) -> None:
    async with hosted(data_dir, taking(REPORT)) as host:
        await page.goto(host.url)
        await page.get_by_label("API key").fill(REPORT.made[0])
        await page.keyboard.press("Enter")
        await page.get_by_label("Your question").fill(QUESTION)
        await page.keyboard.press("Enter")
        await page.get_by_role("tab", name="Wire").click()
        panel = page.get_by_role("tabpanel")
        await panel.get_by_text("POST /api/ag-ui").click()
        await expect(panel.get_by_text("Bearer …", exact=True)).to_be_visible()
        assert REPORT.made[0] not in await panel.inner_text()
        await page.goto("about:blank")  # before the host ends
