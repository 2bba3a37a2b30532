"""`python -m evaluation.squad FILE FOLDER`: make questions and documents of a data set in the format of SQuAD.

Each paragraph becomes a document in `FOLDER/documents`, and each question a line of `FOLDER/questions.jsonl`. Questions
that SQuAD 2.0 marks as impossible are about near misses, and become `silent`.
"""

import json
import sys
from pathlib import Path
from typing import Any


def convert(data: list[dict[str, Any]], folder: Path) -> None:
    """Write the documents and questions of a data set."""
    (folder / "documents").mkdir(parents=True)
    paragraphs = [(article, paragraph) for article in data for paragraph in article["paragraphs"]]
    with (folder / "questions.jsonl").open("w", encoding="utf-8") as lines:
        for number, (article, paragraph) in enumerate(paragraphs):
            name = f"{number}.md"
            (folder / "documents" / name).write_text(paragraph["context"], encoding="utf-8")
            for asked in paragraph["qas"]:
                known = sorted({answer["text"] for answer in asked["answers"]})
                line = {"id": asked["id"], "question": asked["question"], "category": article.get("title", "")}
                line |= {"answers": known, "sources": [name]} if known else {"silent": True}
                print(json.dumps(line, ensure_ascii=False), file=lines)


if __name__ == "__main__":
    convert(json.loads(Path(sys.argv[1]).read_text(encoding="utf-8"))["data"], Path(sys.argv[2]))
