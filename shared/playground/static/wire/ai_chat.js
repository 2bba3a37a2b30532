/** The AI Chat Protocol in its versions with `delta` or `output_text`. */

/** @type {import("./protocols.js").Family} */
export const aiChat = {
  names: ["ai-chat", "ai-chat-2024-05-29", "ai-chat-2026-04"],
  bodyOf: ({ messages, overrides }) => ({ messages, ...(overrides && { context: { overrides } }) }),
  readRecord(said, record) {
    const text = record.type === "response.output_text.delta" ? record.delta : record.delta?.content;
    const name = record.agent ?? (text === undefined ? undefined : record.context?.agent);
    if (name === undefined && said.hasNames) return; // the empty line between two agents, or how it ended
    if (text !== undefined) said.add(text, { key: name, name });
  },
  readWhole(said, answer) {
    for (const one of Array.isArray(answer) ? answer : [answer]) {
      const name = one.context?.agent;
      said.add(one.output_text ?? one.message?.content, { key: name, name });
    }
  },
};
