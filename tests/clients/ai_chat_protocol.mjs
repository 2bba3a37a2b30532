// Calls the app with Microsoft's client and prints, as one JSON document, what the client gave back or threw.
// Arguments: the client's version, the endpoint, 'answer' (once), 'patient' (with its own retries), 'stream' or 'leave', and the client's options as JSON. Its messages come as JSON through
// the standard input; their files as {contentType, base64, name}, which become what browsers have: a File, or without a
// name a Blob. (A Uint8Array, which the client takes too, it cannot send from Node.js.)
import { text } from "node:stream/consumers";

const [version, endpoint, kind, options] = process.argv.slice(2);
const { AIChatProtocolClient } = await import(version);
const client = new AIChatProtocolClient(endpoint, kind === "patient" ? {} : { retryOptions: { maxRetries: 0 } });
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
  if (kind === "answer" || kind === "patient") {
    records.push(await client.getCompletion(...ask));
  } else {
    for await (const record of await client.getStreamedCompletion(...ask)) {
      records.push(record);
      if (kind === "leave" && record.delta?.content) break;
    }
  }
  console.log(JSON.stringify({ records }));
  if (kind === "leave") process.exit(); // the client does not end its request; to close the page does
} catch (thrown) {
  console.log(JSON.stringify({ records, thrown }));
}
