/**
 * The stack and the memo of a pickle's machine.
 *
 * @module
 */

import type { PickleLimits, PickleValue } from "./pickle_value.ts";

/** A list, tuple or dictionary in the making. */
export class Container {
  /** What it becomes. */
  readonly value: PickleValue[] | Map<PickleValue, PickleValue>;
  /** How many containers are inside each other here, this one included. */
  depth = 1;
  /**
   * Whether it is inside another one or was taken a second time. It may not change any more then,
   * which is what keeps values free of cycles, and depths right.
   */
  isComplete = false;

  /** Starts with an empty value, or a tuple's with all. */
  constructor(value: PickleValue[] | Map<PickleValue, PickleValue>) {
    this.value = value;
  }
}

/** What is on the stack. */
export type StackEntry = Container | Exclude<PickleValue, readonly PickleValue[]>;

/** The stack and the memo. What changes it returns true, so that opcodes can be written briefly. */
export class PickleStack {
  readonly #entries: StackEntry[] = [];
  /** The heights at which marks are. */
  readonly #marks: number[] = [];
  readonly #memo = new Map<number, StackEntry>();
  readonly #limits: Required<PickleLimits>;
  readonly #refuse: (offence: string) => never;
  #containers = 0;
  #values = 0;

  /** Starts empty; `refuse` throws the error for the current opcode. */
  constructor(limits: Required<PickleLimits>, refuse: (offence: string) => never) {
    this.#limits = limits;
    this.#refuse = refuse;
  }

  /** A new container. */
  container(value: PickleValue[] | Map<PickleValue, PickleValue>): Container {
    if (++this.#containers > this.#limits.maximumContainers) {
      this.#refuse(
        `makes more than ${this.#limits.maximumContainers} lists, tuples and dictionaries`,
      );
    }
    return new Container(value);
  }

  /** Pushes a value. */
  push(entry: StackEntry): true {
    this.#limitLength(this.#entries.length + 1, "the stack");
    this.#entries.push(entry);
    return true;
  }

  /** Takes the top value away and returns it. */
  pop(): StackEntry {
    if (this.#entries.length <= this.#floor()) this.#refuse("needs a value and there is none");
    return this.#entries.pop()!;
  }

  /** Takes the top values away, the top one last. */
  popMany(count: number): StackEntry[] {
    const have = this.#entries.length - this.#floor();
    if (have < count) this.#refuse(`needs ${count} values and there are ${have}`);
    return this.#entries.splice(this.#entries.length - count);
  }

  /** Takes all values above the last mark away, and the mark. */
  popToMark(): StackEntry[] {
    const height = this.#marks.pop();
    if (height === undefined) this.#refuse("needs a MARK and there is none");
    return this.#entries.splice(height);
  }

  /** Takes the top value away, or the mark that is there. */
  drop(): true {
    if (this.#entries.length === this.#marks.at(-1)) this.#marks.pop();
    else this.pop();
    return true;
  }

  /** Sets a mark. */
  mark(): true {
    this.#limitLength(this.#marks.length + 1, "the marks");
    this.#marks.push(this.#entries.length);
    return true;
  }

  /** Pushes the top value once more. */
  duplicate(): true {
    return this.push(this.#shared(this.#top()));
  }

  /** Makes a tuple of values and pushes it. */
  pushTuple(items: readonly StackEntry[]): true {
    const tuple = this.container([]);
    this.push(tuple);
    this.fillList(items);
    tuple.isComplete = true;
    return true;
  }

  /** Puts values into the list or dictionary on the top. */
  fill(items: readonly StackEntry[]): true {
    const top = this.#top();
    return top instanceof Container && top.value instanceof Map
      ? this.fillDictionary(items)
      : this.fillList(items);
  }

  /** Puts values at the end of the list on the top. */
  fillList(items: readonly StackEntry[]): true {
    const list = this.#changeable("list");
    const values = list.value;
    if (!Array.isArray(values)) this.#refuse("needs a list and there is a dictionary");
    this.#limitLength(values.length + items.length, "the list");
    this.#limitValues(items.length);
    for (const item of items) values.push(this.#inside(list, item));
    return true;
  }

  /** Puts keys and values, one after the other, into the dictionary on the top. */
  fillDictionary(items: readonly StackEntry[]): true {
    const dictionary = this.#changeable("dictionary");
    const values = dictionary.value;
    if (!(values instanceof Map)) this.#refuse("needs a dictionary and there is a list");
    if (items.length % 2 !== 0) this.#refuse("needs a value for every key");
    this.#limitLength(values.size + items.length / 2, "the dictionary");
    this.#limitValues(items.length);
    for (let index = 0; index < items.length; index += 2) {
      const key = items[index]!;
      if (typeof key === "object" && key !== null) {
        this.#refuse("needs keys that are texts, numbers, booleans or None");
      }
      values.set(key, this.#inside(dictionary, items[index + 1]!));
    }
    return true;
  }

  /** Remembers the top value under a number, the next free one by default. */
  put(number: number | undefined): true {
    this.#limitLength(this.#memo.size + 1, "the memo");
    this.#memo.set(number ?? this.#memo.size, this.#top());
    return true;
  }

  /** Pushes a remembered value. */
  get(number: number): true {
    const entry = this.#memo.get(number);
    if (entry === undefined) this.#refuse(`needs memo ${number} and there is none`);
    return this.push(this.#shared(entry));
  }

  /** The one value that is left at the end. */
  result(): PickleValue {
    const [entry] = this.#entries;
    if (entry === undefined || this.#entries.length > 1 || this.#marks.length > 0) {
      this.#refuse(
        `must find one value and no MARK: there are ${this.#entries.length} and ` +
          `${this.#marks.length}`,
      );
    }
    return entry instanceof Container ? entry.value : entry;
  }

  #limitLength(length: number, what: string): void {
    const limit = this.#limits.maximumLength;
    if (length > limit) this.#refuse(`makes ${what} longer than ${limit} values`);
  }

  #limitValues(more: number): void {
    this.#values += more;
    const limit = this.#limits.maximumValues;
    if (this.#values > limit) {
      this.#refuse(`makes the lists and dictionaries hold over ${limit} values`);
    }
  }

  #floor(): number {
    return this.#marks.at(-1) ?? 0;
  }

  #top(): StackEntry {
    if (this.#entries.length <= this.#floor()) this.#refuse("needs a value and there is none");
    return this.#entries.at(-1)!;
  }

  #changeable(what: string): Container {
    const top = this.#top();
    if (!(top instanceof Container)) this.#refuse(`needs a ${what} and there is none`);
    if (top.isComplete) {
      this.#refuse(`changes a ${what} that is used elsewhere and could come to contain itself`);
    }
    return top;
  }

  /** A value that comes a second time. */
  #shared(entry: StackEntry): StackEntry {
    if (entry instanceof Container) entry.isComplete = true;
    return entry;
  }

  /** The value of what is put into a container. */
  #inside(parent: Container, entry: StackEntry): PickleValue {
    if (!(entry instanceof Container)) return entry;
    entry.isComplete = true;
    parent.depth = Math.max(parent.depth, entry.depth + 1);
    if (parent.depth > this.#limits.maximumDepth) {
      this.#refuse(`puts more than ${this.#limits.maximumDepth} containers inside each other`);
    }
    return entry.value;
  }
}
