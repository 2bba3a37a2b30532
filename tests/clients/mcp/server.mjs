// Serves tools with the MCP packages of npm, and prints the URLs as one JSON document: `sdk` is the older package, with
// sessions, and `server` the newer one, which answers the revision 2026-07-28.
import { createServer } from "node:http";
import { toNodeHandler } from "@modelcontextprotocol/node";
import { createMcpHandler, McpServer } from "@modelcontextprotocol/server";
import { McpServer as SdkServer } from "@modelcontextprotocol/sdk/server/mcp.js";
import { StreamableHTTPServerTransport } from "@modelcontextprotocol/sdk/server/streamableHttp.js";
import { z } from "zod";

const who = { name: "crm", version: "1" };
const number = { number: z.number() };
const look = async ({ number }) => {
  if (number < 0) throw new Error("no such order");
  return { content: [{ type: "text", text: JSON.stringify({ number }) }], structuredContent: { number } };
};
const drop = async ({ name }) => ({ content: [{ type: "text", text: `${name} is dropped` }] });

function withTools(server, wrap) {
  server.registerTool("look", { description: "Look up an order.", inputSchema: wrap(number), outputSchema: wrap(number) }, look);
  server.registerTool("drop", { description: "Drop an order.", inputSchema: wrap({ name: z.string() }) }, drop);
  return server;
}

const sessions = new Map();
async function serveSdk(request, response) {
  let transport = sessions.get(request.headers["mcp-session-id"]);
  if (!transport) {
    transport = new StreamableHTTPServerTransport({
      sessionIdGenerator: () => crypto.randomUUID(),
      onsessioninitialized: (id) => sessions.set(id, transport),
      onsessionclosed: (id) => sessions.delete(id),
    });
    await withTools(new SdkServer(who), (shape) => shape).connect(transport);
  }
  await transport.handleRequest(request, response);
}

const serveNew = toNodeHandler(createMcpHandler(() => withTools(new McpServer(who), z.object)));

function listen(handler) {
  return new Promise((done) => {
    const server = createServer(handler).listen(0, "127.0.0.1", () => done(`http://127.0.0.1:${server.address().port}/mcp`));
  });
}

console.log(JSON.stringify({ sdk: await listen(serveSdk), server: await listen(serveNew) }));
process.stdin.on("end", () => process.exit()).resume();
