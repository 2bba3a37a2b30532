// Calls the app with an MCP client of npm and prints, as one JSON document, what it found out, and what each step gave
// back or threw. Arguments: the URL; 'sdk' for the older package, 'client' for the newer one in the older era, 'modern'
// for the newer one of 2026-07-28; and a token. The steps come as JSON through the standard input: [tool, arguments].
import { text } from "node:stream/consumers";
import { Client, StreamableHTTPClientTransport } from "@modelcontextprotocol/client";
import { Client as SdkClient } from "@modelcontextprotocol/sdk/client/index.js";
import { StreamableHTTPClientTransport as SdkTransport } from "@modelcontextprotocol/sdk/client/streamableHttp.js";

const [url, kind, token] = process.argv.slice(2);
const who = { name: "switchboard-tests", version: "1" };
const options = token ? { requestInit: { headers: { Authorization: `Bearer ${token}` } } } : {};
const [client, transport] =
  kind === "sdk"
    ? [new SdkClient(who), new SdkTransport(new URL(url), options)]
    : [
        new Client(who, kind === "modern" ? { versionNegotiation: { mode: "auto" } } : {}),
        new StreamableHTTPClientTransport(new URL(url), options),
      ];
const steps = [];
try {
  await client.connect(transport);
  const { tools } = await client.listTools();
  for (const [name, args] of JSON.parse(await text(process.stdin))) {
    try {
      steps.push(await client.callTool({ name, arguments: args }));
    } catch ({ code, message }) {
      steps.push({ code, message });
    }
  }
  const server = client.getServerVersion();
  console.log(JSON.stringify({ version: transport.protocolVersion, server, tools: tools.map(({ name }) => name), steps }));
  await client.close();
} catch ({ message }) {
  console.log(JSON.stringify({ thrown: message, steps }));
}
