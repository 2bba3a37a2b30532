/** What a text cites. It is read without the libraries of Markdown, which come with the first answer. */

/** A citation: a name in brackets, which is group 1, and not the label of a link. */
export const CITATION = /\[([^[\]\n]{1,300})\](?!\()/gu;
