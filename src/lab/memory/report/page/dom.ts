/**
 * The types of the browser's interfaces, as far as the page uses them. Deno's default types have
 * none, and JSR refuses a reference to the library that has.
 *
 * @module
 */

/** An event of the mouse, the keyboard or a field. */
interface PageEvent {
  readonly key: string;
  readonly ctrlKey: boolean;
  readonly metaKey: boolean;
  readonly altKey: boolean;
  readonly shiftKey: boolean;
  readonly button: number;
  readonly buttons: number;
  readonly pointerType: string;
  readonly pointerId: number;
  readonly deltaMode: number;
  readonly deltaX: number;
  readonly deltaY: number;
  readonly offsetX: number;
  readonly offsetY: number;
  readonly clientX: number;
  readonly clientY: number;
  readonly matches: boolean;
  preventDefault(): void;
}

export type MouseEvent = Pick<PageEvent, "offsetX" | "offsetY">;

interface EventSource {
  addEventListener(
    type: string,
    listener: (event: PageEvent) => void,
    options?: { readonly passive?: boolean },
  ): void;
}

export interface Node {
  textContent: string | null;
}

export interface HTMLElement extends Node, EventSource {
  className: string;
  hidden: boolean;
  title: string;
  id: string;
  readonly style: Record<string, string>;
  readonly dataset: Record<string, string | undefined>;
  readonly offsetWidth: number;
  readonly offsetHeight: number;
  readonly clientWidth: number;
  readonly clientHeight: number;
  scrollTop: number;
  setPointerCapture(pointer: number): void;
  append(...children: readonly (Node | string)[]): void;
  replaceChildren(...children: readonly (Node | string)[]): void;
  setAttribute(name: string, value: string): void;
}

export interface HTMLInputElement extends HTMLElement {
  value: string;
  checked: boolean;
}

interface HTMLButtonElement extends HTMLElement {
  type: string;
}

export interface HTMLSelectElement extends HTMLElement {
  value: string;
}

export interface CanvasPattern {
  setTransform(): void;
}

export interface CanvasRenderingContext2D {
  fillStyle: unknown;
  strokeStyle: unknown;
  font: string;
  globalAlpha: number;
  lineWidth: number;
  textAlign: string;
  textBaseline: string;
  arc(x: number, y: number, radius: number, start: number, end: number): void;
  beginPath(): void;
  clearRect(x: number, y: number, width: number, height: number): void;
  createPattern(tile: HTMLCanvasElement, repetition: string): CanvasPattern | null;
  fill(): void;
  fillRect(x: number, y: number, width: number, height: number): void;
  fillText(text: string, x: number, y: number): void;
  lineTo(x: number, y: number): void;
  measureText(text: string): { readonly width: number };
  moveTo(x: number, y: number): void;
  setLineDash(segments: readonly number[]): void;
  setTransform(a: number, b: number, c: number, d: number, e: number, f: number): void;
  stroke(): void;
  strokeRect(x: number, y: number, width: number, height: number): void;
}

export interface HTMLCanvasElement extends HTMLElement {
  width: number;
  height: number;
  getContext(kind: "2d"): CanvasRenderingContext2D | null;
}

/** The elements that the page makes, by name. */
export interface HTMLElementTagNameMap extends Record<string, HTMLElement> {
  button: HTMLButtonElement;
  canvas: HTMLCanvasElement;
}

export interface Document {
  readonly documentElement: HTMLElement;
  getElementById(id: string): HTMLElement | null;
  createElement<Name extends keyof HTMLElementTagNameMap>(name: Name): HTMLElementTagNameMap[Name];
}

/** What the window of the page has. */
export interface Window {
  readonly document: Document;
  readonly devicePixelRatio: number;
  readonly innerWidth: number;
  readonly innerHeight: number;
  readonly ResizeObserver: new (changed: () => void) => { observe(element: HTMLElement): void };
  requestAnimationFrame(draw: () => void): void;
  getComputedStyle(element: HTMLElement): { getPropertyValue(name: string): string };
  matchMedia(query: string): EventSource & { readonly matches: boolean };
}
