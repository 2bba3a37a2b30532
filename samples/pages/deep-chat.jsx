import "deep-chat";

const app = { url: "http://127.0.0.1:7071/api/v1/responses", stream: true };

export default function App() {
  return (
    <deep-chat
      directConnection={{ openAI: { key: "any", chat: { model: "switchboard" } } }}
      connect={app}
      errorMessages={{ displayServiceErrorMessages: true }}
      style={{ fontFamily: "sans-serif" }} // else it loads a font from Google
    />
  );
}
