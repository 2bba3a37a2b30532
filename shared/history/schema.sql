CREATE TABLE conversations (
    id TEXT PRIMARY KEY,
    owner TEXT NOT NULL,
    title TEXT NOT NULL,
    mode TEXT NOT NULL,
    last_message TEXT NOT NULL DEFAULT '',
    last_updated TEXT NOT NULL,
    message_count INTEGER NOT NULL DEFAULT 0,
    pinned INTEGER NOT NULL DEFAULT FALSE
) STRICT, WITHOUT ROWID;
CREATE INDEX conversations_by_owner ON conversations (owner, last_updated);
CREATE TABLE messages (
    position INTEGER PRIMARY KEY AUTOINCREMENT,
    conversation TEXT NOT NULL REFERENCES conversations ON DELETE CASCADE,
    id TEXT NOT NULL,
    message BLOB NOT NULL,
    UNIQUE (conversation, id)
) STRICT;
