"""The file that defines a team: what it may say, and what is said of one that cannot be read."""

import json
import re
from collections.abc import Callable
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from shared.agents.definitions import AgentDefinition, Agents, Pattern, Team, load_agents
from shared.errors import NotConfigured
from shared.tools.servers import AllowedTool, Auth
from tests.test_architecture import ROOT

TEAM = "team: {pattern: concurrent}\n"
AGENTS = "agents: [{name: One, instructions: Answer.}]\n"
ONE = TEAM + AGENTS
SERVER = """\
tool_servers:
  - name: crm
    url: https://crm.example/mcp
    auth: none
    tools:
      look: {approval: never}
      drop: {}
"""
NAME = "`name` should be 1 to 50 letters, digits, spaces, `_` and `-`"


@pytest.fixture
def written(tmp_path: Path) -> Callable[[str | bytes], Path]:
    def write(content: str | bytes) -> Path:
        path = tmp_path / "agents.yaml"
        path.write_bytes(content.encode() if isinstance(content, str) else content)
        return path

    return write


def faults_of(path: Path) -> str:
    """What is said of the file: callers read it, so it tells no folder."""
    with pytest.raises(NotConfigured) as caught:
        load_agents(path)
    return caught.value.message


def test_a_file_with_everything_in_it_is_read(written: Callable[[str], Path]) -> None:
    path = written("""
team:
  pattern: group_chat
  max_rounds: 9
agents:
  - name: Researcher
    instructions: |
      Find it.
      Cite it.
    tools: [search]
    temperature: 0.2
    model: gpt-4o
  - {name: Prüfer 2, instructions: Check it., tools: []}
""")
    assert load_agents(path) == Agents(
        team=Team(pattern=Pattern.GROUP_CHAT, max_rounds=9),
        agents=(
            AgentDefinition(
                name="Researcher",
                instructions="Find it.\nCite it.",
                tools=("search",),
                temperature=0.2,
                model="gpt-4o",
            ),
            AgentDefinition(name="Prüfer 2", instructions="Check it."),
        ),
    )


def test_an_agent_has_no_tools_and_the_models_defaults_unless_it_says_otherwise(
    written: Callable[[str], Path],
) -> None:
    read = load_agents(written(ONE))
    assert read.team.max_rounds == 6
    [agent] = read.agents
    assert (agent.tools, agent.temperature, agent.model) == ((), None, None)


def test_tool_servers_are_read_with_approval_as_the_default(written: Callable[[str], Path]) -> None:
    read = load_agents(written(SERVER + AGENTS.replace("Answer.", "Answer., tools: [search, crm.*, crm.look]")))
    [crm] = read.servers
    assert (crm.name, crm.url, crm.auth) == ("crm", "https://crm.example/mcp", Auth())
    assert crm.allowed == {"look": AllowedTool(approval="never"), "drop": AllowedTool()}
    assert read.agents[0].tools == ("search", "crm.*", "crm.look")
    assert read.team.pattern == "sequential"


@pytest.mark.parametrize(
    ("auth", "read"),
    [
        ("auth: {key: CRM_KEY}", Auth(key="CRM_KEY")),
        ("key: CRM_KEY", Auth(key="CRM_KEY")),
        ("auth: {key: CRM_KEY, header: x-functions-key}", Auth(key="CRM_KEY", header="x-functions-key")),
        ("auth: {managed_identity: 'api://crm/.default'}", Auth(managed_identity="api://crm/.default")),
        ("on_behalf_of: api://crm/.default", Auth(on_behalf_of="api://crm/.default")),
    ],
)
def test_the_way_to_sign_in_is_read_below_auth_or_in_its_place(
    written: Callable[[str], Path], auth: str, read: Auth
) -> None:
    assert load_agents(written(SERVER.replace("auth: none", auth) + AGENTS)).servers[0].auth == read


@pytest.mark.parametrize("host", ["localhost", "127.0.0.1:7450", "[::1]:80"])
def test_http_is_for_this_machine(written: Callable[[str], Path], host: str) -> None:
    assert load_agents(written(SERVER.replace("https://crm.example", f"http://{host}") + AGENTS)).servers


@pytest.mark.parametrize("pattern", ["concurrent", "sequential", "group_chat", "handoff"])
def test_each_pattern_is_known(written: Callable[[str], Path], pattern: str) -> None:
    assert load_agents(written(ONE.replace("concurrent", pattern))).team.pattern == pattern


def test_json_is_yaml_too(written: Callable[[str], Path]) -> None:
    agent = {"name": "One", "instructions": "Answer.", "tools": ["search"]}
    content = {"team": {"pattern": "handoff", "max_rounds": 3}, "agents": [agent]}
    assert load_agents(written(json.dumps(content, indent=2))).agents[0].tools == ("search",)


@pytest.mark.parametrize("name", ["yes", "2024", "2024-01-01", "null-safe"])
def test_a_word_that_yaml_takes_for_something_else_is_a_name_as_it_stands(
    written: Callable[[str], Path], name: str
) -> None:
    assert load_agents(written(ONE.replace("One", name))).agents[0].name == name


def test_a_byte_order_mark_does_not_matter(written: Callable[[bytes], Path]) -> None:
    assert load_agents(written(b"\xef\xbb\xbf" + ONE.encode())).agents


def test_the_sample_team_is_accepted_and_has_an_agent_that_searches() -> None:
    sample = load_agents(ROOT / "samples" / "agents.yaml")
    assert len(sample.agents) > 1
    assert any("search" in agent.tools for agent in sample.agents)
    assert all(agent.temperature is None for agent in sample.agents), "some models refuse it"


@pytest.mark.parametrize(
    ("content", "said"),
    [
        (b"", "agents.yaml is empty: it should hold `team` and `agents`."),
        (b"# to do\n", "agents.yaml is empty: it should hold `team` and `agents`."),
        (b"- a\n", "agents.yaml, line 1: the file should be a mapping with `team` and `agents`."),
        (b"\n\nteam\n", "agents.yaml, line 3: the file should be a mapping with `team` and `agents`."),
        (ONE.encode() + b"# \xff\n", "agents.yaml, line 3: this is not UTF-8; save the file as UTF-8."),
        (ONE.encode("utf-16"), "agents.yaml, line 1: this is not UTF-8; save the file as UTF-8."),
        (ONE.encode() + b"# \x07\n", "agents.yaml, line 3: a character that YAML does not allow."),
        (
            b"team:\n  pattern: concurrent\n agents: []\n",
            "agents.yaml, line 3: this is not YAML; look at the indentation, colons, dashes and quotes here and above.",
        ),
        (
            b"team: 'concurrent\n",
            "agents.yaml, line 2: this is not YAML; look at the indentation, colons, dashes and quotes here and above.",
        ),
        (
            b"team:\n\tpattern: concurrent\n",
            "agents.yaml, line 2: this is not YAML; look at the indentation, colons, dashes and quotes here and above.",
        ),
        (
            ONE.encode() + b"---\n" + ONE.encode(),
            "agents.yaml, line 3: this is not YAML; look at the indentation, colons, dashes and quotes here and above.",
        ),
        (b"[" * 50_000, "agents.yaml: the values are nested too deeply."),
        (b"# " + b"x" * 100_000, "agents.yaml is too large: at most 100,000 bytes are accepted."),
    ],
    ids=lambda value: value[:20] if isinstance(value, bytes) else None,
)
def test_a_file_that_is_no_such_yaml_is_refused_with_the_line(
    written: Callable[[bytes], Path], content: bytes, said: str
) -> None:
    assert faults_of(written(content)) == said


def test_a_file_that_is_not_there_or_is_a_folder_is_refused_with_the_setting(tmp_path: Path) -> None:
    assert faults_of(tmp_path / "no.yaml") == "no.yaml: there is no such file; AGENTS_FILE should name one."
    (tmp_path / "folder").mkdir()
    assert faults_of(tmp_path / "folder") == (
        "folder cannot be read; AGENTS_FILE should name a file that the app may read."
    )


@pytest.mark.parametrize(
    ("content", "said"),
    [
        ("team: {max_rounds: 3}\n" + AGENTS, "line 1: `pattern` is missing; it should be concurrent, sequential"),
        (TEAM, "line 1: `agents` is missing; it should be a list of 1 to 50 mappings"),
        (TEAM + "agents: []", "line 2: `agents` should be a list of 1 to 50 mappings"),
        (TEAM + "agents:", "line 2: `agents` should be a list of 1 to 50 mappings"),
        (TEAM + "agents: {name: One}", "line 2: `agents` should be a list of 1 to 50 mappings"),
        (TEAM + "agents:\n- One", "line 3: `agents` should be a list of 1 to 50 mappings"),
        (
            TEAM + "agents:\n" + "".join(f"- {{name: Agent {n}, instructions: Answer.}}\n" for n in range(51)),
            "line 2: `agents` should be a list of 1 to 50 mappings",
        ),
        (ONE + "more: 1", "line 3: `more` is no key here; accepted are team, agents, tool_servers"),
        (ONE + '"m\\uD800": 1', "line 3: a key should be a word."),
        (ONE + "? [a]\n: 1", "line 3: a key should be a word."),
        (ONE.replace("{pattern: concurrent}", "concurrent"), "line 1: `team` should be a mapping with `pattern`"),
        (ONE.replace("}", ", rounds: 3}", 1), "line 1: `rounds` is no key here; accepted are pattern, max_rounds."),
        (
            ONE.replace("concurrent", "chorus"),
            "line 1: `pattern` should be concurrent, sequential, group_chat or handoff.",
        ),
        (ONE.replace("concurrent", ""), "line 1: `pattern` should be concurrent, sequential, group_chat or handoff."),
        *(
            (
                ONE.replace("concurrent", f"concurrent, max_rounds: {rounds}"),
                "line 1: `max_rounds` should be a whole number from 1 to 50.",
            )
            for rounds in ("0", "51", "2.5", "many", "yes", "[1]", "~", "9" * 5_000)
        ),
        (ONE.replace("name: One, ", ""), f"line 2: {NAME.replace('should', 'is missing; it should')}"),
        *(
            (ONE.replace("One", name), f"line 2: {NAME}")
            for name in ("''", "' '", "~", "' One'", "'One '", "One!", "[One]", "a" * 51, '"a\\nb"', '"a\\uD800"')
        ),
        (ONE.replace("Answer.", "' '"), "line 2: `instructions` should be a text of 1 to 20,000 characters."),
        (ONE.replace("Answer.", "[Answer.]"), "line 2: `instructions` should be a text of 1 to 20,000 characters."),
        (ONE.replace("Answer.", "a" * 20_001), "line 2: `instructions` should be a text of 1 to 20,000 characters."),
        (
            ONE.replace("Answer.", "Answer., colour: red"),
            "line 2: `colour` is no key here; accepted are name, instructions, tools, temperature, model.",
        ),
        *(
            (
                ONE.replace("Answer.", f"Answer., tools: {tools}"),
                "line 2: `tools` should be a list of tools, each one of: search.",
            )
            for tools in ("search", "~", "[browse]", "[search, 1]", "{search: yes}")
        ),
        *(
            (
                ONE.replace("Answer.", f"Answer., temperature: {temperature}"),
                "line 2: `temperature` should be a number from 0 to 2.",
            )
            for temperature in ("2.1", "-1", "warm", ".nan", "nan", "inf", "true", "[1]")
        ),
        (ONE.replace("Answer.", "Answer., model: ''"), "line 2: `model` should be the name of a model"),
        (ONE.replace("Answer.", "Answer., model: [a]"), "line 2: `model` should be the name of a model"),
        (TEAM + ONE, "line 2: `team` is there twice; keep one."),
        *(
            (SERVER.replace(was, now) + ONE, f"line {line}: {said}")
            for was, now, line, said in (
                ("name: crm", "name: c.r.m", 2, "`name` should be 1 to 32 letters"),
                (
                    "https://",
                    "http://",
                    3,
                    "`url` should be an https URL without a user, or an http one of this machine.",
                ),
                ("https://", "https://me:key@", 3, "`url` should be an https URL"),
                ("none", "some", 4, "`auth` should be none, or one of `key: SETTING`"),
                ("none", "{key: CRM-KEY}", 4, "`key` should be the name of the setting that holds the key."),
                ("none", "{key: A, managed_identity: B}", 4, "`auth` should be none, or one of"),
                ("none", "{header: X-Key}", 4, "`auth` should be none, or one of"),
                ("none", "{colour: red}", 4, "`colour` is no key here; accepted are key, header, query"),
                ("{}", "{approval: sometimes}", 7, "`approval` should be always or never."),
                ("{}", "{pin: abc}", 7, "`pin` should be a SHA-256, 64 hexadecimal digits."),
                ("{}", "{seconds: 0}", 7, "`seconds` should be a number from 1 to 600."),
                ("{}", "{colour: red}", 7, "`colour` is no key here; accepted are approval, read_only, pin, seconds."),
                ("{}", "yes", 7, "`drop` should be a mapping such as `{approval: never}`, or `{}`."),
            )
        ),
        (
            SERVER[: SERVER.index("    tools")] + ONE,
            "line 2: `tools` is missing; it should be a mapping of 1 to 100 names",
        ),
        (SERVER + "  - {name: CRM, url: https://x, tools: {a: }}\n" + ONE, "line 8: `name` is an earlier server's"),
        (
            SERVER
            + "  - {name: a, url: https://x, tools: {b_c: }}\n  - {name: a_b, url: https://x, tools: {c: }}\n"
            + ONE,
            "line 9: models would see two tools as `a_b_c`; give one of the servers another name.",
        ),
        *(
            (
                SERVER + ONE.replace("Answer.", f"Answer., tools: [search, {pattern}]"),
                "line 9: `tools` should be a list of tools, each one of: search, crm.*, crm.look, crm.drop.",
            )
            for pattern in ("crm", "crm.drops", "crm.dr*", "'*'", "crm_look", "mail.*", "crm.")
        ),
        (ONE.replace("Answer.", "Answer., name: Two"), "line 2: `name` is there twice; keep one."),
        (ONE.replace("Answer.", "!include answer.txt"), "line 2: a tag (`!name`) is not accepted"),
        (ONE.replace("Answer.", "!!python/object:os.system x"), "line 2: a tag (`!name`) is not accepted"),
        (ONE.replace("One", "&one One").replace("Answer.", "*one"), "line 2: an alias (`*name`) is not followed"),
    ],
    ids=lambda value: value[-40:],
)
def test_what_is_not_accepted_is_named_with_its_line_and_what_is(
    written: Callable[[str], Path], content: str, said: str
) -> None:
    told = faults_of(written(content))
    assert told.startswith(f"agents.yaml, {said}")
    assert told.count("agents.yaml") == 1, told


@pytest.mark.parametrize(
    "names", [("One", "One"), ("One", "one"), ("Team lead", "Team-Lead"), ("Straße", "STRASSE"), ("Café", "Cafe\u0301")]
)
def test_two_agents_whose_names_are_too_much_alike_are_refused(
    written: Callable[[str], Path], names: tuple[str, str]
) -> None:
    content = TEAM + "agents:\n" + "".join(f"- name: {name}\n  instructions: Answer.\n" for name in names)
    assert faults_of(written(content)) == (
        "agents.yaml, line 5: `name` is an earlier agent's or too much like it; "
        "names should differ in letters or digits."
    )


def test_names_may_be_in_any_script(written: Callable[[str], Path]) -> None:
    names = ["Аналитик", "Редактор", "研究者", "評論家", "शोधकर्ता", "ผู้วิจัย", "Präfer", "Prüfer"]
    content = TEAM + "agents:\n" + "".join(f"- name: {name}\n  instructions: Answer.\n" for name in names)
    assert [agent.name for agent in load_agents(written(content)).agents] == names


def test_all_faults_are_told_in_the_order_of_the_file(written: Callable[[str], Path]) -> None:
    content = """agents:
- name: One
  tools: [browse]
  tools: []
- name: one
  instructions: Answer.
  colour: red
team:
  pattern: chorus
"""
    told = faults_of(written(content))
    assert re.findall(r"line (\d+): (?:`(\w+)`)", told) == [
        ("2", "instructions"),
        ("3", "tools"),
        ("4", "tools"),
        ("5", "name"),
        ("7", "colour"),
        ("9", "pattern"),
    ]


def test_of_very_many_faults_the_first_are_told_and_the_others_counted(written: Callable[[str], Path]) -> None:
    told = faults_of(written(ONE + "".join(f"key{number}: 1\n" for number in range(1_000))))
    assert "`key9`" in told
    assert "`key10`" not in told
    assert told.endswith(" agents.yaml has 990 more faults.")
    assert faults_of(written(ONE + "".join(f"key{number}: 1\n" for number in range(11)))).endswith(" 1 more fault.")


def test_aliases_that_would_grow_without_end_are_not_followed(written: Callable[[str], Path]) -> None:
    bomb = "a0: &a0 [x]\n" + "".join(f"a{n}: &a{n} [{', '.join([f'*a{n - 1}'] * 9)}]\n" for n in range(1, 30))
    assert "an alias (`*name`) is not followed" in faults_of(written(bomb + ONE))
    assert "an alias (`*name`) is not followed" in faults_of(written(ONE + "loop: &loop [*loop]\n"))


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(
    st.one_of(
        st.binary(max_size=60),
        st.text(alphabet="agents:{}[],-'\"&*!|>?#%@ \n\t~0", max_size=60).map(str.encode),
        st.text(max_size=20).map(lambda text: ONE.replace("One", text).encode("utf-8", "surrogatepass")),
    )
)
def test_any_file_is_a_team_or_is_refused_in_sentences(written: Callable[[bytes], Path], content: bytes) -> None:
    path = written(content)
    try:
        told = None if load_agents(path).agents else "no agents"
    except NotConfigured as refused:
        told = refused.message
    assert told is None or re.fullmatch(rf"({re.escape(path.name)}.*\.)+", told)
    assert told is None or told.encode()
