"""Ask a deployed app one question, and fail if it does not answer from a source: the last step of a pipeline.

    SWITCHBOARD_KEY=KEY-OR-TOKEN python3 tools/ask.py https://APP.azurewebsites.net/api "What does the plan pay for?"

`SWITCHBOARD_KEY` is an API key or an access token, where callers sign in. New roles take minutes to arrive, so the app
has fifteen minutes to become healthy. Runs with Python's own library alone.
"""

import argparse
import json
import os
import sys
import time
import urllib.error
import urllib.request
from typing import Any

MINUTES_TO_BECOME_HEALTHY = 15
SECONDS_BETWEEN_TRIES = 15
SECONDS_FOR_AN_ANSWER = 230
"""Azure's front end waits no longer."""


def main() -> None:
    """Wait for the app, ask the question, and print what came back."""
    parser = argparse.ArgumentParser(description="Asks a deployed app one question.")
    parser.add_argument("url", help="the app's address with /api, as SWITCHBOARD_URL has it")
    parser.add_argument("question")
    parser.add_argument("--minutes", type=float, default=MINUTES_TO_BECOME_HEALTHY, help="how long to wait for the app")
    arguments = parser.parse_args()
    url = str(arguments.url).rstrip("/")
    wait_until_healthy(url, time.monotonic() + arguments.minutes * 60)
    question = {"messages": [{"role": "user", "content": arguments.question}]}
    status, answer = fetch(f"{url}/ai-chat/chat", question)
    if status != 200:
        sys.exit(f"The answer is a {status}: {answer.get('error', answer)}")
    text, sources = answer["message"]["content"], answer["context"]["data_points"]["citations"]
    print(text)
    print(f"Sources found: {', '.join(sources) or 'none'}")
    if not text.strip() or not sources:
        sys.exit("The app found no source for its answer. Is the index filled, and is this a question about it?")


def wait_until_healthy(url: str, until: float) -> None:
    """Return when `/health` is a 200; exit with what is wrong if it is not until then."""
    while True:
        status, health = fetch(f"{url}/health")
        faults = [f"{name}: {part['detail']}" for name, part in health.get("parts", {}).items() if not part["ok"]]
        if status == 200:
            print("The app is healthy.", *faults, sep="\n")
            return
        if time.monotonic() >= until:
            sys.exit("\n".join([f"The app is not healthy: {health.get('error') or status}", *faults]))
        print(f"Not healthy yet ({status}).", *faults, sep="\n", flush=True)
        time.sleep(SECONDS_BETWEEN_TRIES)


def fetch(url: str, body: object = None) -> tuple[int, dict[str, Any]]:
    """Return the status and the JSON object of an answer; 0 and the reason if there is none."""
    headers = {"content-type": "application/json"}
    if key := os.environ.get("SWITCHBOARD_KEY"):
        headers["authorization"] = f"Bearer {key}"
    data = None if body is None else json.dumps(body).encode()
    request = urllib.request.Request(url, data, headers)
    try:
        with urllib.request.urlopen(request, timeout=SECONDS_FOR_AN_ANSWER) as response:
            return response.status, _object(response.read())
    except urllib.error.HTTPError as refusal:
        return refusal.code, _object(refusal.read())
    except OSError as unreachable:
        return 0, {"error": str(unreachable)}


def _object(body: bytes) -> dict[str, Any]:
    """A JSON object; of one of the platform's pages, an error with its beginning."""
    try:
        return dict(json.loads(body))
    except (TypeError, ValueError):
        return {"error": body[:200].decode("utf-8", "replace")}


if __name__ == "__main__":
    main()
