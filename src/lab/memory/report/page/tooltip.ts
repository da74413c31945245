/**
 * What a mouse that points at something shows beside it.
 *
 * @module
 */

import { innermostFrame } from "../quantities.ts";
import type { Description } from "./describe.ts";
import type { PageElement, PageWindow } from "./dom.ts";
import { elementOf, fillElement, makeElement } from "./elements.ts";

/** The one tooltip of the page. */
export class Tooltip {
  readonly #window: PageWindow;
  readonly #element: PageElement;

  /** Takes the element of the page. */
  constructor(window: PageWindow) {
    this.#window = window;
    this.#element = elementOf(window.document, "tooltip");
  }

  /** Shows a description near a point of the window, inside of it. */
  show({ title, rows, site }: Description, x: number, y: number): void {
    const { document, innerWidth, innerHeight } = this.#window;
    const element = this.#element;
    fillElement(
      element,
      makeElement(document, "strong", "", title),
      ...rows.slice(1, 4).map(([label, value]) =>
        makeElement(document, "div", "", `${label} ${value}`)
      ),
      makeElement(document, "code", "", site === "" ? "site unknown" : innermostFrame(site)),
    );
    element.hidden = false;
    const left = Math.min(x + 14, innerWidth - element.offsetWidth - 8);
    const below = y + 18;
    const top = below + element.offsetHeight > innerHeight ? y - element.offsetHeight - 12 : below;
    element.style.left = `${Math.max(left, 8)}px`;
    element.style.top = `${Math.max(top, 8)}px`;
  }

  /** Hides it. */
  hide(): void {
    this.#element.hidden = true;
  }
}
