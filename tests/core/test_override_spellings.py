"""What azure-search-openai-demo's newest front end says in words of its own is what the documents' overrides say."""

from typing import Any

import pytest

from shared.chat_types import Overrides, RetrievalMode
from shared.core.searching import vectors_searched
from shared.core.source_images import asks_for_more_than_text, sources_as

BOTH = ("embedding", "imageEmbedding")


@pytest.mark.parametrize(
    ("text", "images", "given", "named"),
    [
        (None, None, "text", None),
        (True, False, "text", None),
        (None, False, "text", None),
        (True, True, "textAndImages", "send_image_sources"),
        (None, True, "textAndImages", "send_image_sources"),
        (False, True, "images", "send_image_sources"),
        (False, None, "images", "send_text_sources"),
        (False, False, "none", "send_text_sources"),
    ],
)
def test_the_model_is_given_text_images_both_or_neither(
    text: bool | None, images: bool | None, given: str, named: str | None
) -> None:
    asked = Overrides(send_text_sources=text, send_image_sources=images)
    assert (sources_as(asked), asks_for_more_than_text(asked)) == (given, named)


@pytest.mark.parametrize(
    ("older", "given", "named"),
    [
        ({"use_gpt4v": False}, "text", None),
        ({"use_gpt4v": False, "gpt4v_input": "images"}, "text", None),
        ({"use_gpt4v": True}, "textAndImages", "use_gpt4v"),
        ({"use_gpt4v": True, "gpt4v_input": "text"}, "text", None),
        ({"use_gpt4v": True, "gpt4v_input": "images"}, "images", "use_gpt4v"),
    ],
)
def test_use_gpt4v_counts_alone_where_it_is_given(older: dict[str, Any], given: str, named: str | None) -> None:
    for text in (None, True, False):
        for images in (None, True, False):
            asked = Overrides(send_text_sources=text, send_image_sources=images, **older)
            assert (sources_as(asked), asks_for_more_than_text(asked)) == (given, named)


@pytest.mark.parametrize("mode", [None, RetrievalMode.HYBRID, RetrievalMode.VECTORS])
@pytest.mark.parametrize(
    ("text", "images", "fields"),
    [
        (None, None, ()),
        (True, None, ()),
        (True, False, ("embedding",)),
        (None, False, ("embedding",)),
        (True, True, BOTH),
        (None, True, BOTH),
        (False, True, ("imageEmbedding",)),
        (False, None, ("imageEmbedding",)),
    ],
)
def test_the_vectors_of_texts_of_images_or_both_are_searched(
    mode: RetrievalMode | None, text: bool | None, images: bool | None, fields: tuple[str, ...]
) -> None:
    asked = Overrides(retrieval_mode=mode, search_text_embeddings=text, search_image_embeddings=images)
    assert vectors_searched(asked) == (mode, fields)


@pytest.mark.parametrize("mode", [None, *RetrievalMode])
def test_a_search_without_any_vectors_is_one_by_text(mode: RetrievalMode | None) -> None:
    asked = Overrides(retrieval_mode=mode, search_text_embeddings=False, search_image_embeddings=False)
    assert vectors_searched(asked) == (RetrievalMode.TEXT, ())


def test_vector_fields_count_alone_where_they_are_given() -> None:
    asked = Overrides(
        retrieval_mode=RetrievalMode.VECTORS,
        vector_fields=("imageEmbedding",),
        search_text_embeddings=False,
        search_image_embeddings=False,
    )
    assert vectors_searched(asked) == (RetrievalMode.VECTORS, ("imageEmbedding",))
