import { HttpAgent } from "@ag-ui/client";
import { CopilotRuntime, createCopilotEndpoint, InMemoryAgentRunner } from "@copilotkit/runtime/v2";
import { serve } from "@hono/node-server";

const runtime = new CopilotRuntime({
  agents: { default: new HttpAgent({ url: "http://127.0.0.1:7071/api/ag-ui" }) },
  runner: new InMemoryAgentRunner(),
});
const { fetch } = createCopilotEndpoint({ runtime, basePath: "/api/copilotkit" });
serve({ fetch, port: 4000 });
