/**
 * Short forms of objects, for `console.log()` and Jupyter.
 *
 * @module
 */

/** Fields by name; those that are `undefined` or `false`, or that throw, are left out. */
type Fields<Shown> = Readonly<Record<string, (shown: Shown) => unknown>>;

interface JupyterForm<Shown> {
  /** Fields that only a notebook shows: they may be promises. */
  readonly more?: Fields<Shown>;
  /** Whether the object is data, which JSON takes as it is. */
  readonly isData?: boolean;
  /** The HTML; a table of the fields by default. */
  readonly html?: (shown: Shown) => string;
}

/** The digits of a fraction. */
const PRECISION = 4;

/** Shorter forms are one line. */
const LINE = 120;

function shortForm<Shown>(shown: Shown, fields: Fields<Shown>): Record<string, unknown> {
  const form: Record<string, unknown> = {};
  for (const [name, read] of Object.entries(fields)) {
    try {
      const value = read(shown);
      if (value === undefined || value === false) continue;
      const isFraction = typeof value === "number" && !Number.isInteger(value);
      form[name] = isFraction ? Number(value.toPrecision(PRECISION)) : value;
    } catch {
      // A closed object, or the prototype of its class, has no such field.
    }
  }
  return form;
}

function escapeHtml(text: string): string {
  return text.replaceAll(/[&<>"]/g, (character) => `&#${character.charCodeAt(0)};`);
}

/** A page as a part of another. */
export function frameHtml(page: string): string {
  return `<iframe srcdoc="${escapeHtml(page)}" style="width:100%;height:720px;border:0"></iframe>`;
}

function tableHtml(name: string, form: Readonly<Record<string, unknown>>): string {
  const rows = Object.entries(form).map(([field, value]) => {
    const text = typeof value === "string" ? value : Deno.inspect(value, { colors: false });
    return `<tr><th>${escapeHtml(field)}</th><td>${
      text.includes("\n") ? `<pre>${escapeHtml(text)}</pre>` : escapeHtml(text)
    }</td></tr>`;
  });
  return `<table><caption>${escapeHtml(name)}</caption>${rows.join("")}</table>`;
}

/**
 * Gives an object, or all objects of a class through its prototype, a short form: a name and some
 * fields. `console.log()` shows it in one to six lines, and Jupyter as HTML. Neither ever throws.
 * `JSON.stringify()` writes the fields of the objects of a class, unless they are data: libraries and
 * contexts behind them say nothing to a reader.
 *
 * @returns The object.
 */
export function displayAs<Shown extends object>(
  target: Shown,
  name: string,
  fields: Fields<Shown>,
  { more = {}, isData = false, html }: JupyterForm<Shown> = {},
): Shown {
  const define = (symbol: string, value: unknown) =>
    Object.defineProperty(target, Symbol.for(symbol), { value, configurable: true });
  define(
    "Deno.customInspect",
    function (this: Shown, inspect: typeof Deno.inspect, options: Deno.InspectOptions) {
      return `${name} ${inspect(shortForm(this, fields), { ...options, breakLength: LINE })}`;
    },
  );
  const isClass = Object.hasOwn(target, "constructor") && !Object.hasOwn(target, "toJSON");
  if (isClass && !isData) {
    Object.defineProperty(target, "toJSON", {
      configurable: true,
      value(this: Shown) {
        return shortForm(this, fields);
      },
    });
  }
  define("Jupyter.display", async function (this: Shown) {
    const form = shortForm(this, fields);
    for (const [field, read] of Object.entries(more)) {
      // Such as the elements of a buffer that is freed.
      const value = await Promise.try(read, this).catch(() => undefined);
      if (value !== undefined) form[field] = value;
    }
    const plain = `${name} ${Deno.inspect(form, { colors: false, breakLength: LINE })}`;
    return { "text/plain": plain, "text/html": html?.(this) ?? tableHtml(name, form) };
  });
  return target;
}
