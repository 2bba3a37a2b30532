"""Documents in a container of Azurite, the real service's emulator: the contract, rights, and the service's faults."""

from collections.abc import AsyncGenerator
from uuid import uuid4

import pytest
from azure.storage.blob import ContentSettings
from azure.storage.blob.aio import ContainerClient

from shared.chat_types import Access, Extent
from shared.documents import Rights, md5_of
from shared.documents.blob_store import BlobStore
from shared.documents.listing import list_documents
from shared.errors import NotConfigured, Unavailable
from tests.documents.store_contract import StoreContract, Uploading, content, replace
from tests.stand_ins.azurite import KEY, Azurite
from tests.stand_ins.identity_endpoint import identity_endpoint


@pytest.fixture
def container_name() -> str:
    return f"content-{uuid4()}"


@pytest.fixture
async def store(azurite: Azurite, container_name: str) -> AsyncGenerator[BlobStore]:
    store = BlobStore.of(azurite.connection_string, container_name)
    yield store
    await store.aclose()


@pytest.fixture
async def container(azurite: Azurite, container_name: str) -> AsyncGenerator[ContainerClient]:
    async with ContainerClient.from_connection_string(
        azurite.connection_string, container_name, max_single_put_size=1024 * 1024, max_block_size=1024 * 1024
    ) as client:
        yield client


@pytest.fixture
def upload(container: ContainerClient) -> Uploading:
    async def upload(name: str, data: bytes) -> None:
        await container.upload_blob(name, data, overwrite=True)

    return upload


class TestBlobStore(StoreContract):
    pass


@pytest.mark.parametrize(
    ("metadata", "rights"),
    [
        ({}, Rights()),
        ({"oids": "a,b", "groups": "g"}, Rights(("a", "b"), ("g",))),
        ({"OIDs": " a , ,b,a,", "Groups": ","}, Rights(("a", "b"))),
        ({"oid": "a"}, Rights()),
        ({"oids": " , "}, Rights(("nobody",))),
        ({"oids": ""}, Rights(("nobody",))),
        ({"Groups": ",", "oids": " "}, Rights(("nobody",))),
    ],
)
async def test_rights_are_in_the_metadata(
    store: BlobStore, container: ContainerClient, metadata: dict[str, str], rights: Rights
) -> None:
    await container.create_container()
    await container.upload_blob("plan.pdf", b"x", metadata=metadata)
    document = await store.find("plan.pdf")
    assert document
    assert document.rights == rights
    assert [document] == [found async for found in store.find_all()]


async def test_a_new_version_keeps_the_metadata_and_has_its_own_media_type(
    store: BlobStore, container: ContainerClient
) -> None:
    await container.create_container()
    await container.upload_blob(
        "plan.pdf", b"old", metadata={"Groups": "g", "note": "n"}, content_settings=ContentSettings("text/html")
    )
    await replace(store, "plan.pdf", b"new")
    properties = await container.get_blob_client("plan.pdf").get_blob_properties()
    metadata = {name.lower(): value for name, value in properties.metadata.items()}
    assert metadata == {"groups": "g", "note": "n", "switchboard": "kept"}
    assert properties.content_settings.content_type == "application/pdf"
    assert await content(store, "plan.pdf") == b"new"


@pytest.mark.parametrize("rights", [Rights(("ada",)), Rights((), ("staff", "board")), Rights()])
async def test_rights_that_are_given_with_a_new_version_take_the_place_of_the_old_ones(
    store: BlobStore, container: ContainerClient, rights: Rights
) -> None:
    await container.create_container()
    await container.upload_blob("1.jpg", b"old", metadata={"OIDs": "ben", "Groups": "all", "note": "n"})
    await replace(store, "1.jpg", b"new", rights)
    document = await store.find("1.jpg")
    assert document
    assert document.rights == rights


async def test_what_others_put_there_is_told_from_what_was_kept(store: BlobStore, upload: Uploading) -> None:
    async def is_kept() -> bool:
        document = await store.find("plan.pdf")
        assert document
        return document.kept

    await store.keep("plan.pdf", b"x")
    assert await is_kept()
    await upload("plan.pdf", b"x")
    assert not await is_kept()


async def test_a_folder_of_a_hierarchical_namespace_is_no_document(
    store: BlobStore, container: ContainerClient
) -> None:
    await container.create_container()
    await container.upload_blob("leave", b"", metadata={"hdi_isfolder": "true"})
    assert await store.find("leave") is None
    assert [found async for found in store.find_all()] == []


async def test_the_pages_of_a_list_hold_each_document_once_in_whatever_order_the_service_lists(
    store: BlobStore,
) -> None:
    async def whole(_name: str, _access: Access | None) -> Extent:
        return Extent(1, 1)

    names = ["Z.md", "a/b.md", "日.md", "Ａ.md", "😀.md"]  # by UTF-16 the emoji comes before the full-width letter
    for name in names:
        await store.keep(name, b"1")
    for search in ("", ".MD"):
        listed: list[str] = []
        after = ""
        while page := await list_documents(store, None, whole, search=search, after=after, limit=1):
            listed += [found.document.name for found in page]
            after = listed[-1]
        assert sorted(listed) == names


async def test_a_version_is_told_by_the_md5_of_the_bytes_and_where_there_is_none_by_the_etag(
    store: BlobStore, container: ContainerClient
) -> None:
    async def version(name: str) -> str:
        document = await store.find(name)
        assert document
        assert document in [found async for found in store.find_all()]
        return document.version if document.version != document.etag else "etag"

    await store.keep("kept.md", b"x")
    await container.upload_blob("uploaded.md", b"x")
    await container.upload_blob("in blocks.md", b"x" * 2 * 1024 * 1024)
    log = container.get_blob_client("log.txt")
    await log.create_append_blob(content_settings=ContentSettings(content_md5=bytearray(16)))
    await log.append_block(b"x")
    assert await version("kept.md") == await version("uploaded.md") == md5_of(b"x")
    assert await version("in blocks.md") == await version("log.txt") == "etag"


async def test_documents_are_listed_page_after_page(store: BlobStore, container: ContainerClient) -> None:
    await container.create_container()
    for number in range(30):
        await container.upload_blob(f"{number:02}.md", b"x")
    names = [f"{number:02}.md" for number in range(30)]
    assert [name async for name in store.names()] == names
    assert [found.name async for found in store.find_all()] == names
    await store.remove("12.md")
    for after in ("12.md", "11.md"):  # it lists from there, whether or not there still is such a document
        assert [found.name async for found in store.find_all(after)] == names[13:]
        assert [found.name async for found in store.find_all(after, lambda name: name > "20.md")] == names[21:]


async def test_a_container_that_is_not_there_is_told_and_made_when_a_document_is_kept(
    store: BlobStore, container: ContainerClient
) -> None:
    health = await store.check()
    assert (health.ok, health.needed) == (False, False)
    assert "CONTENT_CONTAINER" in health.detail
    with pytest.raises(NotConfigured, match="CONTENT_CONTAINER"):
        await anext(store.find_all())
    await store.keep("a.md", b"x")
    assert (await container.get_container_properties()).public_access is None


@pytest.mark.nightly
async def test_a_service_that_is_gone_is_named_and_used_again_when_it_is_back() -> None:
    async with Azurite() as service:
        store = BlobStore.of(service.connection_string, "content")
        await store.keep("a.md", b"x")
        document = await store.find("a.md")
        assert document
        await service.stop()
        with pytest.raises(Unavailable, match="CONTENT_STORAGE"):
            await store.find("a.md")
        with pytest.raises(Unavailable, match="CONTENT_STORAGE"):
            await anext(store.read(document))
        assert not (await store.check()).ok
        await service.start()
        await store.keep("a.md", b"x")
        await store.aclose()


async def test_a_key_that_is_not_the_accounts_is_named_and_not_shown(azurite: Azurite) -> None:
    store = BlobStore.of(azurite.connection_string.replace(KEY, "d3Jvbmc="), "content")
    with pytest.raises(Unavailable, match="Storage Blob Data Reader") as raised:
        await store.find("a.md")
    with pytest.raises(Unavailable, match="Storage Blob Data Reader"):
        await anext(store.find_all())
    assert "Storage Blob Data Contributor" in (await store.check()).detail
    await store.aclose()
    assert "d3Jvbmc" not in raised.value.message


async def test_an_address_is_used_with_the_apps_identity(monkeypatch: pytest.MonkeyPatch) -> None:
    async with identity_endpoint("token") as (environment, asked):
        for name, value in environment.items():
            monkeypatch.setenv(name, value)
        store = BlobStore.of(None, "content", "https://127.0.0.1:9")
        with pytest.raises(Unavailable, match="cannot be reached"):
            await store.find("a.md")
        await store.aclose()
    assert asked == ["https://storage.azure.com"]


async def test_what_is_no_connection_string_is_told() -> None:
    with pytest.raises(NotConfigured, match="CONTENT_STORAGE"):
        BlobStore.of("secret", "content")
