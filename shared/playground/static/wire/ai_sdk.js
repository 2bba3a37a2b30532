/** The UI message stream of the AI SDK, which always streams. */

/** @type {import("./protocols.js").Family} */
export const aiSdk = {
  names: ["ai-sdk"],
  alwaysStreams: true,
  pathOf: ({ team }) => (team ? "/ai-sdk/multi-agent-chat/stream" : "/ai-sdk/chat"),
  bodyOf: ({ messages, overrides }) => ({
    messages: messages.map(({ role, content }, index) => ({
      id: String(index + 1),
      role,
      parts: [{ type: "text", text: content }],
    })),
    ...(overrides && { context: { overrides } }),
  }),
  readRecord(said, record) {
    if (record.type === "data-agent") said.add("", { key: record.id, name: record.data?.name });
    else if (record.type === "text-delta") said.add(record.delta, { key: record.id });
  },
  readWhole() {},
};
