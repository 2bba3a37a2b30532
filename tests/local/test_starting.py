"""What the host says when it starts, and when it cannot."""

import json
import re
import socket
from pathlib import Path

import pytest

from tests.local.running_host import refused_host, running_host
from tests.local.small_apps import write_app

CHAT = """
@app.route(route="chat/stream", methods=["POST"])
async def chat_stream(req: Request) -> JSONResponse:
    return JSONResponse(await req.json())
"""


@pytest.mark.parametrize(
    ("source", "said"),
    [
        ("import not_there", ["No module named 'not_there'", "function_app.py, line"]),
        ("def broken(:", ["SyntaxError", "line 11"]),
        ("undefined_name", ["NameError", "undefined_name", "function_app.py, line 11"]),
        ("app = None", ["Could not find top level function app instances"]),
        ("raise SystemExit(3)", ["ended the process", "code 3"]),
        (
            '@app.route(route="a")\nasync def a(wrong: Request) -> JSONResponse: ...',
            ["cannot load the a function", "wrong"],
        ),
        (f'@app.route(route="a/{{id:odd}}"){CHAT.split(")", 1)[1]}', ["Function chat_stream", "':odd'"]),
    ],
)
def test_an_app_that_cannot_be_indexed_is_explained_without_a_trace(
    tmp_path: Path, source: str, said: list[str]
) -> None:
    code, log = refused_host(write_app(tmp_path, source))
    assert code == 1
    for words in said:
        assert words in log
    assert "Traceback" not in log
    assert "sys.path" not in log
    assert len(log.strip().splitlines()) == 1


def test_a_directory_without_an_app_is_explained(tmp_path: Path) -> None:
    (tmp_path / "host.json").write_text('{"version": "2.0"}')
    code, log = refused_host(tmp_path)
    assert code == 1
    assert "function_app.py is missing" in log


def test_an_app_without_the_streaming_extension_is_explained(tmp_path: Path) -> None:
    app = write_app(tmp_path, "")
    (app / "function_app.py").write_text(
        "import azure.functions as func\n"
        "app = func.FunctionApp()\n"
        "@app.route(route='a')\n"
        "def a(req: func.HttpRequest) -> func.HttpResponse:\n"
        "    return func.HttpResponse('a')\n"
    )
    code, log = refused_host(app)
    assert code == 1
    assert "azurefunctions.extensions.http.fastapi" in log


def test_a_missing_host_file_is_one_sentence(tmp_path: Path) -> None:
    code, log = refused_host(tmp_path)
    assert code == 1
    assert log.startswith(f"{tmp_path / 'host.json'} is missing.")
    assert "Traceback" not in log


def test_a_port_in_use_is_one_sentence(tmp_path: Path) -> None:
    app = write_app(tmp_path, CHAT)
    with socket.create_server(("127.0.0.1", 0)) as taken:
        code, log = refused_host(app, None, "--port", str(taken.getsockname()[1]))
    assert code == 1
    assert re.match(r"Port \d+ cannot be used \(", log)
    assert len(log.strip().splitlines()) == 1


@pytest.mark.parametrize("port", ["seventy", "70710", "-1"])
def test_a_port_that_is_none_is_one_sentence(tmp_path: Path, port: str) -> None:
    code, log = refused_host(write_app(tmp_path, CHAT), {"PORT": port}, "--try", "x")
    assert code == 1
    assert log.startswith("PORT must be a number")


def test_the_port_comes_from_the_argument_then_the_environment_then_the_file(tmp_path: Path) -> None:
    with socket.create_server(("127.0.0.1", 0)) as probe:
        taken = probe.getsockname()[1]
        app = write_app(tmp_path, CHAT, local_settings={"Host": {"LocalHttpPort": taken}})
        code, log = refused_host(app, {"PORT": "70710"}, "--try", "x")
        assert (code, "PORT must be" in log) == (1, True)
        with running_host(app, {"PORT": "70710"}) as argument_wins:
            assert argument_wins.port != taken


def test_the_ready_line_is_followed_by_a_request_that_can_be_pasted(tmp_path: Path) -> None:
    with running_host(write_app(tmp_path, CHAT), None, "--try", "What's covered?") as host:
        line = host.wait_for(r"(?m)^Try: curl .*$")
    assert f"curl -N {host.url}/chat/stream -H 'content-type: application/json' -d " in line
    assert json.dumps("What's covered?").replace("'", "'\"'\"'") in line


PAGE = """
    from starlette.responses import HTMLResponse

    @app.route(route="{*path}", methods=["GET"])
    async def page(req: Request) -> HTMLResponse:
        return HTMLResponse("<title>A page</title>")
"""


def browser_at(folder: Path) -> dict[str, str]:
    """A browser that prints what it is asked to open: the environment that names it."""
    script = folder / "browser"
    script.write_text('#!/bin/sh\necho "opened $1"\n')
    script.chmod(0o755)
    return {"BROWSER": f"{script} %s"}


def test_the_page_is_named_and_opened_if_asked(tmp_path: Path) -> None:
    app = write_app(tmp_path, CHAT.replace("\n", "\n    ") + PAGE)
    with running_host(app, browser_at(tmp_path), "--open", "--try", "Why?") as host:
        host.wait_for(rf"(?m)^opened {host.url}/$")
        assert re.search(rf"(?ms)^Try: .*^In a browser: {host.url}/$", host.log())


def test_a_browser_that_is_not_there_is_told_of_in_a_sentence(tmp_path: Path) -> None:
    with running_host(write_app(tmp_path, PAGE), {"BROWSER": "/no/such/browser", "PATH": "/nowhere"}, "--open") as host:
        host.wait_for(rf"(?m)^No browser was found here: open {host.url}/ in one\.$")


def test_an_app_without_a_page_has_none_to_open(tmp_path: Path) -> None:
    with running_host(write_app(tmp_path, CHAT), browser_at(tmp_path), "--open") as host:
        host.wait_for("There is no page to open")
    assert "opened" not in host.log()
    assert "In a browser" not in host.log()


def test_without_a_question_there_is_no_request_to_try(tmp_path: Path) -> None:
    with running_host(write_app(tmp_path, CHAT)) as host:
        pass
    assert "curl" not in host.log()


@pytest.mark.parametrize("status", [200, 503])
def test_what_the_health_route_complains_of_is_shown_and_the_host_serves_on(tmp_path: Path, status: int) -> None:
    health = f"""
    @app.route(route="health", methods=["GET"])
    async def health(req: Request) -> JSONResponse:
        parts = {{
            "model": {{"ok": False, "detail": "OPENAI_API_KEY is missing."}},
            "retrieval": {{"ok": True, "detail": "1 document"}},
        }}
        return JSONResponse({{"error": "One part is missing.", "parts": parts}}, status_code={status})
    """
    with running_host(write_app(tmp_path, health)) as host:
        log = host.log()
    assert "One part is missing." in log
    assert "model: OPENAI_API_KEY is missing." in log
    assert "retrieval" not in log
    assert log.index("One part is missing.") < log.index("Switchboard is ready")


def test_the_app_runs_in_its_own_directory_with_its_own_log(tmp_path: Path) -> None:
    source = """
    import logging

    logging.getLogger("switchboard.start").info("in %s", os.path.basename(os.getcwd()))
    logging.getLogger("azure.core").info("not shown")
    """
    with running_host(write_app(tmp_path, source + CHAT.replace("\n", "\n    "))) as host:
        host.wait_for(f"in {tmp_path.name}")
    assert "not shown" not in host.log()
