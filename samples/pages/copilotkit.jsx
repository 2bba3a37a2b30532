import { CopilotChat, CopilotKitProvider, useInterrupt } from "@copilotkit/react-core/v2";
import "@copilotkit/react-core/v2/styles.css";

function Chat() {
  useInterrupt({
    render: ({ interrupts, resolve }) => (
      <>
        {interrupts.map(({ id, message }) => (
          <section key={id}>
            <pre style={{ whiteSpace: "pre-wrap" }}>{message}</pre>
            <button onClick={() => resolve({ approved: true }, id)}>Approve</button>{" "}
            <button onClick={() => resolve({ approved: false }, id)}>Decline</button>
          </section>
        ))}
      </>
    ),
  });
  return <CopilotChat />;
}

export default function App() {
  return (
    <CopilotKitProvider runtimeUrl="http://127.0.0.1:4000/api/copilotkit">
      <Chat />
    </CopilotKitProvider>
  );
}
