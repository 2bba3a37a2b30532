import { HttpAgent, runHttpRequest, transformHttpEventStream } from "@ag-ui/client";
import { from, map } from "rxjs";

const API = "http://127.0.0.1:7071/api";
const asked = () => JSON.parse(localStorage.getItem("asked") ?? "null");
const keep = (run) => localStorage.setItem("asked", JSON.stringify(run));

class ResumableAgent extends HttpAgent {
  run(input) {
    const runId = crypto.randomUUID(); // assistant-ui's own ids are no UUIDs
    keep({ runId, messages: input.messages });
    const forwardedProps = { ...input.forwardedProps, overrides: { resumable: true } };
    return super.run({ ...input, runId, forwardedProps });
  }
  abortRun() {
    super.abortRun(); // that leaves the answer, and this ends it: else it comes back after a reload
    if (asked()?.runId) fetch(`${API}/runs/${asked().runId}`, { method: "DELETE", headers: this.headers });
    keep({ messages: this.messages });
  }
  connect(input) {
    if (!asked()) return super.connect(input);
    const { runId, messages } = asked();
    const events = runId
      ? transformHttpEventStream(
          runHttpRequest(() => fetch(`${API}/runs/${runId}/stream`, { headers: this.headers })),
        )
      : from(["RUN_STARTED", "RUN_FINISHED"].map((type) => ({ type, threadId: input.threadId, runId: "stopped" })));
    const withQuestion = (event) => ({ ...event, input: { ...input, messages } });
    return events.pipe(map((event) => (event.type === "RUN_STARTED" ? withQuestion(event) : event)));
  }
}

const agent = new ResumableAgent({ url: `${API}/ag-ui`, threadId: "thread-1" });
