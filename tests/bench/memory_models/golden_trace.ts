/**
 * Golden traces: the states of a model after each event, worked out by hand.
 *
 * ```
 * device 8K
 * # 1025 rounds to three units of 512.
 * a 0 1025 0 -> 1536: 0=1536 ; reserved 1536, calls 1
 * f 0        -> 1536: -=1536
 * a 1 8K 0   -> refused ; calls 4, retries 2
 * ```
 *
 * - The first line is the memory of the device. `start` in place of an event is the initial state.
 *   `#` begins a comment. A line with more indentation continues the line before it.
 * - An event is a line of a trace. The state after it follows `->`: `refused` for a refused
 *   allocation, the segments, and after `;` reserved bytes, requests to the device so far and
 *   retries among them. Omitted parts of the state are unchanged, and are compared too.
 * - Segments are in the order of their reservation, `size: parts`, with ` | ` between them. A part is
 *   `0=1K` for a live block by its number, `-=1K` for a free one, `?=1K` for one that waits for
 *   events, `x=1K` for addresses without memory; `-=1K*3` are three free ones in a row.
 * - Sizes are sums: `10M-512`.
 *
 * @module
 */

import { assertEquals } from "@std/assert";
import type { ModelPolicy, SegmentContent } from "../../../bench/memory_models/model_allocator.ts";
import { parseTrace, type ReplayAllocator, type TraceEvent } from "../../../src/lab/memory/mod.ts";

const UNITS = [[2 ** 30, "G"], [2 ** 20, "M"], [2 ** 10, "K"]] as const;

const SIZE = String.raw`\d+[KMG]?(?:[-+]\d+[KMG]?)*`;
const SEGMENT = String.raw`${SIZE}:(?: (?:\d+|[-?x])=${SIZE}(?:\*\d+)?)*`;
const LINE = new RegExp(
  String.raw`^(?<event>[a-z][^>]*?)(?: *-> *(?<refused>refused)?` +
    String.raw` *(?<segments>${SEGMENT}(?: \| ${SEGMENT})*)? *(?:; *(?<figures>[^;]+))?)?$`,
);

interface GoldenState {
  readonly segments: string;
  readonly reserved: number;
  readonly calls: number;
  readonly retries: number;
}

interface GoldenStep {
  readonly line: string;
  /** `undefined` for the start. */
  readonly event: TraceEvent | undefined;
  readonly isRefused: boolean;
  readonly state: GoldenState;
}

const NOTHING: GoldenState = { segments: "", reserved: 0, calls: 0, retries: 0 };

function sizeOf(text: string): number {
  return text.match(/[-+]?\d+[KMG]?/g)!.reduce((sum, term) => {
    const unit = UNITS.find(([, name]) => term.endsWith(name))?.[0] ?? 1;
    return sum + Number.parseInt(term) * unit;
  }, 0);
}

function sizeText(bytes: number): string {
  const unit = UNITS.find(([size]) => bytes > 0 && bytes % size === 0);
  return unit === undefined ? String(bytes) : `${bytes / unit[0]}${unit[1]}`;
}

/** Rewrites every size after a pattern. */
function withSizes(text: string, before: string, write: (bytes: number) => string): string {
  return text.replace(new RegExp(`(?<=${before})${SIZE}`, "g"), (size) => write(sizeOf(size)));
}

function partText({ state, block, bytes }: SegmentContent["blocks"][number]): string {
  const name = { live: String(block), free: "-", pending: "?", unmapped: "x" }[state];
  return `${name}=${sizeText(bytes)}`;
}

/** Segments as text. */
export function segmentsText(segments: readonly SegmentContent[]): string {
  return segments.map(({ bytes, blocks }) => {
    const runs: { text: string; count: number }[] = [];
    for (const text of blocks.map(partText)) {
      const last = runs.at(-1);
      if (last?.text === text) last.count++;
      else runs.push({ text, count: 1 });
    }
    const parts = runs.map(({ text, count }) => count === 1 ? text : `${text}*${count}`);
    return [`${sizeText(bytes)}:`, ...parts].join(" ");
  }).join(" | ");
}

/** Applies an event; false when it is an allocation that is refused. */
function applyEvent(allocator: ReplayAllocator, event: TraceEvent): boolean {
  switch (event.kind) {
    case "allocate":
      return allocator.allocate(event.block, event.bytes, event.stream, event.alignment);
    case "free":
      allocator.free(event.block);
      break;
    case "use":
      allocator.use(event.block, event.stream);
      break;
    case "point":
      break;
    default:
      allocator[event.kind](event.stream);
  }
  return true;
}

/** The events of lines of a trace. */
export function eventsOf(lines: readonly string[]): readonly TraceEvent[] {
  const text = ["gridstride memory trace 1", ...lines, `end ${lines.length}`, ""].join("\n");
  return parseTrace(text, "golden").events;
}

/** Lines without comments, with continuations joined. */
function linesOf(text: string): string[] {
  const told = text.split("\n").filter((line) => /^ *[^# ]/.test(line));
  const indent = told[0]?.search(/[^ ]/) ?? 0;
  const lines: string[] = [];
  for (const line of told) {
    if (line.search(/[^ ]/) === indent) lines.push(line.trim());
    else lines.push(`${lines.pop()} ${line.trim()}`);
  }
  return lines;
}

function figuresOf(text: string | undefined, line: string): Partial<GoldenState> {
  if (text === undefined) return {};
  return Object.fromEntries(
    text.split(",").map((figure) => {
      const match = figure.trim().match(`^(reserved|calls|retries) (${SIZE})$`);
      if (match === null) {
        throw new SyntaxError(`Not a figure of a golden trace: ${figure} in ${line}`);
      }
      return [match[1], sizeOf(match[2]!)];
    }),
  );
}

function stateAfter(
  before: GoldenState,
  segments: string | undefined,
  figures: Partial<GoldenState>,
): GoldenState {
  const told = segments === undefined ? {} : {
    segments: withSizes(segments, String.raw`=|^|\| `, sizeText),
  };
  return { ...before, ...told, ...figures };
}

/** Parses steps. */
function stepsOf(lines: readonly string[]): GoldenStep[] {
  const told = lines.map((line) => {
    const groups: { [name: string]: string | undefined } | undefined = line.match(LINE)?.groups;
    if (groups === undefined) throw new SyntaxError(`Not a line of a golden trace: ${line}`);
    const { event, refused, segments, figures } = groups;
    return { line, event: withSizes(event!, " ", String), refused, segments, figures };
  });
  const events = told.map(({ event }) => event).filter((event) => event !== "start");
  const happening = eventsOf(events).values();
  let state = NOTHING;
  return told.map(({ line, event, refused, segments, figures }) => {
    state = stateAfter(state, segments, figuresOf(figures, line));
    const next = event === "start" ? undefined : happening.next().value;
    return { line, event: next, isRefused: refused !== undefined, state };
  });
}

/** Replays a golden trace and compares after every event. */
export function assertGolden(policy: ModelPolicy, text: string): void {
  const [device, ...lines] = linesOf(text);
  const capacity = device?.match(`^device (${SIZE})$`)?.[1];
  if (capacity === undefined) throw new SyntaxError(`Not the device of a golden trace: ${device}`);
  const allocator = policy.create({ capacityBytes: sizeOf(capacity) });
  for (const { line, event, isRefused, state } of stepsOf(lines)) {
    const isGranted = event === undefined || applyEvent(allocator, event);
    const found: GoldenState = {
      segments: segmentsText(allocator.segments()),
      reserved: allocator.reservedBytes,
      calls: allocator.upstreamCalls,
      retries: allocator.retries,
    };
    assertEquals({ ...found, isRefused: !isGranted }, { ...state, isRefused }, line);
  }
}
