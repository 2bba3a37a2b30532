"""The settings page: every override, what is wrong with one, the health of the parts, and the addresses."""

import re

import aiohttp
import pytest
from playwright.async_api import Locator, Page, expect

from tests.description.documents import OPENAPI
from tests.local.running_host import RunningHost

pytestmark = [pytest.mark.asyncio(loop_scope="session"), pytest.mark.timeout(300)]

OVERRIDES = OPENAPI["components"]["schemas"]["OverridesBody"]["properties"]
REFUSED = re.escape("status of 400 (Bad Request)")


def field(page: Page, name: str) -> Locator:
    return page.get_by_label(name, exact=True)


async def opened(page: Page, host: RunningHost) -> None:
    await page.goto(f"{host.url}/#/settings")
    await expect(field(page, "top")).to_be_visible()


async def fill(page: Page, name: str, value: str) -> None:
    await field(page, name).fill(value)
    await field(page, name).blur()


async def test_has_each_override_of_the_openapi_document_with_its_meaning(page: Page, built_in: RunningHost) -> None:
    await opened(page, built_in)
    names = page.get_by_role("region", name="Overrides").locator("label code")
    await expect(names).to_have_text(list(OVERRIDES))
    for name, schema in OVERRIDES.items():
        await expect(field(page, name)).to_have_accessible_description(
            re.compile(re.escape(schema["description"].replace("`", "")))
        )
    await expect(field(page, "top")).to_have_accessible_description(re.compile("integer, 1 to 50"))
    await expect(field(page, "gpt4v_input").get_by_role("option")).to_have_text(
        ["default", "text", "texts", "textAndImages", "images"]
    )
    assert await field(page, "prompt_template").evaluate("element => element.tagName") == "TEXTAREA"


async def test_changed_overrides_are_marked_and_kept_until_they_are_reset(page: Page, built_in: RunningHost) -> None:
    await opened(page, built_in)
    await fill(page, "top", "5")
    await fill(page, "vector_fields", "embedding, imageEmbedding")
    await field(page, "semantic_ranker").select_option("off")
    await page.reload()
    await expect(page.get_by_role("status", name="Changed overrides")).to_have_text("3 changed")
    await expect(field(page, "top")).to_have_value("5")
    await expect(field(page, "vector_fields")).to_have_value("embedding, imageEmbedding")
    await expect(field(page, "semantic_ranker")).to_have_value("false")
    await page.get_by_role("button", name="Reset top").click()
    await expect(field(page, "top")).to_have_value("")
    await expect(page.get_by_role("status", name="Changed overrides")).to_have_text("2 changed")
    await page.get_by_role("button", name="Reset all").click()
    await expect(field(page, "vector_fields")).to_have_value("")
    await expect(page.get_by_role("button", name="Reset all")).to_be_disabled()


WRONG = [
    ("top", "99", "should be less than or equal to 50."),
    ("top", "many", "should be a valid integer."),
    ("temperature", "warm", "should be a valid number."),
    ("language", "not a tag", "should match pattern"),
]


async def test_what_the_app_says_of_a_wrong_override_is_at_its_field(
    page: Page, built_in: RunningHost, expected_errors: list[str]
) -> None:
    expected_errors.append(REFUSED)
    await opened(page, built_in)
    for name, value, sentence in WRONG:
        await fill(page, name, value)
        await expect(field(page, name)).to_have_attribute("aria-invalid", "true")
        await expect(field(page, name)).to_have_accessible_description(re.compile(re.escape(sentence)))
        await page.get_by_role("button", name=f"Reset {name}").click()
        await expect(field(page, name)).not_to_have_attribute("aria-invalid", "true")
    name, value, sentence = WRONG[0]
    await fill(page, name, value)
    await expect(field(page, name)).to_have_accessible_description(re.compile(re.escape(sentence)))
    await page.reload()
    await expect(field(page, name)).to_have_accessible_description(re.compile(re.escape(sentence)))


async def test_shows_the_health_of_each_part_and_what_to_set_next(
    page: Page, built_in: RunningHost, http: aiohttp.ClientSession
) -> None:
    async with http.get(f"{built_in.url}/health") as response:
        parts = (await response.json())["parts"]
    await opened(page, built_in)
    await expect(page.get_by_role("status", name="Health")).to_contain_text("ok Everything works.")
    for name, part in parts.items():
        await expect(page.get_by_role("listitem", name=name)).to_contain_text(part["detail"])
    await expect(page.get_by_role("listitem", name="model")).to_contain_text("set OPENAI_CHAT_MODEL")


async def test_fits_on_a_phone(narrow_page: Page, built_in: RunningHost) -> None:
    await opened(narrow_page, built_in)
    assert await narrow_page.evaluate("document.documentElement.scrollWidth") == 390
