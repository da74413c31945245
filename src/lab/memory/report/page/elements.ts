/**
 * Elements of the page: finding and making them, and hearing their events.
 *
 * @module
 */

import type {
  PageCanvas,
  PageDocument,
  PageElement,
  PageEvent,
  PageEvents,
  PageEventTarget,
  PageField,
} from "./dom.ts";

/** An element by name; its absence is a defect of the page. */
export function elementOf(document: PageDocument, id: string): PageElement {
  const element = document.getElementById(id);
  if (element === null) throw new Error(`Cannot find the element ${id} of the page`);
  return element;
}

/** A canvas by name. */
export function canvasOf(document: PageDocument, id: string): PageCanvas {
  return elementOf(document, id) as PageCanvas;
}

/** An element of a form by name. */
export function fieldOf(document: PageDocument, id: string): PageField {
  return elementOf(document, id) as PageField;
}

/** A new element with text. */
export function makeElement(
  document: PageDocument,
  name: string,
  className: string,
  ...children: (PageElement | string)[]
): PageElement {
  const element = document.createElement(name);
  if (className !== "") element.className = className;
  // Every element here is the browser's, which would not take one that were only of this type.
  element.append(...children as never[]);
  return element;
}

/** Puts elements and text into an element, in place of what was there. */
export function fillElement(element: PageElement, ...children: (PageElement | string)[]): void {
  element.replaceChildren(...children as never[]);
}

/** Hears an event, with what it brings. */
export function listen<Type extends keyof PageEvents>(
  target: PageEventTarget,
  type: Type,
  listener: (event: PageEvents[Type]) => void,
): void {
  // The wheel scrolls the page unless it is told not to, which a passive listener cannot.
  target.addEventListener(type, listener as (event: PageEvent) => void, { passive: false });
}
