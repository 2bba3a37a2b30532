/** AG-UI, which always streams. */

/** @type {import("./protocols.js").Family} */
export const agUi = {
  names: ["ag-ui"],
  alwaysStreams: true,
  pathOf: ({ team }) => (team ? "/ag-ui/multi-agent-chat/stream" : "/ag-ui"),
  bodyOf: ({ messages, overrides }) => ({
    threadId: crypto.randomUUID(),
    runId: crypto.randomUUID(),
    protocolVersion: "1.0",
    messages: messages.map((message, index) => ({ id: String(index + 1), ...message })),
    state: {},
    tools: [],
    context: [],
    forwardedProps: overrides ? { overrides } : {},
  }),
  readRecord(said, record) {
    const of = { key: record.messageId, name: record.name };
    if (record.type === "TEXT_MESSAGE_START") said.add("", of);
    else if (record.type === "TEXT_MESSAGE_CONTENT") said.add(record.delta, { key: record.messageId });
  },
  readWhole() {},
};
