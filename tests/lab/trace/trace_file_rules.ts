/**
 * Rules of trace files: the fields of Chrome's trace event format, and the rules of Perfetto's
 * importer. Threads are named by their number alone, spans of a thread nest or are apart, and a flow
 * leads to a span that does not begin earlier.
 *
 * @module
 */

/** An event as it was read. */
export interface ReadEvent {
  readonly ph: string;
  readonly name: string;
  readonly cat: string;
  readonly ts: number;
  readonly dur: number;
  readonly pid: number;
  readonly tid: number;
  readonly id: number;
  readonly args: Readonly<Record<string, string | number | boolean>>;
}

/** A file as it was read. */
export interface ReadTraceFile {
  readonly displayTimeUnit: string;
  readonly otherData: Readonly<Record<string, unknown>>;
  readonly traceEvents: readonly ReadEvent[];
}

/** Whole nanoseconds. */
function nanoseconds(microseconds: number): number {
  return Math.round(microseconds * 1000);
}

/** Violations of the rules; empty for a correct file. */
export function problemsOf(file: ReadTraceFile): string[] {
  const { traceEvents } = file;
  return [
    ...fieldProblems(traceEvents),
    ...fractions(traceEvents),
    ...threadProblems(traceEvents),
    ...nestingProblems(traceEvents),
    ...flowProblems(traceEvents),
  ];
}

/** The fields that each kind of event must have besides its kind, name and process. */
const FIELDS: Readonly<Record<string, readonly (keyof ReadEvent)[]>> = {
  M: ["args"],
  X: ["cat", "ts", "dur", "tid"],
  C: ["ts", "args"],
  s: ["cat", "ts", "tid", "id"],
  f: ["cat", "ts", "tid", "id"],
};

function* fieldProblems(events: readonly ReadEvent[]): Generator<string> {
  for (const event of events) {
    const missing = FIELDS[event.ph]?.find((field) => event[field] === undefined);
    if (FIELDS[event.ph] === undefined || missing !== undefined) {
      yield `${JSON.stringify(event)} has no ${missing ?? "known kind"}`;
    }
    if (!(event.pid >= 1) || event.ts < 0 || event.dur < 0) {
      yield `${event.name}: a negative number`;
    }
  }
}

function* fractions(events: readonly ReadEvent[]): Generator<string> {
  for (const { name, ts = 0, dur = 0 } of events) {
    for (const time of [ts, dur]) {
      if (nanoseconds(time) / 1000 !== time) yield `${name}: ${time} µs are no whole nanoseconds`;
    }
  }
}

function* threadProblems(events: readonly ReadEvent[]): Generator<string> {
  const processes = new Map<number, number>();
  const named = new Set<number>();
  const pids = new Set(events.map(({ pid }) => pid));
  for (const { ph, name, pid, tid } of events) {
    if (tid === undefined) continue;
    const owner = processes.get(tid) ?? pid;
    processes.set(tid, owner);
    if (owner !== pid) yield `thread ${tid} is of processes ${owner} and ${pid}`;
    if (pids.has(tid)) yield `thread ${tid} has the number of a process`;
    if (ph !== "M" && !named.has(tid)) yield `thread ${tid} has no name when ${name} comes`;
    if (name !== "thread_name") continue;
    if (named.has(tid)) yield `thread ${tid} is named twice`;
    named.add(tid);
  }
}

interface Span {
  readonly name: string;
  readonly begin: number;
  readonly end: number;
}

function spansByThread(events: readonly ReadEvent[]): Map<number, Span[]> {
  const threads = new Map<number, Span[]>();
  for (const { ph, name, ts, dur, tid } of events) {
    if (ph !== "X") continue;
    const begin = nanoseconds(ts);
    const spans = threads.get(tid) ?? [];
    spans.push({ name, begin, end: begin + nanoseconds(dur) });
    threads.set(tid, spans);
  }
  // Of spans that begin at once the outer one is first in the file.
  for (const spans of threads.values()) spans.sort((one, other) => one.begin - other.begin);
  return threads;
}

function* nestingProblems(events: readonly ReadEvent[]): Generator<string> {
  for (const [tid, spans] of spansByThread(events)) {
    const open: Span[] = [];
    for (const span of spans) {
      while (open.length > 0 && open.at(-1)!.end <= span.begin) open.pop();
      const outer = open.at(-1);
      if (outer !== undefined && outer.end < span.end) {
        yield `thread ${tid}: ${span.name} crosses the end of ${outer.name}`;
      }
      open.push(span);
    }
  }
}

function* flowProblems(events: readonly ReadEvent[]): Generator<string> {
  const threads = spansByThread(events);
  const isWithin = ({ tid, ts }: ReadEvent) =>
    threads.get(tid)?.some(({ begin, end }) => begin <= nanoseconds(ts) && nanoseconds(ts) < end);
  const starts = new Map<number, ReadEvent>();
  const ends = new Map<number, ReadEvent>();
  for (const event of events) {
    if (event.ph !== "s" && event.ph !== "f") continue;
    const those = event.ph === "s" ? starts : ends;
    if (those.has(event.id)) yield `flow ${event.id} has two of ${event.ph}`;
    those.set(event.id, event);
    if (isWithin(event) !== true) yield `flow ${event.id}: ${event.ph} is in no span`;
  }
  for (const id of new Set([...starts.keys(), ...ends.keys()])) {
    const [start, end] = [starts.get(id), ends.get(id)];
    if (start === undefined || end === undefined) yield `flow ${id} has but one end`;
    else if (start.ts > end.ts) yield `flow ${id} leads back`;
    else if (start.name !== end.name || start.cat !== end.cat) yield `flow ${id} changes its name`;
  }
}
