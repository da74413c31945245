/**
 * Memory traces: the requests of a program to a memory pool, in order.
 *
 * A trace as text has one event per line:
 *
 * ```text
 * gridstride memory trace 1
 * # a comment
 * a 0 1048576 0        block 0: allocate 1 MiB on stream 0
 * a 1 4096 0 65536     block 1: allocate 4 KiB on stream 0, aligned to 64 KiB
 * u 1 1                stream 1 uses block 1 too
 * f 0                  free block 0
 * s 0                  the program waited for stream 0
 * d 1                  dispose stream 1
 * p step               a named point: the end of a repeated step
 * end 7                the number of events, to detect truncated files
 * ```
 *
 * Block numbers count the allocations from 0, to detect missing lines. Numbers are decimal. Only a
 * live block is freed or used. No event names a disposed stream; the blocks that it used may stay
 * live. The comments that directly follow the first line are the description of the trace.
 *
 * @module
 */
import { printableText, requireObject } from "../../../ffi/arguments.ts";
import { describeValue } from "../../../ffi/describe_value.ts";

/** The first line of a trace. */
export const TRACE_HEADER = "gridstride memory trace 1";

/**
 * One request of a program.
 * @category Traces
 */
export type TraceEvent =
  | {
    readonly kind: "allocate";
    readonly block: number;
    readonly bytes: number;
    readonly stream: number;
    /** A power of two; absent for the alignment of the pool. */
    readonly alignment?: number;
  }
  | { readonly kind: "free"; readonly block: number }
  | { readonly kind: "use"; readonly block: number; readonly stream: number }
  | { readonly kind: "synchronize"; readonly stream: number }
  | { readonly kind: "dispose"; readonly stream: number }
  | { readonly kind: "point"; readonly name: string };

/**
 * A trace.
 * @category Traces
 */
export interface MemoryTrace {
  /** Its name in tables. */
  readonly name: string;
  /** Its content and origin, in a sentence. */
  readonly description: string;
  /** The events, in order. */
  readonly events: readonly TraceEvent[];
}

/**
 * Thrown when a trace cannot be read, written or replayed.
 *
 * @example
 * ```ts
 * import { TraceError, parseTrace } from "@gridstride/cuda/memory";
 *
 * try {
 *   parseTrace("gridstride memory trace 1\nf 0\n", "mine");
 * } catch (error) {
 *   if (error instanceof TraceError) console.log(error.line); // 2
 * }
 * ```
 * @category Traces
 */
export class TraceError extends Error {
  /** The name of the class, for printed errors. */
  override readonly name = "TraceError";
  /** The line in the file, counted from 1; `undefined` if the error has no line. */
  readonly line: number | undefined;

  /**
   * Creates an error for one place.
   *
   * @param action The failed action, as in "Cannot <action>".
   * @param line The line, if there is one.
   * @param offence The field, the allowed values and the value found.
   */
  constructor(action: string, line: number | undefined, offence: string) {
    const place = line === undefined ? "" : `line ${line}: `;
    // The offence may quote column names from the file.
    super(printableText(`Cannot ${action} as ${place}${offence}`));
    this.line = line;
  }
}

/** Collects the events of a trace and numbers its blocks. */
export class TraceBuilder {
  readonly #events: TraceEvent[] = [];
  #blocks = 0;

  get length(): number {
    return this.#events.length;
  }

  /** Adds an allocation and returns the number of its block. */
  allocate(bytes: number, stream = 0, alignment?: number): number {
    const block = this.#blocks++;
    const event = { kind: "allocate", block, bytes, stream } as const;
    this.#events.push(alignment === undefined ? event : { ...event, alignment });
    return block;
  }

  free(block: number): void {
    this.#events.push({ kind: "free", block });
  }

  freeAll(blocks: readonly number[]): void {
    for (const block of blocks) this.free(block);
  }

  /** Allocates a block and frees it at once, as a kernel does with scratch memory. */
  scratch(bytes: number, stream = 0): void {
    this.free(this.allocate(bytes, stream));
  }

  use(block: number, stream: number): void {
    this.#events.push({ kind: "use", block, stream });
  }

  synchronize(stream: number): void {
    this.#events.push({ kind: "synchronize", stream });
  }

  dispose(stream: number): void {
    this.#events.push({ kind: "dispose", stream });
  }

  point(name: string): void {
    this.#events.push({ kind: "point", name });
  }

  build(name: string, description: string): MemoryTrace {
    return { name, description, events: this.#events };
  }
}

const MAX_STREAM = 2 ** 31 - 1;

/** The largest alignment: the largest power of two that is a safe integer. */
export const MAX_ALIGNMENT: number = 2 ** 52;

/** Checks for a power of two up to {@linkcode MAX_ALIGNMENT}. */
export function isAlignment(value: number): boolean {
  return value >= 1 && value <= MAX_ALIGNMENT && 2 ** Math.round(Math.log2(value)) === value;
}

/** Checks the events of a trace one after the other. */
export class TraceChecker {
  readonly #isLive: boolean[] = [];
  readonly #disposed = new Set<number>();

  /** The number of allocations so far, which is the number of the next block. */
  get blocks(): number {
    return this.#isLive.length;
  }

  /** Takes the next event. Returns its offence, or `undefined` for a valid event. */
  check(event: TraceEvent): string | undefined {
    switch (event.kind) {
      case "allocate":
        return this.#allocate(event.block, event.bytes, event.stream, event.alignment);
      case "free": {
        const offence = this.#liveOffence(event.block, "freed");
        if (offence === undefined) this.#isLive[event.block] = false;
        return offence;
      }
      case "use":
        return this.#liveOffence(event.block, "used") ?? this.#streamOffence(event.stream);
      case "synchronize":
        return this.#streamOffence(event.stream);
      case "dispose": {
        const offence = this.#streamOffence(event.stream);
        if (offence === undefined) this.#disposed.add(event.stream);
        return offence;
      }
      case "point":
        return pointOffence(event.name);
      default:
        return `kind must be allocate, free, use, synchronize, dispose or point: it is ${
          describeValue((event as { kind: unknown }).kind)
        }`;
    }
  }

  #allocate(
    block: number,
    bytes: number,
    stream: number,
    alignment: number | undefined,
  ): string | undefined {
    if (this.#isLive[block] !== undefined) return `block ${block} was allocated before`;
    if (block !== this.blocks) {
      return `block must be ${this.blocks}, the number of allocations so far: it is ${
        describeValue(block)
      }`;
    }
    if (!Number.isSafeInteger(bytes) || bytes < 0) {
      return `bytes must be an integer in 0..${Number.MAX_SAFE_INTEGER}: it is ${
        describeValue(bytes)
      }`;
    }
    if (alignment !== undefined && !isAlignment(alignment)) {
      return `alignment must be a power of two in 1..2^52: it is ${describeValue(alignment)}`;
    }
    const offence = this.#streamOffence(stream);
    if (offence === undefined) this.#isLive.push(true);
    return offence;
  }

  #liveOffence(block: number, verb: string): string | undefined {
    if (this.#isLive[block] === true) return undefined;
    if (this.#isLive[block] === false) return `block ${block} is ${verb} after it was freed`;
    return `block ${describeValue(block)} was never allocated`;
  }

  #streamOffence(stream: number): string | undefined {
    if (!Number.isInteger(stream) || stream < 0 || stream > MAX_STREAM) {
      return `stream must be an integer in 0..${MAX_STREAM}: it is ${describeValue(stream)}`;
    }
    return this.#disposed.has(stream) ? `stream ${stream} was disposed before` : undefined;
  }
}

function pointOffence(name: unknown): string | undefined {
  if (typeof name === "string" && /^[^\s\p{Cc}](?:[^\p{Cc}]*[^\s\p{Cc}])?$/u.test(name)) {
    return undefined;
  }
  return `name must be a text without control characters or outer spaces: it is ${
    describeValue(name)
  }`;
}

/**
 * Writes a trace as text.
 *
 * The text holds the events and the description, but not the name.
 *
 * @param trace The trace.
 * @throws {TraceError} If an event is invalid; the message names its index.
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
 * @category Traces
 */
export function formatTrace(trace: MemoryTrace): string {
  requireTrace(trace, "write a trace");
  const checker = new TraceChecker();
  const lines = [TRACE_HEADER];
  if (trace.description !== "") {
    const description = trace.description.split(/\r\n|\r|\n/);
    lines.push(...description.map((line) => line === "" ? "#" : `# ${line}`));
  }
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

/** Refuses anything but an object with the fields of a trace; a checker checks the events. */
export function requireTrace(trace: unknown, action: string): asserts trace is MemoryTrace {
  requireObject(trace, "trace", action);
  const { name, description, events } = trace as { [Field in keyof MemoryTrace]?: unknown };
  requireText(name, "trace.name", action);
  requireText(description, "trace.description", action);
  const found = Array.isArray(events)
    ? events.findIndex((event) => typeof event !== "object" || event === null)
    : undefined;
  if (found === -1) return;
  const place = found === undefined
    ? "trace.events must be an array"
    : `trace.events[${found}] must be an object`;
  const value = found === undefined ? events : (events as unknown[])[found];
  throw new TypeError(`Cannot ${action} as ${place}: it is ${describeValue(value)}`);
}

function requireText(value: unknown, name: string, action: string): asserts value is string {
  if (typeof value === "string") return;
  throw new TypeError(`Cannot ${action} as ${name} must be a text: it is ${describeValue(value)}`);
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
 * @param text The whole text, with lines that end in `\n` or `\r\n`.
 * @param name The name of the trace, usually that of its file.
 * @throws {TraceError} If the text is no trace, is corrupt or truncated; the message names the line.
 *
 * @example
 * ```ts
 * import { parseTrace } from "@gridstride/cuda/memory";
 *
 * const trace = parseTrace("gridstride memory trace 1\na 0 4096 0\nf 0\nend 2\n", "one");
 * console.log(trace.events.length); // 2
 * ```
 * @category Traces
 */
export function parseTrace(text: string, name = "trace"): MemoryTrace {
  requireText(text, "text", "read a trace");
  requireText(name, "name", "read a trace");
  const lines = text.split(/\r?\n/);
  if (lines.at(-1) === "") lines.pop();
  const checker = new TraceChecker();
  const events: TraceEvent[] = [];
  const description: string[] = [];
  let number = 1;
  const refuse = (offence: string): never => {
    throw new TraceError(`read trace ${name}`, number, offence);
  };
  if (lines[0] !== TRACE_HEADER) {
    refuse(`it must be ${JSON.stringify(TRACE_HEADER)}: it is ${describeValue(lines[0] ?? "")}`);
  }
  while (number < lines.length) {
    const line = lines[number++]!;
    if (line.startsWith("#")) {
      if (description.length === number - 2) description.push(line.replace(/^# ?/, ""));
      continue;
    }
    if (line.startsWith("end")) {
      const [count] = numbersOf(line, "end", ["the number of events"], 1, refuse);
      if (count !== events.length) {
        refuse(
          `the number of events must be ${events.length}, as many as there are: it is ${count}`,
        );
      }
      while (number < lines.length) {
        const extra = lines[number++]!;
        if (extra !== "") refuse(`nothing may follow "end": the line is ${describeValue(extra)}`);
      }
      return { name, description: description.join("\n"), events };
    }
    const event = parseEvent(line, refuse);
    const offence = checker.check(event);
    if (offence !== undefined) refuse(offence);
    events.push(event);
  }
  number = lines.length + 1;
  return refuse(`the trace was cut short: its last line must be "end ${events.length}"`);
}

type Refuse = (offence: string) => never;

function parseEvent(line: string, refuse: Refuse): TraceEvent {
  switch (line[0]) {
    case "a": {
      const fields = ["block", "bytes", "stream", "alignment"];
      const [block, bytes, stream, alignment] = numbersOf(line, "allocate", fields, 3, refuse);
      const event = { kind: "allocate", block: block!, bytes: bytes!, stream: stream! } as const;
      return alignment === undefined ? event : { ...event, alignment };
    }
    case "f":
      return { kind: "free", block: numbersOf(line, "free", ["block"], 1, refuse)[0]! };
    case "u": {
      const [block, stream] = numbersOf(line, "use", ["block", "stream"], 2, refuse);
      return { kind: "use", block: block!, stream: stream! };
    }
    case "s":
    case "d": {
      const kind = line[0] === "s" ? "synchronize" : "dispose";
      return { kind, stream: numbersOf(line, kind, ["stream"], 1, refuse)[0]! };
    }
    case "p":
      return { kind: "point", name: restOf(line, 1, "name", refuse) };
    default:
      return refuse(
        "an event must begin with a, f, u, s, d, p or end: the line is " + describeValue(line),
      );
  }
}

/** The text after the letters of a line and a space. */
function restOf(line: string, letters: number, field: string, refuse: Refuse): string {
  if (line.length === letters) refuse(`${field} is missing`);
  if (line[letters] === " ") return line.slice(letters + 1);
  return refuse(`a space must come before ${field}: the line is ${describeValue(line)}`);
}

/** The decimal numbers of a line; the checker refuses those above 2^53. */
function numbersOf(
  line: string,
  kind: string,
  fields: readonly string[],
  required: number,
  refuse: Refuse,
): number[] {
  const words = restOf(line, kind === "end" ? 3 : 1, fields[0]!, refuse).split(" ");
  if (words.length < required) refuse(`${fields[words.length]} is missing`);
  if (words.length > fields.length) refuse(`nothing may follow the fields of ${kind}`);
  return words.map((word, index) =>
    /^(?:0|[1-9]\d*)$/.test(word)
      ? Number(word)
      : refuse(`${fields[index]} must be a decimal number: it is ${describeValue(word)}`)
  );
}
