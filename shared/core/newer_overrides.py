"""Overrides that come in two spellings: the protocol documents', and azure-search-openai-demo's newest front end's.

That front end sends its own with each question, by the defaults of its own server, so they are wishes: what is not
there is left out, and a thought says so. Where the older spelling is given, it counts alone.
"""

from shared.chat_types import Overrides, RetrievalMode


def sources_as(overrides: Overrides) -> str:
    """How the model is given its sources: `text`, `textAndImages`, `images`, or `none` as only the newer spelling has.

    Older: `use_gpt4v` and `gpt4v_input`. Newer: `send_text_sources` and `send_image_sources`.
    """
    if overrides.use_gpt4v is not None:
        return (overrides.gpt4v_input or "textAndImages") if overrides.use_gpt4v else "text"
    text = overrides.send_text_sources is not False
    images = (not text) if overrides.send_image_sources is None else overrides.send_image_sources
    if text:
        return "textAndImages" if images else "text"
    return "images" if images else "none"


def asks_for_more_than_text(overrides: Overrides) -> str | None:
    """The name of the override that does; None: only the sources' text is asked for."""
    if sources_as(overrides) == "text":
        return None
    if overrides.use_gpt4v:
        return "use_gpt4v"
    return "send_image_sources" if overrides.send_image_sources else "send_text_sources"


def vectors_searched(overrides: Overrides) -> tuple[RetrievalMode | None, tuple[str, ...]]:
    """How to search, and the vector fields; no field: all that there are.

    Older: `vector_fields`. Newer: `search_text_embeddings` and `search_image_embeddings`; neither is a search by text.
    """
    if overrides.vector_fields:
        return overrides.retrieval_mode, overrides.vector_fields
    match overrides.search_text_embeddings, overrides.search_image_embeddings:
        case False, False:
            return RetrievalMode.TEXT, ()
        case False, _:
            fields = ("imageEmbedding",)
        case _, True:
            fields = ("embedding", "imageEmbedding")
        case _, False:
            fields = ("embedding",)
        case _:
            fields = ()
    return overrides.retrieval_mode, fields
