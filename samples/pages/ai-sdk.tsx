import { useChat } from "@ai-sdk/react";
import { DefaultChatTransport, type UIMessage } from "ai";
import { useState } from "react";

type Message = UIMessage<unknown, { "followup-questions": string[] }>;

const transport = new DefaultChatTransport<Message>({
  api: "http://127.0.0.1:7071/api/ai-sdk/chat", // of the team: /api/ai-sdk/multi-agent-chat/stream
  // headers: { Authorization: "Bearer TOKEN" }, // of the user, with an AUTH_MODE
  body: { context: { overrides: { suggest_followup_questions: true } } },
});

export default function App() {
  const [question, setQuestion] = useState("");
  const { messages, sendMessage, status, error, stop } = useChat<Message>({ transport });
  const ask = (text: string) => {
    if (!text.trim() || status === "submitted" || status === "streaming") return; // Enter works also without a button
    sendMessage({ text });
    setQuestion("");
  };
  return (
    <main>
      {messages.map((message) => (
        <article key={message.id}>
          {message.parts.map((part, index) => {
            if (part.type === "text") return <p key={index} style={{ whiteSpace: "pre-wrap" }}>{part.text}</p>;
            if (part.type === "source-url") return <p key={index}><a href={part.url}>{part.title}</a></p>;
            if (part.type === "data-followup-questions")
              return part.data.map((next) => <button key={next} onClick={() => ask(next)}>{next}</button>);
          })}
        </article>
      ))}
      {error && <p role="alert">{error.message}</p>}
      <form onSubmit={(event) => { event.preventDefault(); if (question.trim()) ask(question); }}>
        <input aria-label="Question" value={question} onChange={(event) => setQuestion(event.target.value)} />
        {status === "ready" || status === "error" ? (
          <button key="ask" disabled={!question.trim()}>Ask</button>
        ) : (
          <button key="stop" type="button" onClick={stop}>Stop</button>
        )}
      </form>
    </main>
  );
}
