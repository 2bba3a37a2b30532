/** Semantic Kernel's ChatMessageContent, with the keys of C# or of Python. */

/** @type {import("./protocols.js").Family} */
export const semanticKernel = {
  names: ["semantic-kernel", "semantic-kernel-python"],
  bodyOf: ({ messages, overrides }) => ({ messages, ...(overrides && { context: { overrides } }) }),
  readRecord: read,
  readWhole(said, answer) {
    for (const message of Array.isArray(answer) ? answer : [answer]) read(said, message);
  },
};

/**
 * @param {import("./said.js").Said} said
 * @param {any} message
 */
function read(said, message) {
  const name = message.AuthorName ?? message.name ?? undefined;
  const text = message.Content ?? textIn(message.items);
  if (text) said.add(text, { key: name, name });
}

/** @param {any} items */
function textIn(items) {
  const texts = Array.isArray(items) ? items.filter((item) => item.content_type === "text") : [];
  return texts.map((item) => item.text).join("");
}
