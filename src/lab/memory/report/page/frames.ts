/**
 * Drawing at most once per frame.
 *
 * @module
 */

import type { PageWindow } from "./dom.ts";

/** Something that is drawn when asked for, however often, once before the next frame. */
export class Frames {
  readonly #window: PageWindow;
  readonly #draw: () => void;
  #isRequested = false;

  /** Takes what draws. */
  constructor(window: PageWindow, draw: () => void) {
    this.#window = window;
    this.#draw = draw;
  }

  /** Asks for it to be drawn. */
  request(): void {
    if (this.#isRequested) return;
    this.#isRequested = true;
    this.#window.requestAnimationFrame(() => {
      this.#isRequested = false;
      this.#draw();
    });
  }
}
