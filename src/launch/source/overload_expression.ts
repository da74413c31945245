/**
 * How one of several functions of a name is told to a compiler: by a cast to its own type, which is
 * a constant expression to all of them.
 *
 * @module
 */

/** A kernel's name and the types of its parameters. */
export interface Overload {
  /** The name that others have too. */
  readonly name: string;
  /** The types, with commas between them. */
  readonly types: string;
}

const CAST = /^static_cast<void \(\*\)\((.*?)\)>\((.+)\)$/s;

/** The expression that chooses an overload. */
export function overloadExpression({ name, types }: Overload): string {
  return `static_cast<void (*)(${types})>(${name})`;
}

/** The overload that an expression chooses; undefined where it is a plain name. */
export function overloadIn(expression: string): Overload | undefined {
  // As most are plain names: the first use of a regular expression takes long.
  if (!expression.startsWith("static_cast<")) return undefined;
  const [, types, name] = CAST.exec(expression) ?? [];
  return types === undefined || name === undefined ? undefined : { name, types };
}

/** An expression as people read it: of an overload `add(const float*, int)`. */
export function readableExpression(expression: string): string {
  const overload = overloadIn(expression);
  return overload === undefined ? expression : `${overload.name}(${overload.types})`;
}
