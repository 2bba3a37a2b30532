"""The documents page: what is indexed, and uploads with their progress."""

import re
from collections.abc import AsyncGenerator

import pytest
import pytest_asyncio
from playwright.async_api import Browser, FilePayload, Page, expect

from tests.app.conftest import hosted
from tests.app.identity.conftest import Key, taking
from tests.local.running_host import RunningHost
from tests.playground.test_texts import table_of

pytestmark = [pytest.mark.asyncio(loop_scope="session"), pytest.mark.timeout(300)]


@pytest_asyncio.fixture(scope="module", loop_scope="session")
async def empty(tmp_path_factory: pytest.TempPathFactory) -> AsyncGenerator[RunningHost]:
    async with hosted(tmp_path_factory.mktemp("empty"), {}) as host:
        yield host


def markdown(name: str, text: str) -> FilePayload:
    return FilePayload(name=name, mimeType="text/markdown", buffer=text.encode())


async def test_documents_are_uploaded_found_replaced_and_deleted(
    page: Page, empty: RunningHost, expected_errors: list[str]
) -> None:
    expected_errors.append("409")
    await page.goto(f"{empty.url}/#/documents")
    await expect(page.get_by_text("There are no documents here that you may see.")).to_be_visible()
    await expect(page.get_by_text("Nobody signs in here")).to_be_visible()
    broken = FilePayload(name="broken.pdf", mimeType="application/pdf", buffer=b"nothing")
    await page.get_by_label("Folder").fill("animals")
    await page.get_by_label("Files").set_input_files([markdown("zebra.md", "Zebras have 42 stripes."), broken])
    uploads = page.get_by_role("list", name="Uploads")
    await expect(uploads.get_by_role("status").nth(0)).to_have_text("indexed: 1 passage")
    await expect(uploads.get_by_role("status").nth(1)).to_contain_text("failed: The document is damaged")
    failed = page.get_by_role("list", name="Could not be read").get_by_role("listitem")
    await expect(failed).to_contain_text(re.compile(r"animals/broken\.pdf.*The document is damaged", re.DOTALL))
    await failed.get_by_role("button", name="Delete animals/broken.pdf").click()
    await page.get_by_role("button", name="Delete for good").click()
    await expect(failed).to_have_count(0)
    listed = page.get_by_role("list", name="Documents").get_by_role("listitem")
    await expect(listed).to_have_count(1)
    await expect(listed.get_by_role("link", name="animals/zebra.md")).to_be_visible()
    await expect(listed).to_contain_text(re.compile(r"1 passage · 23 bytes · Markdown · \w+ \d{1,2}, \d{4}$"))
    attached = b"--b\nContent-Disposition: attachment; filename=a.dwg\n\nx\n--b--"
    mail = b"Subject: Plan\nContent-Type: multipart/mixed; boundary=b\n\n" + attached
    await page.get_by_label("Files").set_input_files(FilePayload(name="plan.eml", mimeType="", buffer=mail))
    await expect(listed.filter(has_text="plan.eml")).to_contain_text("Not read: attachment a.dwg")
    await page.get_by_label("Files").set_input_files([markdown("zebra.md", "Zebras have nine stripes now.")])
    await uploads.get_by_role("button", name="Replace it").click()
    await expect(listed.filter(has_text="zebra.md")).to_contain_text("29 bytes")
    await page.get_by_role("searchbox").last.fill("horse")
    await expect(page.get_by_text("No document has such a name.")).to_be_visible()
    await page.get_by_role("searchbox").last.fill("ZEB")
    await page.get_by_role("button", name="Delete animals/zebra.md").click()
    await page.get_by_role("button", name="Delete for good").click()
    await expect(page.get_by_text("No document has such a name.")).to_be_visible()


async def test_why_a_file_cannot_be_read_is_told_in_the_readers_language(browser: Browser, empty: RunningHost) -> None:
    context = await browser.new_context(locale="de")
    page = await context.new_page()
    await page.goto(f"{empty.url}/#/documents")
    broken = FilePayload(name="broken.pdf", mimeType="application/pdf", buffer=b"nothing")
    await page.get_by_label("Dateien wählen").set_input_files([markdown("yak.md", "Yaks have hair."), broken])
    told = page.get_by_role("list", name="Uploads").get_by_role("status")
    await expect(told.nth(0)).to_have_text("im Index")
    await expect(told.nth(1)).to_contain_text("fehlgeschlagen: Die Datei ist beschädigt")
    await expect(page.get_by_role("list", name="Nicht lesbar")).to_contain_text("Die Datei ist beschädigt")
    await page.get_by_role("button", name="yak.md löschen").click()
    await page.get_by_role("button", name="Endgültig löschen").click()
    await expect(page.get_by_role("button", name="yak.md löschen")).to_have_count(0)
    await context.close()


async def test_who_may_not_write_is_offered_nothing_to_write_with(
    page: Page, tmp_path_factory: pytest.TempPathFactory
) -> None:
    async with hosted(tmp_path_factory.mktemp("readers"), {"DOCUMENTS_WRITERS": "nobody"}) as host:
        await page.goto(f"{host.url}/#/documents")
        await expect(page.get_by_text("There are no documents here that you may see.")).to_be_visible()
        await expect(page.get_by_role("region", name="Upload")).to_have_count(0)
        await page.goto("about:blank")  # before the host ends


async def refused_in(language: str, browser: Browser, host: RunningHost, key: str) -> None:
    """Upload one document too many; what refuses it is said in this language, with the number."""
    context = await browser.new_context(locale=language)
    page = await context.new_page()
    await page.goto(host.url)
    await page.locator("input[type=password]").fill(key)
    await page.keyboard.press("Enter")
    await page.goto(f"{host.url}/#/documents")
    await page.locator(".mine input[type=file]").set_input_files(markdown("d.md", "Zebras."))
    text = table_of(language)["error.own_documents"]["other"].replace("{most}", "3")
    await expect(page.locator(".mine .uploads [role=status]")).to_contain_text(text)
    await context.close()


async def test_a_persons_own_documents_are_added_listed_and_deleted(
    page: Page, browser: Browser, tmp_path_factory: pytest.TempPathFactory
) -> None:
    ada = Key("ada")
    async with hosted(
        tmp_path_factory.mktemp("own"), taking(ada) | {"LIMIT_CALLER_DOCUMENTS": "3", "DOCUMENTS_WRITERS": "ada"}
    ) as host:
        await page.goto(host.url)
        await page.get_by_label("API key").fill(ada.made[0])
        await page.keyboard.press("Enter")
        await page.goto(f"{host.url}/#/documents")
        mine = page.get_by_role("region", name="My documents", exact=True)
        await mine.get_by_label("Files").set_input_files([markdown(f"{name}.md", "Zebras.") for name in "abc"])
        listed = mine.get_by_role("list", name="My documents").get_by_role("listitem")
        await expect(listed).to_have_count(3)
        await expect(listed.first).to_contain_text(re.compile(r"^a\.md.* · kept until \w+ \d{1,2}, \d{4}$", re.DOTALL))
        await expect(mine).to_contain_text("3 of 3 documents, 21 bytes of 100.0 MB, 3 of 5,000 pages.")
        for language in ("de", "ja"):
            await refused_in(language, browser, host, ada.made[0])
        async with page.expect_download() as saved:
            await listed.first.get_by_role("button", name="a.md", exact=True).click()
        assert (await saved.value).suggested_filename == "a.md"
        shared = page.get_by_role("region", name="Upload", exact=True)
        await shared.get_by_label("Files").set_input_files(markdown("plan.md", "Zebras."))
        async with page.expect_download() as saved:
            await (
                page.get_by_role("list", name="Documents", exact=True)
                .get_by_role("button", name="plan.md", exact=True)
                .click()
            )
        assert (await saved.value).suggested_filename == "plan.md"
        await mine.get_by_role("button", name="Delete a.md").click()
        await mine.get_by_role("button", name="Delete for good").click()
        await expect(listed).to_have_count(2)
        await mine.get_by_role("button", name="Delete all of mine").click()
        await mine.get_by_role("button", name="Delete for good").click()
        await expect(mine).to_contain_text("0 of 3 documents")
        await page.goto("about:blank")  # before the host ends


async def test_fits_on_a_phone(narrow_page: Page, empty: RunningHost) -> None:
    await narrow_page.goto(f"{empty.url}/#/documents")
    await expect(narrow_page.get_by_role("heading", name="Documents")).to_be_visible()
    assert await narrow_page.evaluate("document.documentElement.scrollWidth") == 390
