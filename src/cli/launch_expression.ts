/**
 * Launch parameters as expressions: `ceil(elements / (BLOCK * 4))`.
 *
 * @module
 */

import { UsageError } from "./command.ts";

/** The numbers that names stand for. */
export type NamedNumbers = ReadonlyMap<string, number>;

/** An expression that was read. */
export type LaunchExpression = (names: NamedNumbers) => number;

const FUNCTIONS: Readonly<Record<string, (...values: number[]) => number>> = {
  ceil: (value = NaN) => Math.ceil(value),
  floor: (value = NaN) => Math.floor(value),
  min: Math.min,
  max: Math.max,
};

const TOKEN = /\s*(?:(\d+(?:\.\d+)?)|([A-Za-z_]\w*)|([-+*/%(),]))/y;

/** Deeper than anybody writes, and far from where recursion ends. */
const MOST_DEPTH = 100;

/** Reads one text from left to right. */
class ExpressionReader {
  readonly #tokens: string[] = [];
  readonly #refuse: (reason: string) => never;
  readonly #names: ReadonlySet<string>;
  #next = 0;
  #depth = 0;

  constructor(text: string, names: ReadonlySet<string>, refuse: (reason: string) => never) {
    this.#refuse = refuse;
    this.#names = names;
    const trimmed = text.trimEnd();
    TOKEN.lastIndex = 0;
    while (TOKEN.lastIndex < trimmed.length) {
      const at = TOKEN.lastIndex;
      const match = TOKEN.exec(trimmed);
      if (match === null) refuse(`${JSON.stringify(trimmed.slice(at).trim())} is no part of one`);
      this.#tokens.push(match[0].trim());
    }
  }

  /** The extents that commas part. */
  readList(): LaunchExpression[] {
    const list = [this.#sum()];
    while (this.#take(",")) list.push(this.#sum());
    const rest = this.#tokens[this.#next];
    if (rest !== undefined) this.#refuse(`there is "${rest}" where it should end`);
    return list;
  }

  #sum(): LaunchExpression {
    if (++this.#depth > MOST_DEPTH) this.#refuse("it is too deep");
    let value = this.#product();
    for (;;) {
      const left = value;
      if (this.#take("+")) value = both(left, this.#product(), (one, other) => one + other);
      else if (this.#take("-")) value = both(left, this.#product(), (one, other) => one - other);
      else break;
    }
    this.#depth--;
    return value;
  }

  #product(): LaunchExpression {
    let value = this.#factor();
    for (;;) {
      const left = value;
      if (this.#take("*")) value = both(left, this.#factor(), (one, other) => one * other);
      else if (this.#take("/")) value = both(left, this.#factor(), (one, other) => one / other);
      else if (this.#take("%")) value = both(left, this.#factor(), (one, other) => one % other);
      else return value;
    }
  }

  #factor(): LaunchExpression {
    const token = this.#tokens[this.#next++];
    if (token === undefined) this.#refuse("it ends too soon");
    if (token === "(") return this.#closed();
    if (/^\d/.test(token)) return () => Number(token);
    if (!/^\w/.test(token)) this.#refuse(`there is "${token}" where a number or name should be`);
    return Object.hasOwn(FUNCTIONS, token) ? this.#call(token) : this.#name(token);
  }

  #closed(): LaunchExpression {
    const value = this.#sum();
    if (!this.#take(")")) this.#refuse('a ")" is missing');
    return value;
  }

  #call(name: string): LaunchExpression {
    if (!this.#take("(")) this.#refuse(`${name} must be followed by "("`);
    const values = [this.#sum()];
    while (this.#take(",")) values.push(this.#sum());
    if (!this.#take(")")) this.#refuse('a ")" is missing');
    const isOfOne = name === "ceil" || name === "floor";
    if (isOfOne && values.length !== 1) this.#refuse(`${name} takes one value`);
    return (names) => FUNCTIONS[name]!(...values.map((value) => value(names)));
  }

  #name(name: string): LaunchExpression {
    if (!this.#names.has(name)) {
      this.#refuse(`"${name}" is none of ${[...this.#names].join(", ")}`);
    }
    return (names) => names.get(name) ?? NaN;
  }

  #take(token: string): boolean {
    if (this.#tokens[this.#next] !== token) return false;
    this.#next++;
    return true;
  }
}

function both(
  left: LaunchExpression,
  right: LaunchExpression,
  compute: (one: number, other: number) => number,
): LaunchExpression {
  return (names) => compute(left(names), right(names));
}

/**
 * Reads expressions that commas part: integers, names, `+ - * / %`, parentheses, `ceil`, `floor`,
 * `min` and `max`. `/` divides exactly: 5 / 2 is 2.5.
 *
 * @param option The option that the text is of, as messages say it.
 * @param names What may be named.
 * @throws {UsageError} If it is none.
 */
export function parseLaunchExpressions(
  option: string,
  text: string,
  names: ReadonlySet<string>,
): LaunchExpression[] {
  const refuse = (reason: string): never => {
    throw new UsageError(
      `Cannot use --${option} as it must be an expression such as ceil(elements / 256): in ` +
        `${JSON.stringify(text)} ${reason}`,
    );
  };
  return new ExpressionReader(text, names, refuse).readList();
}
