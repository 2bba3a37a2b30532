/** What the playground uses of KaTeX. */
interface Options {
  displayMode: boolean;
  throwOnError: boolean;
  strict: "ignore";
  trust: boolean;
  /** Ems. */
  maxSize: number;
  maxExpand: number;
}
declare const katex: {
  /** @throws the formula cannot be read. */
  render(formula: string, element: HTMLElement, options: Options): void;
};
export default katex;
