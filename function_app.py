"""Route table: all triggers of the app. The handlers are in `shared/triggers/`."""

from collections.abc import Awaitable, Callable

import azure.functions as func
from azure.functions.warmup import WarmUpContext

from shared.app import valid_settings
from shared.triggers import (
    about,
    activities,
    approvals,
    chat,
    chat_history,
    chat_requests,
    companion,
    content,
    content_events,
    demo_page,
    documents,
    feedback,
    kept_responses,
    mcp,
    other_paths,
    own_documents,
    playground,
    runs,
    warm_up,
)
from shared.triggers.door import Open, Route, answer
from shared.web.http_extension import Request, Response, when_serving

app = func.FunctionApp(http_auth_level=func.AuthLevel.ANONYMOUS)
"""App without function keys, which chat front ends cannot send. `AUTH_MODE`, or a gateway, decides who may call."""

_ACTIVITIES = "directline/conversations/{id}/activities"
ROUTES: tuple[Route | Open, ...] = (
    # Questions. Where neither the path nor the line names a protocol, the body selects it.
    Route("chat", "POST", "chat", chat.chat),
    Route("chat_stream", "POST", "chat/stream", chat.chat_stream),
    Route("ask", "POST", "ask", chat.ask, protocol="rag-chat"),
    Route("multi_agent_batch", "POST", "multi-agent-chat/batch", chat.multi_agent_chat, protocol="semantic-kernel"),
    Route(
        "multi_agent_stream",
        "POST",
        "multi-agent-chat/stream",
        chat.multi_agent_chat_stream,
        protocol="semantic-kernel",
    ),
    Route("pinned_chat", "POST", "{protocol}/chat", chat.chat),
    Route("pinned_chat_stream", "POST", "{protocol}/chat/stream", chat.chat_stream),
    Route("pinned_ask", "POST", "{protocol}/ask", chat.ask),
    Route("pinned_multi_agent_batch", "POST", "{protocol}/multi-agent-chat/batch", chat.multi_agent_chat),
    Route("pinned_multi_agent_stream", "POST", "{protocol}/multi-agent-chat/stream", chat.multi_agent_chat_stream),
    # Questions, and what belongs to them, at the paths of clients that have their own.
    Route("ag_ui", "POST", "ag-ui", chat.chat_stream, protocol="ag-ui"),
    Route("ai_sdk_resume", "GET", "ai-sdk/chat/{id}/stream", runs.resume, protocol="ai-sdk", spends=False),
    Route("ai_sdk_stop", "DELETE", "ai-sdk/chat/{id}/stream", runs.resume, protocol="ai-sdk", spends=False),
    Route(
        "ai_sdk_resume_team",
        "GET",
        "ai-sdk/multi-agent-chat/stream/{id}/stream",
        runs.resume,
        protocol="ai-sdk",
        spends=False,
    ),
    Route(
        "ai_sdk_stop_team",
        "DELETE",
        "ai-sdk/multi-agent-chat/stream/{id}/stream",
        runs.resume,
        protocol="ai-sdk",
        spends=False,
    ),
    Route("chat_completions", "POST", "v1/chat/completions", chat.chat, protocol="openai"),
    Route(
        "azure_chat_completions",
        "POST",
        "openai/deployments/{deployment}/chat/completions",
        chat.chat,
        protocol="azure-openai",
    ),
    Route("azure_v1_chat_completions", "POST", "openai/v1/chat/completions", chat.chat, protocol="azure-openai"),
    Route("azure_models", "GET", "openai/models", about.list_models, protocol="azure-openai", counted=False),
    Route("azure_v1_models", "GET", "openai/v1/models", about.list_models, protocol="azure-openai", counted=False),
    Route("models", "GET HEAD", "v1/models", about.list_models, protocol="openai", counted=False),
    Route("model", "GET", "v1/models/{id}", about.get_model, protocol="openai", counted=False),
    Route("responses", "POST", "v1/responses", chat.chat, protocol="openai-responses"),
    Route(
        "kept_response",
        "GET",
        "v1/responses/{id}",
        kept_responses.get_response,
        protocol="openai-responses",
        spends=False,
    ),
    Route(
        "delete_response",
        "DELETE",
        "v1/responses/{id}",
        kept_responses.delete_response,
        protocol="openai-responses",
        spends=False,
    ),
    Route(
        "response_input",
        "GET",
        "v1/responses/{id}/input_items",
        kept_responses.list_input_items,
        protocol="openai-responses",
        spends=False,
    ),
    Route(
        "cancel_response",
        "POST",
        "v1/responses/{id}/cancel",
        kept_responses.cancel_response,
        protocol="openai-responses",
        spends=False,
    ),
    Route("mcp", "POST", "mcp", mcp.mcp, counted=False),  # some messages are counted, by the handler
    Open("activity", "POST", "messages", activities.take_activity),  # of Azure Bot Service, whose token is checked
    Route("direct_line_token", "POST", "directline/tokens/generate", activities.give_token, counted=False),
    Route("direct_line_refresh", "POST", "directline/tokens/refresh", activities.give_token, counted=False),
    Route("direct_line_begin", "POST", "directline/conversations", activities.begin_conversation, spends=False),
    Route("direct_line", "GET", "directline/conversations/{id}", activities.give_token, counted=False),
    Route(
        "direct_line_get", "GET", "directline/conversations/{id}/activities", activities.get_activities, counted=False
    ),
    Route(
        "direct_line_post", "POST", "directline/conversations/{id}/activities", activities.post_activity, counted=False
    ),
    Open("mcp_sign_in", "GET", "mcp/oauth-protected-resource", mcp.get_mcp_sign_in),
    # Answers that outlive their request, and calls of tools that wait for a person.
    Route("list_runs", "GET", "runs", runs.list_runs, spends=False),
    Route("stop_run", "POST", "runs/{id}/stop", runs.stop_run, spends=False, audited=True),
    Route("retry_run", "POST", "runs/{id}/retry", runs.retry_run, spends=False, audited=True),
    Route("run", "GET", "runs/{id}", runs.get_run, spends=False),
    Route("delete_run", "DELETE", "runs/{id}", runs.delete_run, spends=False),
    Route("run_stream", "GET", "runs/{id}/stream", runs.follow_run, spends=False),
    Route("batch", "GET", "multi-agent-chat/batches/{id}", runs.get_run, spends=False),
    Route("delete_batch", "DELETE", "multi-agent-chat/batches/{id}", runs.delete_run, spends=False),
    Route("batch_stream", "GET", "multi-agent-chat/batches/{id}/stream", runs.follow_batch, spends=False),
    Route("list_approvals", "GET", "approvals", approvals.list_approvals, spends=False),
    Route("approval", "GET", "approvals/{id}", approvals.get_approval, spends=False),
    Route("decide_approval", "POST", "approvals/{id}", approvals.decide_approval, spends=False),
    # Chats, and what callers say of answers.
    Route("list_chats", "GET", "chat-history", chat_history.list_chats),
    Route("start_chat", "POST", "chat-history", chat_history.start_chat),
    Route("delete_chats", "DELETE", "chat-history", chat_history.delete_chats, audited=True),
    Route("chat_messages", "GET", "chat-history/{id}/messages", chat_history.get_chat_messages),
    Route("update_chat", "PUT", "chat-history/{id}", chat_history.update_chat),
    Route("delete_chat", "DELETE", "chat-history/{id}", chat_history.delete_chat, audited=True),
    Route("get_share", "GET", "chat-history/{id}/share", chat_history.get_share, spends=False),
    Route("share_chat", "POST", "chat-history/{id}/share", chat_history.share_chat, spends=False, audited=True),
    Route(
        "stop_sharing_chat",
        "DELETE",
        "chat-history/{id}/share",
        chat_history.stop_sharing_chat,
        spends=False,
        audited=True,
    ),
    Route("shared_chat", "GET", "shared/{id}", chat_history.get_shared_chat, spends=False),
    Route("give_feedback", "POST", "feedback", feedback.give_feedback, spends=False),
    Route("list_feedback", "GET", "feedback", feedback.list_feedback, spends=False),
    # Documents.
    Route("content", "GET HEAD", "content/{*path}", content.get_content, counted=False),
    Route("pinned_content", "GET HEAD", "{protocol}/content/{*path}", content.get_content, counted=False),
    Route("list_documents", "GET", "documents", documents.list_documents),
    Route("list_own_documents", "GET", "documents/mine", own_documents.list_own_documents),
    Route("put_document", "PUT", "documents/{*path}", documents.put_document, audited=True),
    Route("delete_document", "DELETE", "documents/{*path}", documents.delete_document, audited=True),
    # The safety service.
    Route("rai_analyze", "POST", "rai/analyze", companion.analyze_safety),
    Route("rai_analyze_stream", "POST", "rai/analyze/stream", companion.analyze_safety_stream),
    # The web page of azure-search-openai-demo.
    Open("demo_config", "GET", "{protocol}/config", demo_page.get_demo_config),
    Open("demo_auth_setup", "GET", "{protocol}/auth_setup", demo_page.get_demo_auth_setup),
    Route("keep_demo_chat", "POST", "{protocol}/chat_history", demo_page.keep_demo_chat),
    Route("list_demo_chats", "GET", "{protocol}/chat_history/sessions", demo_page.list_demo_chats),
    Route("demo_chat", "GET", "{protocol}/chat_history/sessions/{id}", demo_page.get_demo_chat),
    Route(
        "delete_demo_chat", "DELETE", "{protocol}/chat_history/sessions/{id}", demo_page.delete_demo_chat, audited=True
    ),
    Route("demo_upload", "POST", "{protocol}/upload", own_documents.demo_upload, audited=True),
    Route("demo_uploads", "GET", "{protocol}/list_uploaded", own_documents.demo_list_uploaded),
    Route("demo_delete_upload", "POST", "{protocol}/delete_uploaded", own_documents.demo_delete_uploaded, audited=True),
    Open("demo_speech", "POST", "{protocol}/speech", demo_page.demo_speech),
    # The app itself, and its playground.
    Open("health", "GET HEAD", "health", about.get_health),
    Open("openapi", "GET HEAD", "openapi.json", about.get_openapi),
    Open("swagger", "GET HEAD", "swagger.json", about.get_swagger),
    Open("api_page", "GET HEAD", "docs", playground.get_api_page),
    Route("playground_begin", "GET", "playground/begin", playground.get_playground_begin),
    Open("playground_file", "GET HEAD", "playground/{digest}/{*path}", playground.get_playground_file),
    # The playground's page, and errors that name the nearest route. The last name of all, so that Azure tries it last.
    Open("without_route", "", "{*path}", other_paths.other_path),
)
"""All HTTP triggers. Callers sign in at a `Route` (see `AUTH_MODE`); an `Open` is open to all."""


def function_of(route: Route | Open) -> Callable[[Request], Awaitable[Response]]:
    """Make the function that Azure calls for a route."""

    async def function(req: Request) -> Response:
        return await answer(route, req, ROUTES)

    function.__name__ = route.name
    return function


for each in ROUTES:
    app.route(each.path, methods=each.methods.split() or None)(function_of(each))


@app.warm_up_trigger("context")  # pyright: ignore[reportUnknownMemberType, reportUntypedFunctionDecorator] (no types)
async def warmup(context: WarmUpContext) -> None:  # noqa: ARG001 (the worker passes it by this name)
    """Prepare a new instance before Azure sends it requests. Azure finds this function by its name."""
    await warm_up.warm_up()


when_serving(warm_up.warm_up)


settings = valid_settings()
"""If they are wrong, there is no trigger of a queue: messages stay in it until they are right."""

if settings and settings.watches_container:

    @app.queue_trigger("message", settings.events_queue, "CONTENT_STORAGE")  # pyright: ignore[reportUnknownMemberType] (no types)
    async def content_event(message: func.QueueMessage) -> None:
        """Index an uploaded document, or remove a deleted one from the index (queue trigger)."""
        await content_events.handle_events(message.get_body())

    @app.timer_trigger("timer", content_events.SYNC_SCHEDULE)  # pyright: ignore[reportUnknownMemberType] (no types)
    async def content_sync(timer: func.TimerRequest) -> None:  # noqa: ARG001 (the worker passes it by this name)
        """Bring the index into step with the documents that are kept (timer trigger)."""
        await content_events.sync()


if settings and settings.batches == "queue":

    @app.queue_trigger("message", settings.batch_queue, "AzureWebJobsStorage")  # pyright: ignore[reportUnknownMemberType] (no types)
    async def batch_run(message: func.QueueMessage) -> None:
        """Run a run, or go on with one whose runner has died (queue trigger)."""
        await runs.run_batch(message.get_body(), message.insertion_time)

    @app.queue_trigger("message", f"{settings.batch_queue}-poison", "AzureWebJobsStorage")  # pyright: ignore[reportUnknownMemberType] (no types)
    async def batch_poison(message: func.QueueMessage) -> None:
        """End a run that could not be run (queue trigger)."""
        await runs.give_up_batch(message.get_body())


if settings and settings.batches == "queue" and settings.in_azure:

    @app.timer_trigger("timer", "30 * * * * *", use_monitor=False)  # pyright: ignore[reportUnknownMemberType] (no types)
    async def batch_sweep(timer: func.TimerRequest) -> None:  # noqa: ARG001 (the worker passes it by this name)
        """Let runs go on that nobody works on (timer trigger)."""
        await runs.sweep()


if settings and settings.chat_requests_queue:

    @app.queue_trigger("message", settings.chat_requests_queue, "AzureWebJobsStorage")  # pyright: ignore[reportUnknownMemberType] (no types)
    async def chat_request(message: func.QueueMessage, context: func.Context) -> None:
        """Answer a request of a queue into another queue (queue trigger)."""
        tries = message.dequeue_count or 1
        of, since = (message.id or "", message.pop_receipt or ""), message.insertion_time
        await chat_requests.answer(message.get_body(), *of, tries, context.invocation_id, since)
