"""What an organisation says on the page: `PAGE_FILE`, in YAML."""

from base64 import b64encode
from functools import cache
from pathlib import Path
from typing import Annotated

from pydantic import BaseModel, ConfigDict, Field, StringConstraints, ValidationError

from shared.agents.definition_file import DefinitionFile, message
from shared.errors import NotConfigured

type _Text = Annotated[str, StringConstraints(strip_whitespace=True, min_length=1, max_length=500)]
type _Url = Annotated[str, Field(pattern=r"^https?://[^\s/]\S*$", max_length=500)]
type _Tag = Annotated[str, Field(pattern="^[A-Za-z]{2,3}(-[A-Za-z0-9]+)*$")]
type _By[T] = T | Annotated[dict[_Tag, T], Field(min_length=1)]
"""A value, or one by language, such as `{en: Ask, de: Fragen}`."""

_LARGEST_LOGO = 100_000
_LOGOS = {".svg": "svg+xml", ".png": "png", ".jpg": "jpeg", ".jpeg": "jpeg", ".webp": "webp"}


class Organisation(BaseModel):
    """The page's name, looks and texts; what is missing is the page's own."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    name: _By[_Text] | None = None
    logo: str | None = None
    color: Annotated[str, Field(pattern="^#[0-9a-fA-F]{6}$")] | None = None
    welcome: _By[_Text] | None = None
    starters: Annotated[list[_By[_Text]], Field(max_length=6)] = []
    help_url: _By[_Url] | None = None
    legal: _By[_Text] | None = None
    contact: _By[_Text] | None = None


@cache
def read_page(path: Path) -> Organisation:
    """Read what an organisation says; the logo, an image beside the file, becomes a `data:` URL.

    Raises:
        NotConfigured: the file or the image cannot be read, or has faults; a sentence for each, with its line.
    """
    file = DefinitionFile(path, "PAGE_FILE", "`name`, `welcome` and others")
    content, faults, said = file.read(), file.faults, Organisation()
    try:
        said = Organisation.model_validate(content)
    except ValidationError as invalid:
        keys = {str(error["loc"][0]): error["msg"] for error in invalid.errors()}
        faults += [(file.lines.get((key,), 1), f"`{key[:40]}`: {told}") for key, told in keys.items()]
    logo = path.parent / said.logo if said.logo else None
    if logo and not (logo.suffix.lower() in _LOGOS and logo.is_file() and logo.stat().st_size <= _LARGEST_LOGO):
        wanted = f"an image beside the file, of at most {_LARGEST_LOGO:,} bytes: {', '.join(_LOGOS)}"
        faults.append((file.lines["logo",], f"`logo` should be {wanted}"))
    if faults:
        raise NotConfigured(message(path, sorted(faults)))
    if not logo:
        return said
    data = b64encode(logo.read_bytes()).decode()
    return said.model_copy(update={"logo": f"data:image/{_LOGOS[logo.suffix.lower()]};base64,{data}"})
