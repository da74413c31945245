/**
 * HTML in which text stays text.
 *
 * @module
 */

/** A piece of HTML. */
export class Markup {
  /** As it is written. */
  readonly text: string;

  /** Takes text that is HTML already. */
  constructor(text: string) {
    this.text = text;
  }
}

/** What may stand in a template: text and numbers are escaped, HTML and lists of it are not. */
export type MarkupValue = string | number | Markup | readonly Markup[];

const ENTITIES: Readonly<Record<string, string>> = {
  "&": "&amp;",
  "<": "&lt;",
  ">": "&gt;",
  '"': "&quot;",
  "'": "&#39;",
};

function written(value: MarkupValue): string {
  if (value instanceof Markup) return value.text;
  if (typeof value === "object") return value.map(({ text }) => text).join("");
  return String(value).replace(/[&<>"']/g, (character) => ENTITIES[character]!);
}

/** HTML from a template; what is put in is escaped, unless it is HTML itself. */
export function markup(parts: TemplateStringsArray, ...values: MarkupValue[]): Markup {
  return new Markup(String.raw({ raw: parts }, ...values.map(written)));
}

/**
 * A value as JSON inside a `script` element. No `<` is left in it, so that nothing in it can end
 * the element or begin a comment there.
 */
export function embeddedJson(value: unknown): Markup {
  return new Markup(JSON.stringify(value).replaceAll("<", "\\u003c"));
}
