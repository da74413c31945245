/**
 * Traces as text: see `memory_trace.ts` for the format.
 *
 * Reading is strict, since a trace that lost a line still looks like one: every event is checked
 * against those before it, and the last line tells how many there are. The comments that follow the
 * first line directly are the trace's description.
 *
 * @module
 */

import { describeValue } from "../../../ffi/describe_value.ts";
import { type MemoryTrace, TRACE_HEADER, type TraceEvent } from "./memory_trace.ts";
import { TraceChecker } from "./trace_checker.ts";
import { TraceError } from "./trace_error.ts";

const SPACE = 32;
const ZERO = 48;
const NINE = 57;

/**
 * Writes a trace as text.
 *
 * The text holds the events and the description; the name is for the file to bear.
 *
 * @throws {TraceError} If an event is none that a trace may hold; the message names its index.
 *
 * @example
 * ```ts
 * import { formatTrace } from "@gridstride/cuda/memory";
 *
 * const text = formatTrace({
 *   name: "one",
 *   description: "One block.",
 *   events: [{ kind: "allocate", block: 0, bytes: 4096, stream: 0 }, { kind: "free", block: 0 }],
 * });
 * console.log(text.split("\n")[2]); // a 0 4096 0
 * ```
 */
export function formatTrace(trace: MemoryTrace): string {
  const checker = new TraceChecker();
  const lines = [TRACE_HEADER, ...descriptionLines(trace.description)];
  trace.events.forEach((event, index) => {
    const offence = checker.check(event);
    if (offence !== undefined) {
      throw new TraceError(`write trace ${trace.name}`, undefined, `events[${index}]: ${offence}`);
    }
    lines.push(lineOf(event));
  });
  lines.push(`end ${trace.events.length}`, "");
  return lines.join("\n");
}

function descriptionLines(description: string): string[] {
  if (description === "") return [];
  return description.split(/\r\n|\r|\n/).map((line) => line === "" ? "#" : `# ${line}`);
}

function lineOf(event: TraceEvent): string {
  switch (event.kind) {
    case "allocate": {
      const line = `a ${event.block} ${event.bytes} ${event.stream}`;
      return event.alignment === undefined ? line : `${line} ${event.alignment}`;
    }
    case "free":
      return `f ${event.block}`;
    case "use":
      return `u ${event.block} ${event.stream}`;
    case "synchronize":
      return `s ${event.stream}`;
    case "dispose":
      return `d ${event.stream}`;
    case "point":
      return `p ${event.name}`;
  }
}

/**
 * Reads a trace from its text.
 *
 * @param text The whole text, lines ended by `\n` or `\r\n`.
 * @param name What the trace is called, by its file as a rule.
 * @throws {TraceError} If it is no trace, corrupt or cut short; the message names the line.
 *
 * @example
 * ```ts
 * import { parseTrace } from "@gridstride/cuda/memory";
 *
 * const trace = parseTrace("gridstride memory trace 1\na 0 4096 0\nf 0\nend 2\n", "one");
 * console.log(trace.events.length); // 2
 * ```
 */
export function parseTrace(text: string, name = "trace"): MemoryTrace {
  return new TraceReader(text, name).read();
}

/** Reads character by character, since cutting lines into fields takes most of the time. */
class TraceReader {
  readonly #text: string;
  readonly #name: string;
  readonly #checker = new TraceChecker();
  readonly #events: TraceEvent[] = [];
  readonly #description: string[] = [];
  #line = 0;
  /** Where the next character to read is. */
  #at = 0;
  /** Where the line ends, without what ends it. */
  #end = 0;
  /** Where the next line begins. */
  #next = 0;

  constructor(text: string, name: string) {
    this.#text = text;
    this.#name = name;
  }

  read(): MemoryTrace {
    this.#readHeader();
    let describes = true;
    while (this.#nextLine()) {
      if (this.#text[this.#at] === "#") {
        if (describes) this.#description.push(this.#slice().replace(/^# ?/, ""));
        continue;
      }
      describes = false;
      if (this.#text.startsWith("end", this.#at)) return this.#readEnd();
      const event = this.#readEvent();
      const offence = this.#checker.check(event);
      if (offence !== undefined) this.#refuse(offence);
      this.#events.push(event);
    }
    throw this.#error(
      `the trace was cut short: its last line must be "end ${this.#events.length}"`,
      this.#line + 1,
    );
  }

  #readHeader(): void {
    this.#nextLine();
    if (this.#slice() === TRACE_HEADER) return;
    this.#line = 1;
    this.#refuse(
      `it must be ${JSON.stringify(TRACE_HEADER)}: it is ${describeValue(this.#slice())}`,
    );
  }

  #readEnd(): MemoryTrace {
    this.#at += 3;
    const count = this.#number("the number of events");
    this.#finish("end");
    if (count !== this.#events.length) {
      this.#refuse(
        `the number of events must be ${this.#events.length}, as many as there are: it is ${count}`,
      );
    }
    while (this.#nextLine()) {
      if (this.#at !== this.#end) this.#refuse(`nothing may follow "end": ${this.#shown()} does`);
    }
    return {
      name: this.#name,
      description: this.#description.join("\n"),
      events: this.#events,
    };
  }

  #readEvent(): TraceEvent {
    const letter = this.#text[this.#at];
    if (this.#at < this.#end) this.#at++;
    switch (letter) {
      case "a":
        return this.#readAllocate();
      case "f":
        return this.#finished({ kind: "free", block: this.#number("block") });
      case "u": {
        const block = this.#number("block");
        return this.#finished({ kind: "use", block, stream: this.#number("stream") });
      }
      case "s":
        return this.#finished({ kind: "synchronize", stream: this.#number("stream") });
      case "d":
        return this.#finished({ kind: "dispose", stream: this.#number("stream") });
      case "p":
        this.#space("name");
        return { kind: "point", name: this.#slice() };
      default:
        return this.#refuse(`an event must begin with a, f, u, s, d, p or end: ${this.#shown()}`);
    }
  }

  #readAllocate(): TraceEvent {
    const block = this.#number("block");
    const bytes = this.#number("bytes");
    const stream = this.#number("stream");
    if (this.#at === this.#end) return { kind: "allocate", block, bytes, stream };
    const alignment = this.#number("alignment");
    return this.#finished({ kind: "allocate", block, bytes, stream, alignment });
  }

  /** Goes to the next line; false when there is none. */
  #nextLine(): boolean {
    if (this.#next >= this.#text.length) return false;
    this.#at = this.#next;
    const newline = this.#text.indexOf("\n", this.#at);
    this.#end = newline < 0 ? this.#text.length : newline;
    this.#next = this.#end + 1;
    if (this.#end > this.#at && this.#text[this.#end - 1] === "\r") this.#end--;
    this.#line++;
    return true;
  }

  #space(field: string): void {
    if (this.#at < this.#end && this.#text.charCodeAt(this.#at) === SPACE) this.#at++;
    else if (this.#at >= this.#end) this.#refuse(`${field} is missing`);
    else this.#refuse(`a space must come before ${field}: ${this.#shown()}`);
  }

  /** Reads a space and a decimal number; one above 2^53 is for the checker to refuse. */
  #number(field: string): number {
    this.#space(field);
    const start = this.#at;
    let value = 0;
    for (; this.#at < this.#end; this.#at++) {
      const code = this.#text.charCodeAt(this.#at);
      if (code < ZERO || code > NINE) break;
      value = value * 10 + (code - ZERO);
    }
    const length = this.#at - start;
    const next = this.#text.charCodeAt(this.#at);
    const endsWell = this.#at === this.#end || next === SPACE;
    const leadingZero = length > 1 && this.#text.charCodeAt(start) === ZERO;
    if (length > 0 && endsWell && !leadingZero) return value;
    const word = /^[^ ]*/.exec(this.#text.slice(start, Math.min(this.#end, start + 64)))![0];
    this.#refuse(`${field} must be a decimal number: it is ${describeValue(word)}`);
  }

  #finished(event: TraceEvent): TraceEvent {
    this.#finish(event.kind);
    return event;
  }

  #finish(what: string): void {
    if (this.#at < this.#end) this.#refuse(`nothing may follow the fields of ${what}`);
  }

  #slice(): string {
    return this.#text.slice(this.#at, this.#end);
  }

  #shown(): string {
    const line = this.#text.slice(this.#text.lastIndexOf("\n", this.#at - 1) + 1, this.#end);
    return `the line is ${describeValue(line)}`;
  }

  #error(offence: string, line: number): TraceError {
    return new TraceError(`read trace ${this.#name}`, line, offence);
  }

  #refuse(offence: string): never {
    throw this.#error(offence, this.#line);
  }
}
