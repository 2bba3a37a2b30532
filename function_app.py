"""Route table: all triggers of the app. The handlers are in `shared/triggers/`."""

import os

import azure.functions as func
from azure.functions.warmup import WarmUpContext

from shared.triggers import (
    about,
    approvals,
    chat_history,
    chat_requests,
    companion,
    content_events,
    demo_page,
    documents,
    feedback,
    other_paths,
    own_documents,
    playground,
    runs,
    sharing,
    warm_up,
)
from shared.triggers import chat as chats
from shared.triggers import content as contents
from shared.triggers import mcp as mcp_server
from shared.web.http_extension import Request, Response

app = func.FunctionApp(http_auth_level=func.AuthLevel.ANONYMOUS)
"""App without function keys, which chat front ends cannot send. `AUTH_MODE`, or a gateway, decides who may call."""


@app.route("chat", methods=["POST"])
async def chat(req: Request) -> Response:
    """One answer, in the protocol that the body selects."""
    return await chats.chat(req)


@app.route("chat/stream", methods=["POST"])
async def chat_stream(req: Request) -> Response:
    """A streamed answer, in the protocol that the body selects."""
    return await chats.chat_stream(req)


@app.route("ask", methods=["POST"])
async def ask(req: Request) -> Response:
    """One answer to a question on its own, in the RAG chat protocol."""
    return await chats.ask(req)


@app.route("multi-agent-chat/batch", methods=["POST"])
async def multi_agent_batch(req: Request) -> Response:
    """The messages of all agents of the team, in Semantic Kernel's shape for ChatUI."""
    return await chats.team_batch(req)


@app.route("multi-agent-chat/stream", methods=["POST"])
async def multi_agent_stream(req: Request) -> Response:
    """Each agent's message as soon as it is complete."""
    return await chats.team_stream(req)


@app.route("runs/{id}", methods=["GET"])
async def run(req: Request) -> Response:
    """An answer that outlives its request: how it stands, or the whole of it."""
    return await runs.run(req)


@app.route("runs/{id}", methods=["DELETE"])
async def delete_run(req: Request) -> Response:
    """Stop such an answer, and delete it."""
    return await runs.delete_run(req)


@app.route("runs/{id}/stream", methods=["GET"])
async def run_stream(req: Request) -> Response:
    """The same as a stream, from its beginning or from where a client has read it."""
    return await runs.run_stream(req)


@app.route("approvals", methods=["GET"])
async def list_approvals(req: Request) -> Response:
    """The calls of tools that wait for a person's consent."""
    return await approvals.list_approvals(req)


@app.route("approvals/{id}", methods=["GET"])
async def approval(req: Request) -> Response:
    """One of them, and what has come of it."""
    return await approvals.approval(req)


@app.route("approvals/{id}", methods=["POST"])
async def decide_approval(req: Request) -> Response:
    """Agree to it, or refuse it."""
    return await approvals.decide(req)


@app.route("multi-agent-chat/batches/{id}", methods=["GET"])
async def batch(req: Request) -> Response:
    """Another name for such an answer of the team."""
    return await runs.run(req)


@app.route("multi-agent-chat/batches/{id}", methods=["DELETE"])
async def delete_batch(req: Request) -> Response:
    """The same."""
    return await runs.delete_run(req)


@app.route("multi-agent-chat/batches/{id}/stream", methods=["GET"])
async def batch_stream(req: Request) -> Response:
    """Its messages as they are done."""
    return await runs.batch_stream(req)


@app.route("v1/chat/completions", methods=["POST"])
async def chat_completions(req: Request) -> Response:
    """One answer or a stream, in OpenAI's Chat Completions."""
    return await chats.chat_completions(req)


@app.route("ag-ui", methods=["POST"])
async def ag_ui(req: Request) -> Response:
    """A streamed answer, in AG-UI, at the URL that its clients are given."""
    return await chats.ag_ui(req)


@app.route("v1/responses", methods=["POST"])
async def responses(req: Request) -> Response:
    """One answer or a stream, in OpenAI's Responses."""
    return await chats.responses(req)


@app.route("v1/responses/{id}", methods=["GET"])
async def kept_response(req: Request) -> Response:
    """A response of before, whole or streamed."""
    return await runs.response(req)


@app.route("v1/responses/{id}", methods=["DELETE"])
async def delete_response(req: Request) -> Response:
    """Stop a response, and delete it."""
    return await runs.response(req)


@app.route("v1/responses/{id}/cancel", methods=["POST"])
async def cancel_response(req: Request) -> Response:
    """Stop a response that is made in the background."""
    return await runs.response(req)


@app.route("v1/models", methods=["GET"])
async def models(req: Request) -> Response:
    """What a request in OpenAI's protocol may name as its model."""
    return await about.models(req)


@app.route("v1/models/{id}", methods=["GET"])
async def model(req: Request) -> Response:
    """One of these models."""
    return await about.model(req)


@app.route("{protocol}/chat", methods=["POST"])
async def pinned_chat(req: Request) -> Response:
    """One answer, in the protocol that the route names."""
    return await chats.chat(req)


@app.route("{protocol}/chat/stream", methods=["POST"])
async def pinned_chat_stream(req: Request) -> Response:
    """A streamed answer, in the protocol that the route names."""
    return await chats.chat_stream(req)


@app.route("ai-sdk/chat/{id}/stream", methods=["GET"])
async def ai_sdk_resume(req: Request) -> Response:
    """The answer that a chat of the AI SDK waits for."""
    return await runs.ai_sdk_resume(req)


@app.route("ai-sdk/multi-agent-chat/stream/{id}/stream", methods=["GET"])
async def ai_sdk_resume_team(req: Request) -> Response:
    """The same of a team's answer."""
    return await runs.ai_sdk_resume(req)


@app.route("{protocol}/ask", methods=["POST"])
async def pinned_ask(req: Request) -> Response:
    """One answer to a question on its own, in the protocol that the route names."""
    return await chats.ask(req)


@app.route("{protocol}/multi-agent-chat/batch", methods=["POST"])
async def pinned_multi_agent_batch(req: Request) -> Response:
    """The messages of all agents of the team, in the protocol that the route names."""
    return await chats.team_batch(req)


@app.route("{protocol}/multi-agent-chat/stream", methods=["POST"])
async def pinned_multi_agent_stream(req: Request) -> Response:
    """Each agent's message as soon as it is complete."""
    return await chats.team_stream(req)


@app.route("chat-history", methods=["GET"])
async def list_chats(req: Request) -> Response:
    """The caller's chats, newest first."""
    return await chat_history.list_chats(req)


@app.route("chat-history", methods=["POST"])
async def start_chat(req: Request) -> Response:
    """Start a chat."""
    return await chat_history.start_chat(req)


@app.route("chat-history/{id}/messages", methods=["GET"])
async def chat_messages(req: Request) -> Response:
    """The messages of a chat."""
    return await chat_history.chat_messages(req)


@app.route("chat-history/{id}", methods=["PUT"])
async def update_chat(req: Request) -> Response:
    """Add messages to a chat, or update them."""
    return await chat_history.update_chat(req)


@app.route("chat-history/{id}", methods=["DELETE"])
async def delete_chat(req: Request) -> Response:
    """Delete a chat."""
    return await chat_history.delete_chat(req)


@app.route("chat-history/{id}/share", methods=["POST"])
async def share_chat(req: Request) -> Response:
    """Let everybody who signs in read a chat."""
    return await sharing.share_chat(req)


@app.route("chat-history/{id}/share", methods=["DELETE"])
async def stop_sharing_chat(req: Request) -> Response:
    """Let nobody read it any more."""
    return await sharing.stop_sharing_chat(req)


@app.route("shared/{id}", methods=["GET"])
async def shared_chat(req: Request) -> Response:
    """A shared chat, for everybody who signs in."""
    return await sharing.shared_chat(req)


@app.route("feedback", methods=["POST"])
async def give_feedback(req: Request) -> Response:
    """Keep what the caller says of an answer."""
    return await feedback.give_feedback(req)


@app.route("feedback", methods=["GET"])
async def list_feedback(req: Request) -> Response:
    """What callers said of answers, for those who may read it."""
    return await feedback.list_feedback(req)


@app.route("rai/analyze", methods=["POST"])
async def rai_analyze(req: Request) -> Response:
    """The results of the safety service for a text, a payload or a conversation."""
    return await companion.rai_analyze(req)


@app.route("rai/analyze/stream", methods=["POST"])
async def rai_analyze_stream(req: Request) -> Response:
    """The same results as a stream."""
    return await companion.rai_analyze_stream(req)


@app.route("mcp", methods=["POST"])
async def mcp(req: Request) -> Response:
    """Tools for the agents of other apps: search, read, ask."""
    return await mcp_server.mcp(req)


@app.route("mcp/oauth-protected-resource", methods=["GET"])
async def mcp_sign_in(req: Request) -> Response:
    """Where the users of these apps sign in."""
    return await mcp_server.mcp_sign_in(req)


@app.route("content/{*path}", methods=["GET", "HEAD"])
async def content(req: Request) -> Response:
    """A source document that answers cite."""
    return await contents.content(req)


@app.route("{protocol}/content/{*path}", methods=["GET", "HEAD"])
async def pinned_content(req: Request) -> Response:
    """The same document, for clients that take a base URL."""
    return await contents.content(req)


@app.route("documents", methods=["GET"])
async def list_documents(req: Request) -> Response:
    """The documents that the caller may see."""
    return await documents.list_all_documents(req)


@app.route("documents/mine", methods=["GET"])
async def list_own_documents(req: Request) -> Response:
    """The documents that the caller has added, and that nobody else sees."""
    return await own_documents.list_own(req)


@app.route("documents/{*path}", methods=["PUT"])
async def put_document(req: Request) -> Response:
    """Index a document."""
    return await documents.put_document(req)


@app.route("documents/{*path}", methods=["DELETE"])
async def delete_document(req: Request) -> Response:
    """Delete a document from the store and the index."""
    return await documents.delete_document(req)


@app.route("{protocol}/config", methods=["GET"])
async def demo_config(req: Request) -> Response:
    """The options of azure-search-openai-demo's web page."""
    return await demo_page.demo_config(req)


@app.route("{protocol}/auth_setup", methods=["GET"])
async def demo_auth_setup(req: Request) -> Response:
    """How users of that page sign in."""
    return await demo_page.demo_auth_setup(req)


@app.route("{protocol}/chat_history", methods=["POST"])
async def keep_demo_chat(req: Request) -> Response:
    """Keep a chat of that page."""
    return await demo_page.keep_demo_chat(req)


@app.route("{protocol}/chat_history/sessions", methods=["GET"])
async def list_demo_chats(req: Request) -> Response:
    """The caller's chats that the page has kept, newest first."""
    return await demo_page.list_demo_chats(req)


@app.route("{protocol}/chat_history/sessions/{id}", methods=["GET"])
async def demo_chat(req: Request) -> Response:
    """The questions and answers of a chat of that page."""
    return await demo_page.demo_chat(req)


@app.route("{protocol}/chat_history/sessions/{id}", methods=["DELETE"])
async def delete_demo_chat(req: Request) -> Response:
    """Delete a chat of that page."""
    return await demo_page.delete_demo_chat(req)


@app.route("{protocol}/upload", methods=["POST"])
async def demo_upload(req: Request) -> Response:
    """Add a document that only the caller sees, as that page does."""
    return await own_documents.demo_upload(req)


@app.route("{protocol}/list_uploaded", methods=["GET"])
async def demo_uploads(req: Request) -> Response:
    """The names of these documents."""
    return await own_documents.demo_uploads(req)


@app.route("{protocol}/delete_uploaded", methods=["POST"])
async def demo_delete_upload(req: Request) -> Response:
    """Delete one of them."""
    return await own_documents.demo_delete_upload(req)


@app.route("{protocol}/speech", methods=["POST"])
async def demo_speech(req: Request) -> Response:
    """Say that this app makes no speech."""
    return await demo_page.demo_not_offered(req)


@app.warm_up_trigger("context")  # pyright: ignore[reportUnknownMemberType, reportUntypedFunctionDecorator] (no types)
async def warmup(context: WarmUpContext) -> None:  # noqa: ARG001 (the worker passes it by this name)
    """Prepare a new instance before Azure sends it requests. Azure finds this function by its name."""
    await warm_up.warm_up()


@app.route("health", methods=["GET"])
async def health(req: Request) -> Response:
    """Whether the app can answer, and the state of each part."""
    return await about.health(req)


@app.route("openapi.json", methods=["GET"])
async def openapi(req: Request) -> Response:
    """The OpenAPI 3.1 document."""
    return await about.openapi(req)


@app.route("swagger.json", methods=["GET"])
async def swagger(req: Request) -> Response:
    """The Swagger 2.0 document, for Logic Apps and Power Platform."""
    return await about.swagger(req)


@app.route("playground/team", methods=["GET"])
async def playground_agents(req: Request) -> Response:
    """The team of agents as it is defined, for the playground.

    The Functions host tries the routes in the order of the functions' names: this one comes before `playground_file`.
    """
    return await playground.playground_agents(req)


@app.route("playground/begin", methods=["GET"])
async def playground_begin(req: Request) -> Response:
    """What there is to ask about, for the playground's first screen. It comes before `playground_file` as well."""
    return await playground.playground_begin(req)


@app.route("docs", methods=["GET", "HEAD"])
async def api_page(req: Request) -> Response:
    """The OpenAPI document as a page."""
    return await playground.api_page(req)


@app.route("playground/{digest}/{*path}", methods=["GET", "HEAD"])
async def playground_file(req: Request) -> Response:
    """A file that this page or the playground's loads."""
    return await playground.playground_file(req)


@app.route("{*path}")
async def without_route(req: Request) -> Response:
    """The playground's page, and errors that name the nearest route.

    The Functions host tries the routes in the order of the functions' names, so this name has to be the last of all.
    """
    return await other_paths.other_path(req)


watched = content_events.watched(os.environ)

if watched:

    @app.queue_trigger("message", watched.events_queue, "CONTENT_STORAGE")  # pyright: ignore[reportUnknownMemberType] (no types)
    async def content_event(message: func.QueueMessage) -> None:
        """Index an uploaded document, or remove a deleted one from the index (queue trigger)."""
        await content_events.handle_events(message.get_body())


compared = content_events.compared(os.environ)

if compared:

    @app.timer_trigger("timer", compared)  # pyright: ignore[reportUnknownMemberType] (no types)
    async def content_sync(timer: func.TimerRequest) -> None:  # noqa: ARG001 (the worker passes it by this name)
        """Bring the index into step with the documents that are kept (timer trigger)."""
        await content_events.sync()


batch_queue = runs.queue_of(os.environ)

if batch_queue:

    @app.queue_trigger("message", batch_queue, "AzureWebJobsStorage")  # pyright: ignore[reportUnknownMemberType] (no types)
    async def batch_run(message: func.QueueMessage) -> None:
        """Run a run, or go on with one whose runner has died (queue trigger)."""
        await runs.run_batch(message.get_body(), message.insertion_time)

    @app.queue_trigger("message", f"{batch_queue}-poison", "AzureWebJobsStorage")  # pyright: ignore[reportUnknownMemberType] (no types)
    async def batch_poison(message: func.QueueMessage) -> None:
        """End a run that could not be run (queue trigger)."""
        await runs.give_up_batch(message.get_body())


requests_queue = chat_requests.bound(os.environ)

if requests_queue:

    @app.queue_trigger("message", requests_queue, "AzureWebJobsStorage")  # pyright: ignore[reportUnknownMemberType] (no types)
    async def chat_request(message: func.QueueMessage, context: func.Context) -> None:
        """Answer a request of a queue into another queue (queue trigger)."""
        tries = message.dequeue_count or 1
        since = message.insertion_time
        await chat_requests.answer(message.get_body(), message.id or "", tries, context.invocation_id, since)
