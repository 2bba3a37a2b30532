// Serves CopilotKit's runtime, as an app without a licence has it, in front of the app's AG-UI agent, and prints the agent's
// URL in it. Argument: the URL of the app's agent. It ends with its standard input.
import { HttpAgent } from "@ag-ui/client";
import { CopilotRuntime, createCopilotEndpoint, InMemoryAgentRunner } from "@copilotkit/runtime/v2";
import { serve } from "@hono/node-server";

const runtime = new CopilotRuntime({
  agents: { default: new HttpAgent({ url: process.argv[2] }) },
  runner: new InMemoryAgentRunner(),
});
const { fetch } = createCopilotEndpoint({ runtime, basePath: "/api/copilotkit" });
serve({ fetch, port: 0, hostname: "127.0.0.1" }, ({ port }) => {
  console.log(`http://127.0.0.1:${port}/api/copilotkit/agent/default/run`);
});
process.stdin.resume().on("end", () => process.exit());
