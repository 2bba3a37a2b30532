"""The events of some answers, which every protocol's goldens are made of."""

from copy import replace

from shared.chat_types import ImagePart, Json, ToolCall
from shared.errors import ContentFiltered, RateLimited, TooSlow
from shared.events import (
    AgentMessage,
    AgentWork,
    ChatEvent,
    CompletionStarted,
    ConsentAsked,
    DataPoint,
    Failed,
    FilterAnnotation,
    Finished,
    OpenCall,
    ReasoningDelta,
    Retrieved,
    SourceImage,
    TextDelta,
    Thought,
    ThoughtsAdded,
    ToolEnded,
    ToolsCalled,
    ToolStarted,
    Usage,
)

PLAN = DataPoint("plan.pdf#page=3", "It pays 80 %.")
RETRIEVED = Retrieved(
    data_points=(PLAN,),
    thoughts=(
        Thought("Original user query", "What does it pay?"),
        Thought("Generated search query", "what the plan pays", {"top": 3, "retrieval_mode": "text"}),
    ),
)
PICTURED = replace(
    RETRIEVED,
    images=(SourceImage(RETRIEVED.data_points, ImagePart("image/png", b"\x89PNG", "plan.pdf#page=3")),),
)
STARTED = CompletionStarted("chatcmpl-1", 1_700_000_000, "gpt-4o-mini", "fp_1")
EXTRACTIVE = CompletionStarted("extractive-1", 1_700_000_000, "extractive")
SAFE: Json = {"filtered": False, "severity": "safe"}
PROMPT_FOUND: Json = [{"prompt_index": 0, "content_filter_results": {"hate": SAFE}}]
VIOLENT: Json = {"violence": {"filtered": True, "severity": "high"}}
TEXT = (TextDelta("It pays "), TextDelta("80 % – “fast”\u2028[plan.pdf#page=3] 🦷."))

BESIDE: dict[str, Json] = {"extra_content": {"google": {"thought_signature": "SIG"}}, "sent_by": "0123abcd"}
"""What a model's service sent with a call, and its short name."""
CALLS = ToolsCalled((ToolCall("c1", "look_up", '{"day":"–\u2028"}', BESIDE), ToolCall("c2", "order", "{}")))

SCENARIOS: dict[str, tuple[ChatEvent, ...]] = {
    "answer": (RETRIEVED, STARTED, *TEXT, Finished("stop", Usage(100, 7))),
    "pictured": (PICTURED, STARTED, *TEXT, Finished("stop", Usage(900, 7))),
    "followups": (RETRIEVED, EXTRACTIVE, *TEXT, Finished("stop", followup_questions=("Who is covered?",))),
    "no_followups_found": (RETRIEVED, EXTRACTIVE, *TEXT, Finished("length", followup_questions=())),
    "tools_called": (RETRIEVED, STARTED, CALLS, Finished("tool_calls", Usage(100, 7))),
    "tools_called_after_text": (RETRIEVED, STARTED, *TEXT, CALLS, Finished("tool_calls", followup_questions=())),
    "unverified": (
        RETRIEVED,
        STARTED,
        TextDelta("So says [x.pdf]."),
        ThoughtsAdded((Thought("Unverified citations", ["x.pdf"]),)),
        Finished("stop", is_unsupported=True),
    ),
    "azure": (
        RETRIEVED,
        replace(STARTED, prompt_filter_results=PROMPT_FOUND),
        FilterAnnotation({"hate": SAFE}, None),
        *TEXT,
        Finished("content_filter", content_filter_results=VIOLENT),
    ),
    "annotated": (
        RETRIEVED,
        STARTED,
        TEXT[0],
        FilterAnnotation({"hate": SAFE}, {"check_offset": 8, "start_offset": 0, "end_offset": 8}),
        TEXT[1],
        FilterAnnotation(VIOLENT, {"check_offset": 44, "start_offset": 8, "end_offset": 44}),
        Finished("content_filter", content_filter_results={"hate": SAFE} | VIOLENT),
    ),
    "reasoning": (
        RETRIEVED,
        STARTED,
        ReasoningDelta("80 or "),
        ReasoningDelta("100 %?\u2028"),
        *TEXT,
        ThoughtsAdded((Thought("Reasoning", "80 or 100 %?\u2028"),)),
        Finished("stop", Usage(100, 17)),
    ),
    "cut_off_in_reasoning": (
        RETRIEVED,
        STARTED,
        ReasoningDelta("80 or "),
        Failed(RateLimited("Too many.", retry_after=7), "id-1"),
    ),
    "cut_off": (RETRIEVED, STARTED, TEXT[0], Failed(RateLimited("Too many.", retry_after=7), "id-1")),
    "filtered": (RETRIEVED, STARTED, TEXT[0], Failed(ContentFiltered("Refused."), "id-1")),
    "guarded": (
        RETRIEVED,
        STARTED,
        *TEXT,
        Finished("stop", content_filter_results={"hate": SAFE}, prompt_filter_results=PROMPT_FOUND),
    ),
    "blocked": (
        RETRIEVED,
        replace(STARTED, prompt_filter_results=PROMPT_FOUND),
        TEXT[0],
        Failed(ContentFiltered("Refused.", results=VIOLENT), "id-1"),
    ),
}

WORK = (AgentWork("Clerk", "searching", query="what the plan pays"), AgentWork("Clerk", "thinking"))
SCENARIOS["with_progress"] = (WORK[0], RETRIEVED, STARTED, TEXT[0], WORK[1], TEXT[1], Finished("stop"))

LOOK = ToolStarted("call_1", "Clerk", "crm", "look", '{"number":1}')
LOOKED = ToolEnded("call_1", "Clerk", "crm", "look", '{"number":1}', "order 1 is open\u2028", "done", 12.34)
DROP = OpenCall(
    "d" * 32,
    "K7QX",
    "call_2",
    "Clerk",
    "crm",
    "drop",
    "Drop an order.\nFor good.",
    '{"name":"x\u2028``` \u202e","why":["<b>"]}',
    1_700_086_400,
)
DROPPED = ToolEnded(DROP.call_id, "Clerk", "crm", "drop", DROP.arguments, "x is dropped", "done", 99, DROP.approval_id)
KEPT = replace(DROPPED, text="The user has refused this.", status="denied", milliseconds=0)
OPEN = (ConsentAsked((DROP,)), Finished("consent", Usage(100, 7)))
SCENARIOS["servers_tool"] = (RETRIEVED, STARTED, TEXT[0], LOOK, LOOKED, TEXT[1], Finished("stop", Usage(100, 7)))
SCENARIOS["thoughts_around_a_tool"] = (
    RETRIEVED,
    STARTED,
    ReasoningDelta("The order"),
    ReasoningDelta(" first."),
    LOOK,
    LOOKED,
    ReasoningDelta("It is open."),
    *TEXT,
    Finished("stop", Usage(200, 29)),
)
SCENARIOS["thoughts_around_text_and_calls"] = (
    RETRIEVED,
    STARTED,
    TEXT[0],
    ReasoningDelta("Which day?"),
    TEXT[1],
    ReasoningDelta("Both."),
    CALLS,
    Finished("tool_calls", Usage(200, 29)),
)
SCENARIOS["consent_asked"] = (RETRIEVED, STARTED, TextDelta("Wait."), LOOK, LOOKED, *OPEN)
SCENARIOS["consent_given"] = (RETRIEVED, STARTED, DROPPED, TextDelta("It is done."), Finished("stop", Usage(200, 9)))
SCENARIOS["consent_refused"] = (RETRIEVED, STARTED, KEPT, TextDelta("It stays."), Finished("stop", Usage(200, 9)))

TEAM = CompletionStarted("team-1", 1_700_000_000, "gpt-4o-mini")
CRITIC = AgentMessage(
    "Critic",
    1,
    "Not [x.pdf]\u2028.",
    CompletionStarted("chatcmpl-2", 1_700_000_002, "gpt-4o"),
    Finished("length", Usage(20, 2)),
    data_points=(PLAN, DataPoint("x.pdf", "Nothing.")),
    thoughts=(Thought("Generated search query", "x"),),
)
RESEARCHER = AgentMessage(
    "Researcher",
    0,
    "It pays 80 %. [plan.pdf#page=3]",
    STARTED,
    Finished("stop", Usage(100, 7)),
    data_points=(PLAN,),
    thoughts=(Thought("Generated search query", "what the plan pays", {"top": 3}),),
)
LATE = AgentMessage("Writer", 2, "This agent took too long.", error=TooSlow("This agent took too long."))
TEAM_SCENARIOS: dict[str, tuple[ChatEvent, ...]] = {
    "team": (
        TEAM,
        CRITIC,
        replace(RESEARCHER, total_usage=Usage(120, 9)),
        Finished("stop", Usage(120, 9)),
    ),
    "team_with_progress": (
        TEAM,
        AgentWork("Researcher", "searching", query="what the plan pays"),
        AgentWork("Critic", "handed_over", to="Researcher", usage=Usage(20, 2), milliseconds=1),
        AgentWork("Writer", "failed", milliseconds=9.96, error=TooSlow.code),
        AgentWork("Researcher", "done", usage=Usage(100, 7), milliseconds=1234.56),
        RESEARCHER,
        Finished("stop", Usage(120, 9)),
    ),
    "team_consent_asked": (TEAM, RESEARCHER, LOOK, LOOKED, *OPEN),
    "team_consent_given": (TEAM, DROPPED, replace(RESEARCHER, agent="Clerk"), Finished("stop")),
    "team_late": (TEAM, RESEARCHER, LATE, Finished("stop", Usage(100, 7))),
    "team_guarded": (
        replace(TEAM, prompt_filter_results=PROMPT_FOUND),
        replace(RESEARCHER, finished=Finished("stop", content_filter_results={"hate": SAFE})),
        AgentMessage("Critic", 1, "Refused.", error=ContentFiltered("Refused.", results=VIOLENT)),
        Finished("stop"),
    ),
    "team_annotated": (TEAM, RESEARCHER, Finished("stop", prompt_filter_results=PROMPT_FOUND)),
    "team_cut_off": (TEAM, RESEARCHER, Failed(RateLimited("Too many.", retry_after=7), "id-1")),
}
"""The same of teams' answers."""
