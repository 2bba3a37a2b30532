/** What the rooms share. Only `api/ask.js` and `chat/kept.js` write a turn; the others read it. */

/** As in `vendor/signals.js`. */
export interface Signal<T> {
  value: T;
  peek(): T;
  subscribe(listener: (value: T) => void): () => void;
}

export type Mode = "chat" | "team";

/** A passage that was found. Several may have the same name: those of one page, or of one document without pages. */
export interface Source {
  /** Its name, as the answer cites it in brackets. */
  id: string;
  title: string;
  url: string;
  text: string;
  /** A file of the conversation instead of a passage. */
  file?: Attachment;
}

export interface Thought {
  title: string;
  description: unknown;
  props?: Record<string, unknown> | null;
}

/** The value of a `CUSTOM` event `progress`. */
export interface Progress {
  /** Milliseconds since the question was sent. */
  at: number;
  [key: string]: unknown;
}

export interface Usage {
  model: string;
  inputTokens: number;
  outputTokens: number;
  totalTokens: number;
}

export interface Problem {
  /** A sentence for the reader. */
  message: string;
  code: string;
  /** 0: the answer had begun, or there was none. */
  status: number;
  /** Seconds; 0: not told. */
  retryAfter: number;
}

export interface Attachment {
  name: string;
  /** The media type. */
  type: string;
  /** Bytes. */
  size: number;
  /** The file in base64; empty where only its name was kept. */
  data: string;
}

/** The message of an agent of a team. */
export interface AgentRun {
  name: string;
  messageId: string;
  text: Signal<string>;
  state: Signal<"working" | "done" | "failed">;
  sources: Signal<Source[]>;
  thoughts: Signal<Thought[]>;
  error: Signal<Problem | null>;
  /** Milliseconds since the question was sent. */
  startedAt: number;
  endedAt: Signal<number>;
}

export interface WireRecord {
  /** Milliseconds since the question was sent. */
  at: number;
  /** Its text, without the empty line that ends it. */
  raw: string;
}

/** A request and its answer, as they were on the wire. */
export interface Exchange {
  method: string;
  url: string;
  requestHeaders: [string, string][];
  requestBody: string;
  status: Signal<number>;
  responseHeaders: Signal<[string, string][]>;
  /** `performance.now()` when it was sent. */
  startedAt: number;
  records: Signal<WireRecord[]>;
  /** Records that came after as many as are kept. */
  dropped: Signal<number>;
  /** Milliseconds since it was sent; 0: it has not ended. */
  endedAt: Signal<number>;
}

/** A call of a tool that the app makes for an agent. */
export interface ToolCall {
  id: string;
  /** Its server and its own name, such as `crm.look`. */
  title: string;
  /** The agent that calls; empty: not told yet. */
  agent: string;
  /** How many messages of agents were there when it began. */
  place: number;
  /** JSON; a part of it while it is told. */
  arguments: string;
  /** A key of `OUTCOMES` in `tools/decide.js`. */
  state: string;
  result: string;
  /** 0: not told. */
  milliseconds: number;
  /** Set while a person is asked for it. */
  consent: { id: string; agent: string; server: string; tool: string; description: string; expires: string; origins?: Record<string, string> } | null;
}

/** `waiting`: for a person's consent. */
export type Status = "asking" | "streaming" | "waiting" | "done" | "stopped" | "failed";

/** What the reader says of an answer. */
export interface Verdict {
  rating: "up" | "down";
  comment?: string;
  expected?: string;
}

/** A question with its answer. Turns form a tree: an edited question is another child of the turn before. */
export interface Turn {
  id: string;
  /** The id of the turn before; empty: it is the first. */
  parent: string;
  mode: Mode;
  question: string;
  attachments: Attachment[];
  /** The id of its run in the app, under which the answer goes on when the page is gone; empty: there is none. */
  run: string;
  status: Signal<Status>;
  /** Whether the connection was lost in mid-answer, and the page tries to get it back. */
  isCut: Signal<boolean>;
  text: Signal<string>;
  /** What the model thought before. */
  reasoning: Signal<string>;
  sources: Signal<Source[]>;
  thoughts: Signal<Thought[]>;
  followups: Signal<string[]>;
  usage: Signal<Usage[]>;
  finishReason: Signal<string>;
  error: Signal<Problem | null>;
  agents: Signal<AgentRun[]>;
  /** Of tools of servers; searches are thoughts. */
  calls: Signal<ToolCall[]>;
  /** The id of the answer for `POST /feedback`; empty: not known. */
  answerId: Signal<string>;
  /** null: none yet. */
  verdict: Signal<Verdict | null>;
  progress: Signal<Progress[]>;
  /** null: the answer is from the history. */
  exchange: Signal<Exchange | null>;
}
