import { useFrontendTool } from "@copilotkit/react-core/v2";
import { useState } from "react";
import { z } from "zod";

function Note() {
  const [note, setNote] = useState("");
  useFrontendTool({
    name: "show_note",
    description: "Shows a note beside the chat.",
    parameters: z.object({ text: z.string() }),
    handler: async ({ text }) => {
      setNote(text);
      return "The note is shown.";
    },
  });
  return <aside>{note}</aside>;
}
