// Asks as each line of JSON says, with OpenAI's npm package, and prints a line with what the package gave or threw.
// A URL that does not end in /v1 is an endpoint for the package's client of Azure OpenAI. Keys: url, key, kind ('answer', 'stream', 'helper', 'leave' or 'tools') and body. Of a tool the result is "Snow.".
import { createInterface } from "node:readline";
import OpenAI, { AzureOpenAI } from "openai";

const kinds = {
  async answer(client, body) {
    const { choices, usage } = await client.chat.completions.create(body);
    const { content, annotations, context } = choices[0].message;
    return { pieces: [content], finish: choices[0].finish_reason, annotations, context, usage };
  },

  async stream(client, body, seen) {
    for await (const chunk of await client.chat.completions.create({ ...body, stream: true })) {
      take(chunk, seen);
    }
  },

  async helper(client, body) {
    const pieces = [];
    const stream = client.chat.completions.stream(body);
    stream.on("content", (delta) => pieces.push(delta));
    const { choices, usage } = await stream.finalChatCompletion();
    const { content, annotations, context } = choices[0].message;
    if (pieces.join("") !== content) throw new Error("The helper's text is not that of its pieces.");
    return { pieces, finish: choices[0].finish_reason, annotations, context, usage };
  },

  async tools(client, { tools, ...body }) {
    const calls = [];
    const run = (call) => (calls.push(call), "Snow.");
    const runnable = ({ function: told }) => ({ type: "function", function: { ...told, parse: JSON.parse, function: run } });
    const runner = client.chat.completions.runTools({ ...body, tools: tools.map(runnable), stream: true });
    const { choices } = await runner.finalChatCompletion();
    return { pieces: [choices[0].message.content], finish: choices[0].finish_reason, kept: { calls } };
  },

  async leave(client, body, seen) {
    for await (const chunk of await client.chat.completions.create({ ...body, stream: true })) {
      take(chunk, seen);
      if (seen.pieces.length) break;
    }
  },
};

function take({ choices: [choice], usage }, seen) {
  if (choice?.delta.content) seen.pieces.push(choice.delta.content);
  if (choice?.delta.context) {
    const { annotations, context, event } = choice.delta;
    Object.assign(seen, { annotations, context, event });
  }
  if (choice?.finish_reason) seen.finish = choice.finish_reason;
  if (usage) seen.usage = usage;
}

for await (const line of createInterface({ input: process.stdin })) {
  const { url, key, kind, body } = JSON.parse(line);
  const seen = { pieces: [] };
  try {
    const options = { apiKey: key, maxRetries: 0 };
    const client = url.endsWith("/v1")
      ? new OpenAI({ ...options, baseURL: url })
      : new AzureOpenAI({ ...options, endpoint: url, apiVersion: "2024-10-21" });
    Object.assign(seen, await kinds[kind](client, body, seen));
  } catch ({ name, status, code, param, type, message }) {
    seen.error = { name, status, code, param, type, message };
  }
  console.log(JSON.stringify(seen));
}
