// Lets an AG-UI agent run once for each step, and exports, as one JSON document, what its page has after each,
// and what the client warns of, such as an event that it does not know.
// Arguments: the client's version, and the agent's URL. It is run by `served.mjs`, which has the steps, each with the
// `message` that the user adds, the `parameters` of the run, and whether the user leaves at the first text (`leaves`);
// without a message the page was loaded again, has the questions alone, and follows the run; with `decides` the user
// answers the interrupts of the last run, and with `again` asks the last question anew. To each call of a tool of the page it answers "Snow.", and runs again.

const [version, url] = given.arguments;
const { HttpAgent, runHttpRequest, transformHttpEventStream } = await import(version);
const { threadId, messages, steps } = given.asked;

class Agent extends HttpAgent {
  connect({ runId }) {
    return transformHttpEventStream(runHttpRequest(() => fetch(new URL(`runs/${runId}/stream`, this.url))));
  }
}

const agent = new Agent({ url, threadId, initialMessages: messages });
const seen = [];
const warnings = [];
console.warn = (...words) => void warnings.push(words.join(" "));
console.error = () => {}; // it repeats what is thrown
let interrupts = [];
for (const { message, parameters = {}, leaves, decides, again } of steps) {
  const step = { events: [], errors: [] };
  seen.push(step);
  if (decides)
    parameters.resume = interrupts.map(({ id }) => ({ interruptId: id, status: "resolved", payload: decides }));
  else if (message) agent.addMessage({ id: `user-${seen.length}`, role: "user", ...message });
  else if (again) agent.setMessages(agent.messages.slice(0, agent.messages.findLastIndex(({ role }) => role === "user") + 1));
  else agent.setMessages(agent.messages.filter(({ role }) => role === "user"));
  try {
    for (let calls = [null]; calls.length; ) {
      step.ended = await (message || decides || again ? agent.runAgent : agent.connectAgent).call(agent, parameters, {
        onEvent: ({ event }) => void step.events.push(event),
        onRunErrorEvent: ({ event }) => void step.errors.push(event),
        onTextMessageContentEvent: () => leaves && agent.abortRun(),
      });
      interrupts = step.events.at(-1).outcome?.interrupts ?? [];
      calls = interrupts.length ? [] : (agent.messages.at(-1)?.toolCalls ?? []);
      for (const { id } of calls) agent.addMessage({ id: `result-${id}`, role: "tool", toolCallId: id, content: "Snow." });
    }
  } catch ({ message, status, payload }) {
    step.thrown = { message, status, payload };
  }
  step.messages = structuredClone(agent.messages);
}
export const outcome = JSON.stringify({ seen, warnings });
