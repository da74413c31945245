/**
 * The part of the web platform that the page uses, as types.
 *
 * The library `dom` of TypeScript would declare some hundred globals, `name` and `event` among
 * them, in every module of the package. A test holds that the browser's own types satisfy these.
 *
 * @module
 */

/** An event of any kind. */
export interface PageEvent {
  /** Keeps the browser from doing what it would do. */
  preventDefault(): void;
}

/** An event of a mouse, a pen or a finger. */
export interface PagePointerEvent extends PageEvent {
  /** Which pointer. */
  readonly pointerId: number;
  /** Whether a mouse, a pen or a finger. */
  readonly pointerType: string;
  /** From the left of the element, in CSS pixels. */
  readonly offsetX: number;
  /** From the top of the element. */
  readonly offsetY: number;
  /** From the left of the window. */
  readonly clientX: number;
  /** From the top of the window. */
  readonly clientY: number;
  /** Bits of the buttons that are down. */
  readonly buttons: number;
  /** The button that went down or up: 0 is the main one, a pen or a finger. */
  readonly button: number;
}

/** A turn of the wheel. */
export interface PageWheelEvent extends PagePointerOffset, PageEvent {
  /** Sideways, in units of `deltaMode`. */
  readonly deltaX: number;
  /** Downwards. */
  readonly deltaY: number;
  /** 0: pixels, 1: lines, 2: pages. */
  readonly deltaMode: number;
  /** Whether Control is down; also what a pinch on a touchpad looks like. */
  readonly ctrlKey: boolean;
  /** Whether Command is down. */
  readonly metaKey: boolean;
}

/** Where a wheel was turned. */
export interface PagePointerOffset {
  /** From the left of the element, in CSS pixels. */
  readonly offsetX: number;
  /** From the top of the element. */
  readonly offsetY: number;
}

/** A key. */
export interface PageKeyEvent extends PageEvent {
  /** Its name. */
  readonly key: string;
  /** Whether Shift is down. */
  readonly shiftKey: boolean;
  /** Whether Control is down. */
  readonly ctrlKey: boolean;
  /** Whether Command is down. */
  readonly metaKey: boolean;
  /** Whether Alt is down. */
  readonly altKey: boolean;
}

/** Which event brings what. */
export interface PageEvents {
  /** A pointer goes down. */
  pointerdown: PagePointerEvent;
  /** A pointer moves. */
  pointermove: PagePointerEvent;
  /** A pointer goes up. */
  pointerup: PagePointerEvent;
  /** A pointer is taken away, by scrolling with a finger for instance. */
  pointercancel: PagePointerEvent;
  /** A pointer leaves the element. */
  pointerleave: PagePointerEvent;
  /** The wheel turns. */
  wheel: PageWheelEvent;
  /** A key goes down. */
  keydown: PageKeyEvent;
  /** A button is used, with any device. */
  click: PageEvent;
  /** A value has changed. */
  change: PageEvent;
  /** A value is being changed. */
  input: PageEvent;
  /** Something was scrolled. */
  scroll: PageEvent;
  /** The element is no longer what keys go to. */
  blur: PageEvent;
}

/** What events come from. */
export interface PageEventTarget {
  /** Hears events. */
  addEventListener(
    type: string,
    listener: (event: PageEvent) => void,
    options?: { passive?: boolean },
  ): void;
}

/** An element. */
export interface PageElement extends PageEventTarget {
  /** Its text. */
  textContent: string | null;
  /** Its classes. */
  className: string;
  /** What a pointer that rests on it shows. */
  title: string;
  /** Whether it is not there; browsers know a third state by name. */
  hidden: boolean | string;
  /** Its style, by property. */
  readonly style: {
    /** From the left of what it is placed in. */
    left: string;
    /** From the top. */
    top: string;
    /** Its width. */
    width: string;
    /** Its height. */
    height: string;
    /** What the pointer looks like over it. */
    cursor: string;
  };
  /** Its width inside, in CSS pixels. */
  readonly clientWidth: number;
  /** Its height inside. */
  readonly clientHeight: number;
  /** Its width with its border. */
  readonly offsetWidth: number;
  /** Its height with its border. */
  readonly offsetHeight: number;
  /** How far its content is scrolled. */
  scrollTop: number;
  /** Adds elements and text at its end; see `makeElement()`. */
  append(...children: never[]): void;
  /** Takes all children away and adds these; see `fillElement()`. */
  replaceChildren(...children: never[]): void;
  /** Sets an attribute. */
  setAttribute(name: string, value: string): void;
  /** Makes it what keys go to. */
  focus(options?: { preventScroll?: boolean }): void;
  /** Has the events of a pointer, also outside of it. */
  setPointerCapture(pointer: number): void;
}

/** An element of a form. */
export interface PageField extends PageElement {
  /** What is in it. */
  value: string;
  /** Whether it is ticked. */
  checked: boolean;
}

/** A pattern to fill with. */
export type PagePattern = object;

/** Draws on a canvas. */
export interface PageContext {
  /** What areas are filled with. */
  fillStyle: unknown;
  /** What lines are drawn with. */
  strokeStyle: unknown;
  /** How wide lines are. */
  lineWidth: number;
  /** How much of it is seen. */
  globalAlpha: number;
  /** The font. */
  font: string;
  /** Where text lies to its x. */
  textAlign: "left" | "right" | "center" | "start" | "end";
  /** Where text lies to its y. */
  textBaseline: "top" | "middle" | "bottom" | "alphabetic" | "hanging" | "ideographic";
  /** Maps units to pixels. */
  setTransform(a: number, b: number, c: number, d: number, e: number, f: number): void;
  /** Empties a rectangle. */
  clearRect(x: number, y: number, width: number, height: number): void;
  /** Fills a rectangle. */
  fillRect(x: number, y: number, width: number, height: number): void;
  /** Draws the outline of a rectangle. */
  strokeRect(x: number, y: number, width: number, height: number): void;
  /** Begins a path. */
  beginPath(): void;
  /** Ends a path where it began. */
  closePath(): void;
  /** Goes to a point. */
  moveTo(x: number, y: number): void;
  /** Draws to a point. */
  lineTo(x: number, y: number): void;
  /** A part of a circle. */
  arc(x: number, y: number, radius: number, start: number, end: number): void;
  /** A rectangle. */
  rect(x: number, y: number, width: number, height: number): void;
  /** Fills the path. */
  fill(): void;
  /** Draws the path. */
  stroke(): void;
  /** Draws text. */
  fillText(text: string, x: number, y: number): void;
  /** How wide a text is. */
  measureText(text: string): { readonly width: number };
  /** How lines are broken. */
  setLineDash(segments: number[]): void;
  /** A pattern of a picture that is repeated. */
  createPattern(image: never, repetition: string): PagePattern | null;
}

/** A canvas. */
export interface PageCanvas extends PageElement {
  /** Its width in its own pixels. */
  width: number;
  /** Its height in its own pixels. */
  height: number;
  /** What draws on it. */
  getContext(kind: "2d"): PageContext | null;
}

/** The document. */
export interface PageDocument {
  /** The root element. */
  readonly documentElement: PageElement;
  /** An element by name. */
  getElementById(id: string): PageElement | null;
  /** A new element. */
  createElement(name: string): PageElement;
}

/** The window. */
export interface PageWindow extends PageEventTarget {
  /** The document. */
  readonly document: PageDocument;
  /** Pixels of the screen per CSS pixel. */
  readonly devicePixelRatio: number;
  /** The width of the page, in CSS pixels. */
  readonly innerWidth: number;
  /** The height of the page. */
  readonly innerHeight: number;
  /** Calls back before the next frame. */
  requestAnimationFrame(callback: (time: number) => void): number;
  /** The style that holds for an element. */
  getComputedStyle(element: never): { getPropertyValue(name: string): string };
  /** Whether something holds for the screen. */
  matchMedia(query: string): PageEventTarget;
  /** Bytes from base64, each as a character. */
  atob(text: string): string;
  /** The clock. */
  readonly performance: {
    /** Notes the time under a name. */
    mark(name: string): unknown;
  };
  /** Tells when elements change their size. */
  readonly ResizeObserver: new (callback: () => void) => {
    /** Watches an element. */
    observe(element: never): void;
  };
}
