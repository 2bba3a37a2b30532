CREATE TABLE answers (
    id TEXT PRIMARY KEY,
    owner TEXT NOT NULL,
    chat TEXT NOT NULL,
    answer BLOB NOT NULL,
    verdict BLOB
) STRICT, WITHOUT ROWID;
CREATE INDEX answers_by_chat ON answers (owner, chat) WHERE chat != '';
CREATE INDEX judged ON answers (id) WHERE verdict IS NOT NULL;
CREATE INDEX not_judged ON answers (id) WHERE verdict IS NULL;
