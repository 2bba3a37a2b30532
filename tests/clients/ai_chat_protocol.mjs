// Calls the app with Microsoft's client and prints, as one JSON document, what the client gave back or threw.
// Arguments: the endpoint, 'answer' or 'stream', and the client's options as JSON. Its messages come as JSON through
// the standard input; their files as {contentType, base64, name}, which become what browsers have: a File, or without a
// name a Blob. (A Uint8Array, which the client takes too, it cannot send from Node.js.)
import { text } from "node:stream/consumers";
import { AIChatProtocolClient } from "@microsoft/ai-chat-protocol";

const [endpoint, kind, options] = process.argv.slice(2);
const client = new AIChatProtocolClient(endpoint, { retryOptions: { maxRetries: 0 } });
const messages = JSON.parse(await text(process.stdin));
for (const message of messages.filter((message) => message.files)) {
  message.files = message.files.map(({ contentType, base64, name }) => {
    const bytes = Buffer.from(base64, "base64");
    return { contentType, data: name ? new File([bytes], name) : new Blob([bytes]) };
  });
}
const ask = [messages, JSON.parse(options)];
const records = [];
try {
  if (kind === "answer") {
    records.push(await client.getCompletion(...ask));
  } else {
    for await (const record of await client.getStreamedCompletion(...ask)) {
      records.push(record);
    }
  }
  console.log(JSON.stringify({ records }));
} catch (thrown) {
  console.log(JSON.stringify({ records, thrown }));
}
