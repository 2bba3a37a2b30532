/** OpenAI's Responses. The items of a team are one text: each after the first begins with an empty line. */

/** @type {import("./protocols.js").Family} */
export const responses = {
  names: ["openai-responses"],
  pathOf: () => "/v1/responses",
  bodyOf: ({ messages, overrides, team, streamed }) => ({
    model: team ? "switchboard-team" : "switchboard",
    stream: streamed,
    input: messages,
    ...(overrides && { context: { overrides } }),
  }),
  readRecord(said, record) {
    if (record.type === "response.output_text.delta") said.add(record.delta);
  },
  readWhole(said, answer) {
    for (const item of answer.output ?? []) {
      for (const part of item.content ?? []) if (part.type === "output_text") said.add(part.text);
    }
  },
};
