// Calls the app with Microsoft's client and prints, as one JSON document, what the client gave back or threw.
// Arguments: the endpoint, 'answer' or 'stream', and the client's messages and options as JSON.
import { AIChatProtocolClient } from "@microsoft/ai-chat-protocol";

const [endpoint, kind, messages, options] = process.argv.slice(2);
const client = new AIChatProtocolClient(endpoint, { retryOptions: { maxRetries: 0 } });
const ask = [JSON.parse(messages), JSON.parse(options ?? "{}")];
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
