/** What the playground uses of highlight.js, whose package for browsers has no types. */
declare const highlighter: {
  getLanguage(name: string): { name?: string } | undefined;
  highlight(code: string, options: { language: string; ignoreIllegals?: boolean }): { value: string };
  highlightAuto(code: string): { value: string; language?: string };
};
export default highlighter;
