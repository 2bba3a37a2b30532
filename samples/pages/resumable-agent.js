import { HttpAgent, runHttpRequest, transformHttpEventStream } from "@ag-ui/client";
import { map } from "rxjs";

const API = "http://127.0.0.1:7071/api";
const asked = () => JSON.parse(localStorage.getItem("asked") ?? "null");

class ResumableAgent extends HttpAgent {
  run(input) {
    const runId = crypto.randomUUID(); // assistant-ui's own ids are no UUIDs
    localStorage.setItem("asked", JSON.stringify({ runId, messages: input.messages }));
    const forwardedProps = { ...input.forwardedProps, overrides: { resumable: true } };
    return super.run({ ...input, runId, forwardedProps });
  }
  connect(input) {
    if (!asked()) return super.connect(input);
    const { runId, messages } = asked();
    const events = transformHttpEventStream(
      runHttpRequest(() => fetch(`${API}/runs/${runId}/stream`, { headers: this.headers })),
    );
    const withQuestion = (event) => ({ ...event, input: { ...input, messages } });
    return events.pipe(map((event) => (event.type === "RUN_STARTED" ? withQuestion(event) : event)));
  }
}

const agent = new ResumableAgent({ url: `${API}/ag-ui`, threadId: "thread-1" });
