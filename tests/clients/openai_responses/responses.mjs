// Asks the app for a response as an app does with OpenAI's package or AI SDK's provider for it, and exports what the
// client gave back as one JSON document. Arguments: the client (a name of `clients` below) and the base URL. It is run
// by `served.mjs`, which has what to ask; with `leaveAfterText`, the client leaves once it has some text. AI SDK calls the
// `tools`, whose result is "Snow.", and asks again with it.
import { createOpenAI } from "@ai-sdk/openai";
import { generateObject, generateText, isStepCount, jsonSchema, streamText, tool } from "ai";
import OpenAI from "openai";
import { zodResponseFormat, zodTextFormat } from "openai/helpers/zod";
import { z } from "zod";

const [client, baseURL] = given.arguments;
const { leaveAfterText, tools = [], ...asked } = given.asked;
const openai = new OpenAI({ baseURL, apiKey: "any", maxRetries: 0 });

const Cover = z.object({ share: z.number().int(), note: z.string() });

function runnable({ name, description, parameters }) {
  return [name, tool({ description, inputSchema: jsonSchema(parameters), execute: () => "Snow." })];
}

const clients = {
  whole: async () => ({ response: await openai.responses.create(asked) }),

  async raw(seen) {
    for await (const event of await openai.responses.create({ ...asked, stream: true })) {
      seen.push(event);
      if (leaveAfterText && event.type === "response.output_text.delta") break;
    }
  },

  async helper(seen) {
    const stream = openai.responses.stream(asked);
    for await (const event of stream) seen.push(event);
    return { response: await stream.finalResponse() };
  },

  async zod() {
    const { model, input } = asked;
    const messages = [{ role: "user", content: input }];
    const chat = await openai.chat.completions.parse({ model, messages, response_format: zodResponseFormat(Cover, "Cover") });
    const response = await openai.responses.parse({ model, input, text: { format: zodTextFormat(Cover, "Cover") } });
    return { parsed: [chat.choices[0].message.parsed, response.output_parsed] };
  },

  async aiSdkGenerate() {
    const { text, steps, sources } = await generateText({
      model: createOpenAI({ baseURL, apiKey: "any" })[asked.api](asked.model),
      prompt: asked.input,
      tools: Object.fromEntries(tools.map(runnable)),
      stopWhen: isStepCount(5),
      maxRetries: 0,
    });
    const calls = steps.map(({ toolCalls }) => toolCalls.map(({ toolName, input }) => ({ toolName, input })));
    return { text, calls, sources: sources.map(({ url }) => url) };
  },

  async aiSdkObject() {
    const { schema, ...others } = asked;
    const { object, finishReason } = await generateObject({
      model: createOpenAI({ baseURL, apiKey: "any" })(others.model),
      prompt: others.input,
      schema: jsonSchema(schema),
      maxRetries: 0,
    });
    return { object, finishReason };
  },

  aiSdk: (seen) => useAiSdk(seen, "responses"),
  aiSdkChat: (seen) => useAiSdk(seen, "chat"),
};

async function useAiSdk(seen, api) {
  const leaving = new AbortController();
  const result = streamText({
    model: createOpenAI({ baseURL, apiKey: "any" })[api](asked.model),
    messages: asked.input,
    tools: Object.fromEntries(tools.map(runnable)),
    stopWhen: isStepCount(5),
    providerOptions: asked.providerOptions,
    maxRetries: 0,
    abortSignal: leaving.signal,
    onError: () => {},
  });
  for await (const part of result.fullStream) {
    seen.push(part);
    if (leaveAfterText && part.type === "text-delta") leaving.abort();
  }
  if (seen.some((part) => part.type === "error" || part.type === "abort")) return {};
  const { messages } = await result.response;
  return { text: await result.text, finishReason: await result.finishReason, messages };
}

const shown = ({ message, status, code, param }) => ({ message, status, code, param });
const seen = [];
let outcome;
try {
  outcome = await clients[client](seen);
} catch (error) {
  outcome = { thrown: shown(error) };
}
const printed = JSON.stringify({ seen, ...outcome }, (_, value) => (value instanceof Error ? shown(value) : value));
export { printed as outcome };
