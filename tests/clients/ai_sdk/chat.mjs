// Talks to the app as an app's page does with `useChat`, and exports what the page would have: a chat of the AI SDK whose
// state is in plain variables. Arguments: the package, which is a version of `ai`, and the URL to post to. It is
// run by `served.mjs`, which has what to do: {id, messages, steps}, where id is the chat's; each step is {do, at, …} with the name of a function
// below and, if it asks another URL, that.
// Exports one JSON document, {steps: [{status, error, message, messages, …}]}.

const [version, api] = given.arguments;
const sdk = await import(version);
const { AbstractChat, DefaultChatTransport, readUIMessageStream } = sdk;
const { id, messages, steps } = given.asked;

class State {
  status = "ready";
  error = undefined;
  written = () => {};
  constructor(messages) {
    this.messages = messages;
  }
  pushMessage = (message) => {
    this.messages = [...this.messages, message];
    this.written(message);
  };
  popMessage = () => {
    this.messages = this.messages.slice(0, -1);
  };
  replaceMessage = (index, message) => {
    this.messages = this.messages.with(index, this.snapshot(message));
    this.written(message);
  };
  snapshot = (value) => structuredClone(value);
}

class Chat extends AbstractChat {
  constructor(init, state) {
    super({ ...init, state });
    this.inner = state;
  }
}

let target = api; // a step may ask another URL
let always = {}; // what the page adds to each request
const calls = []; // of the page's tools
let answered = async () => {}; // called when a response has begun
const transport = new DefaultChatTransport({
  api,
  body: () => always,
  async fetch(url, init) {
    const response = await fetch(url.replace(api, target), init);
    await answered(init ?? {});
    return response;
  },
});
let finished;
let ended = () => {};
const state = new State(messages ?? []);
const chat = new Chat(
  {
    id,
    transport,
    onFinish(end) {
      finished = end;
      ended();
    },
    sendAutomaticallyWhen: (options) =>
      sdk.lastAssistantMessageIsCompleteWithToolCalls(options) ||
      sdk.lastAssistantMessageIsCompleteWithApprovalResponses?.(options),
    onToolCall({ toolCall: { toolName, toolCallId, input } }) {
      if (!always.tools) return;
      calls.push({ toolName, input });
      (chat.addToolOutput ?? chat.addToolResult)({ tool: toolName, toolCallId, output: { sky: "Snow." } });
    },
  },
  state,
);
const hasText = (message) => message.role === "assistant" && message.parts.some((part) => part.type === "text" && part.text);

const actions = {
  send: ({ text, files, body }) => chat.sendMessage({ text, files }, { body }),
  // The page has tools; it is sent again by itself once it has answered all calls.
  async tools({ text, tools }) {
    always = { tools };
    await chat.sendMessage({ text });
    return { calls };
  },
  // The user answers the questions for consent of the last message; version 5 answers the calls themselves.
  async decide({ approved, reason }) {
    const goesOn = new Promise((resolve) => (ended = resolve));
    for (const { type, toolName, toolCallId, state, approval } of chat.lastMessage.parts) {
      if (type !== "dynamic-tool") continue;
      if (state === "approval-requested") await chat.addToolApprovalResponse({ id: approval.id, approved, reason });
      else if (state === "input-available")
        await (chat.addToolOutput ?? chat.addToolResult)({ tool: toolName, toolCallId, output: approved ? "approved" : "declined" });
    }
    await goesOn;
  },
  regenerate: () => chat.regenerate(),
  resume: () => chat.resumeStream(),
  async leave({ text, body }) {
    const begun = new Promise((resolve) => (state.written = (message) => hasText(message) && resolve()));
    const sent = chat.sendMessage({ text }, { body });
    await begun;
    await chat.stop();
    await sent;
  },
  // Pages that are loaded again have the messages that were sent, and no answer. Once both read it, it may go on.
  async reload({ text, body, release }) {
    await actions.leave({ text, body });
    const pages = [chat, new Chat({ id, transport }, new State([]))];
    let reading = 0;
    answered = async (init) => init.method === "GET" && ++reading === pages.length && (await fetch(release));
    for (const page of pages) page.messages = chat.messages.filter((message) => message.role === "user");
    await Promise.all(pages.map((page) => page.resumeStream()));
    return { other: pages[1].messages };
  },
  // Without a chat: the transport's stream, and the messages that `readUIMessageStream` makes of it.
  async read({ text, body }) {
    const asked = [{ id: "u1", role: "user", parts: [{ type: "text", text }] }];
    const options = { chatId: "chat-2", messages: asked, trigger: "submit-message", body };
    const [own, read] = (await transport.sendMessages(options)).tee();
    const chunks = Array.fromAsync(own);
    const made = await Array.fromAsync(readUIMessageStream({ stream: read }));
    return { chunks: await chunks, message: made.at(-1), versions: made.length };
  },
};

const done = [];
for (const { do: action, at, ...options } of steps) {
  finished = undefined;
  target = at ?? api;
  const more = await actions[action](options);
  done.push({
    status: chat.status,
    error: chat.error?.message,
    message: chat.lastMessage,
    messages: chat.messages,
    finishReason: finished?.finishReason,
    isAbort: finished?.isAbort,
    ...more,
  });
}
export const outcome = JSON.stringify({ steps: done });
