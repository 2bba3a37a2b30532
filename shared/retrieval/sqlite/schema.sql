CREATE TABLE files (
    sourcefile TEXT PRIMARY KEY, fingerprint TEXT NOT NULL, left_out TEXT NOT NULL DEFAULT ''
) STRICT, WITHOUT ROWID;
-- AUTOINCREMENT never reuses a rowid: a search during a replacement can miss a passage, but cannot return a wrong one.
CREATE TABLE passages (
    rowid INTEGER PRIMARY KEY AUTOINCREMENT,
    id TEXT NOT NULL UNIQUE,
    content TEXT NOT NULL,
    sourcepage TEXT NOT NULL,
    sourcefile TEXT NOT NULL REFERENCES files ON DELETE RESTRICT,
    category TEXT,
    oids TEXT NOT NULL,
    groups TEXT NOT NULL,
    title TEXT NOT NULL DEFAULT '',
    headings TEXT NOT NULL DEFAULT '[]',
    table_head TEXT NOT NULL DEFAULT '',
    date TEXT NOT NULL DEFAULT '',
    sensitivity TEXT NOT NULL DEFAULT ''
) STRICT;
CREATE INDEX passages_by_file ON passages (sourcefile);
-- The terms of each passage in the form that ranking reads: two bytes a term.
CREATE TABLE stemmed (
    rowid INTEGER PRIMARY KEY, language TEXT NOT NULL, terms BLOB NOT NULL, context BLOB NOT NULL
) STRICT;
CREATE TABLE languages (
    language TEXT PRIMARY KEY, passages INTEGER NOT NULL, terms INTEGER NOT NULL
) STRICT, WITHOUT ROWID;
-- Which passages have a term, and neither how often nor where: that is in `stemmed`.
CREATE VIRTUAL TABLE passage_terms USING fts5 (
    terms, content = '', contentless_delete = 1, detail = none, tokenize = 'ascii'
);
CREATE VIRTUAL TABLE vocabulary USING fts5vocab (passage_terms, row);
CREATE TRIGGER stemmed_added AFTER INSERT ON stemmed BEGIN
    INSERT INTO languages VALUES (new.language, 1, length(new.terms) / 2) ON CONFLICT DO UPDATE
    SET passages = passages + 1, terms = terms + excluded.terms;
END;
CREATE TRIGGER stemmed_removed AFTER DELETE ON stemmed BEGIN
    DELETE FROM passage_terms WHERE rowid = old.rowid;
    UPDATE languages SET passages = passages - 1, terms = terms - length(old.terms) / 2
    WHERE language = old.language;
END;
-- At most one row: the model of the vectors in `passage_vectors`, a table that is made with the first vector.
CREATE TABLE embedding (model TEXT NOT NULL, dimensions INTEGER NOT NULL) STRICT;
-- Whose vector each row of `passage_vectors` is: a passage can have several, one for each of its parts.
CREATE TABLE vector_parts (rowid INTEGER PRIMARY KEY AUTOINCREMENT, passage INTEGER NOT NULL) STRICT;
CREATE INDEX vector_parts_by_passage ON vector_parts (passage);
PRAGMA user_version = 9;
