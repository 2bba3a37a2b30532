import { HttpAgent } from "@ag-ui/client";
import {
  AssistantRuntimeProvider,
  ComposerPrimitive,
  ErrorPrimitive,
  MessagePrimitive,
  ThreadPrimitive,
} from "@assistant-ui/react";
import { useAgUiInterrupts, useAgUiRuntime } from "@assistant-ui/react-ag-ui";
import { filter } from "rxjs";

const agent = new HttpAgent({ url: "http://127.0.0.1:7071/api/ag-ui" });
agent.use((input, next) =>
  next
    .run({ ...input, forwardedProps: { ...input.forwardedProps, suggest_followup_questions: true } })
    .pipe(filter((event) => event.code !== "abort")), // else Stop shows the browser's own words as an error
);

const Text = ({ text }) => <p style={{ whiteSpace: "pre-wrap" }}>{text}</p>;

function Sources({ data }) {
  return <ul>{data.sources.map(({ id, title, url }) => <li key={id}><a href={url}>{title}</a></li>)}</ul>;
}

function FollowUps({ data }) {
  return data.map((next) => <ThreadPrimitive.Suggestion key={next} prompt={next} send>{next}</ThreadPrimitive.Suggestion>);
}

function ToolCall({ toolName, argsText, result, approval, respondToApproval }) {
  const asked = useAgUiInterrupts().find(({ id }) => id === approval?.id);
  if (!asked || approval.approved !== undefined) return <pre>{toolName} {argsText} {JSON.stringify(result)}</pre>;
  return (
    <section>
      <pre>{asked.message}</pre>
      <button onClick={() => respondToApproval({ approved: true })}>Approve</button>
      <button onClick={() => respondToApproval({ approved: false })}>Decline</button>
    </section>
  );
}

const parts = {
  Text,
  tools: { Fallback: ToolCall },
  data: { by_name: { sources: Sources, followup_questions: FollowUps } },
};

const UserMessage = () => <MessagePrimitive.Root className="question"><MessagePrimitive.Parts components={parts} /></MessagePrimitive.Root>;

const AssistantMessage = () => (
  <MessagePrimitive.Root className="answer">
    <MessagePrimitive.Parts components={parts} />
    <MessagePrimitive.Error>
      <ErrorPrimitive.Root><ErrorPrimitive.Message /></ErrorPrimitive.Root>
    </MessagePrimitive.Error>
  </MessagePrimitive.Root>
);

export default function App() {
  return (
    <AssistantRuntimeProvider runtime={useAgUiRuntime({ agent })}>
      <ThreadPrimitive.Root>
        <ThreadPrimitive.Messages components={{ UserMessage, AssistantMessage }} />
        <ComposerPrimitive.Root>
          <ComposerPrimitive.Input placeholder="Ask" />
          <ThreadPrimitive.If running={false}><ComposerPrimitive.Send>Send</ComposerPrimitive.Send></ThreadPrimitive.If>
          <ThreadPrimitive.If running><ComposerPrimitive.Cancel>Stop</ComposerPrimitive.Cancel></ThreadPrimitive.If>
        </ComposerPrimitive.Root>
      </ThreadPrimitive.Root>
    </AssistantRuntimeProvider>
  );
}
