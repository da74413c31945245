/**
 * Golden traces: what a model has to be like after every event, as text.
 *
 * Segments are written in the order of taking, `size: parts`, and joined by ` | `. A part is
 * `0=1K` for a live block by its number, `-=1K` for a free one, `?=1K` for one that waits for its
 * events, `x=1K` for addresses without memory; `-=1K*3` are three free ones in a row.
 *
 * @module
 */

import { assertEquals } from "@std/assert";
import type {
  ReplayAllocator,
  ReplayBlock,
  ReplayPolicy,
  ReplaySegment,
} from "../../../src/memory/replay/replay_policy.ts";
import type { TraceEvent } from "../../../src/memory/trace/memory_trace.ts";
import { parseTrace } from "../../../src/memory/trace/trace_text.ts";

/** An event as text, and the state after it; `null` for what is as before. */
export interface GoldenStep {
  /** A line of a trace. */
  readonly event: string;
  /** The segments. */
  readonly segments: string;
  /** Bytes reserved. */
  readonly reserved: number;
  /** Requests to the device so far. */
  readonly calls: number;
  /** Retries so far; 0 unless told. */
  readonly retries?: number;
  /** Whether the allocation is refused. */
  readonly refused?: true;
}

function sizeText(bytes: number): string {
  for (const [unit, name] of [[2 ** 30, "G"], [2 ** 20, "M"], [2 ** 10, "K"]] as const) {
    if (bytes > 0 && bytes % unit === 0) return `${bytes / unit}${name}`;
  }
  return String(bytes);
}

function partText({ state, block, bytes }: ReplayBlock): string {
  const name = { live: String(block), free: "-", pending: "?", unmapped: "x" }[state];
  return `${name}=${sizeText(bytes)}`;
}

/** Segments as text. */
export function segmentsText(segments: readonly ReplaySegment[]): string {
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
export function applyEvent(allocator: ReplayAllocator, event: TraceEvent): boolean {
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

/** Replays a golden trace and compares after every event. */
export function assertGolden(
  policy: ReplayPolicy,
  capacityBytes: number,
  steps: readonly GoldenStep[],
): void {
  const allocator = policy.create({ capacityBytes });
  eventsOf(steps.map(({ event }) => event)).forEach((event, index) => {
    const { event: line, segments, reserved, calls, retries = 0, refused } = steps[index]!;
    const granted = applyEvent(allocator, event);
    assertEquals(
      {
        segments: segmentsText(allocator.segments!()),
        reserved: allocator.reservedBytes,
        calls: allocator.upstreamCalls,
        retries: allocator.retries,
        granted,
      },
      { segments, reserved, calls, retries, granted: refused !== true },
      `event ${index + 1}: ${line}`,
    );
  });
}
