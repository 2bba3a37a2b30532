/** What the playground uses of pdfjs-dist: its package with all types has 38 MB. */
export interface Viewport {
  width: number;
  height: number;
  scale: number;
  transform: number[];
}
export interface TextItem {
  str: string;
  transform: number[];
  width: number;
  height: number;
  hasEOL: boolean;
}
export interface TextContent {
  items: TextItem[];
  styles: Record<string, unknown>;
}
export interface PageProxy {
  getViewport(options: { scale: number; rotation?: number }): Viewport;
  render(options: { canvasContext?: CanvasRenderingContext2D | null; canvas?: HTMLCanvasElement | null; viewport: Viewport }): {
    promise: Promise<void>;
    cancel(): void;
  };
  getTextContent(): Promise<TextContent>;
  cleanup(): void;
}
export interface DocumentProxy {
  numPages: number;
  getPage(number: number): Promise<PageProxy>;
  destroy(): Promise<void>;
}
export interface LoadingTask {
  promise: Promise<DocumentProxy>;
  destroy(): Promise<void>;
}
export function getDocument(options: Record<string, unknown>): LoadingTask;
export const GlobalWorkerOptions: { workerSrc: string; workerPort: Worker | null };
export class TextLayer {
  constructor(options: { textContentSource: TextContent | ReadableStream; container: HTMLElement; viewport: Viewport });
  textDivs: HTMLElement[];
  render(): Promise<void>;
  cancel(): void;
}
