/** The protocols with `choices`: OpenAI's Chat Completions, and the AI Chat Protocol that was made of it. */

/** @type {import("./protocols.js").Family} */
export const choices = {
  names: ["ai-chat-2024-01-28", "openai", "azure-openai"],
  pathOf: ({ protocol }) => (protocol === "openai" ? "/v1/chat/completions" : null),
  bodyOf({ protocol, messages, overrides, team, streamed }) {
    const openai = { model: team ? "switchboard-team" : "switchboard", stream: streamed };
    return { ...(protocol === "openai" && openai), messages, ...(overrides && { context: { overrides } }) };
  },
  readRecord(said, record) {
    const choice = record.choices?.[0];
    const text = choice?.delta?.content;
    if (typeof text !== "string") return;
    const name = choice.context?.agent;
    if (name === undefined && said.hasNames) return; // the empty line between two agents
    said.add(text, { key: name, name });
  },
  readWhole(said, answer) {
    for (const one of Array.isArray(answer) ? answer : [answer]) {
      const message = one.choices?.[0]?.message;
      const name = message?.context?.agent;
      said.add(message?.content, { key: name, name });
    }
  },
};
