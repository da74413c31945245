/**
 * Reads and writes traces as text, in the format of `memory_trace.ts`.
 *
 * The reader checks every event against the events before it, and the number of events in the last
 * line. The comments that directly follow the first line are the description of the trace.
 *
 * @module
 */

import { describeValue } from "../../../ffi/describe_value.ts";
import { type MemoryTrace, TRACE_HEADER, type TraceEvent } from "./memory_trace.ts";
import { TraceChecker } from "./trace_checker.ts";
import { TraceError } from "./trace_error.ts";

/**
 * Writes a trace as text.
 *
 * The text holds the events and the description, but not the name.
 *
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
 */
export function formatTrace(trace: MemoryTrace): string {
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
 */
export function parseTrace(text: string, name = "trace"): MemoryTrace {
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
