/**
 * The names of benchmarks. `deno bench` knows only times per iteration; how many calls an iteration
 * makes and how many bytes a call moves stand in the benchmark's name, where people read it and
 * the report finds it: `add float32 ×4 [192 MiB]`.
 *
 * @module
 */

/** The work of an iteration of a benchmark. */
export interface BenchWork {
  /** The measured work. */
  readonly title: string;
  /** How often an iteration does it. */
  readonly calls: number;
  /** How many bytes are read and written each time; `null` where bytes are not the point. */
  readonly bytes: number | null;
  /** How many multiplications and additions, where they are the point. */
  readonly operations?: number;
  /** Operations per second of a GPU by its data sheet. */
  readonly peak?: number;
}

const UNITS = ["B", "KiB", "MiB", "GiB"] as const;
const NAME =
  /^(.*?)(?: ×(\d+))?(?: \[(\d+) (B|KiB|MiB|GiB)\])?(?: \[(\d+) operations\])?(?: \[peak (\d+)\])?$/;

/** A size in the largest binary unit that divides it. */
export function exactBytes(bytes: number): string {
  let unit = 0;
  while (unit < UNITS.length - 1 && bytes > 0 && bytes % 1024 ** (unit + 1) === 0) unit++;
  return `${bytes / 1024 ** unit} ${UNITS[unit]}`;
}

/**
 * The name of a benchmark.
 *
 * @throws {RangeError} If the calls or bytes are no counts.
 */
export function benchName({ title, calls, bytes, operations, peak }: BenchWork): string {
  if (!Number.isSafeInteger(calls) || calls < 1) {
    throw new RangeError(`Cannot name a benchmark as calls must be at least 1: it is ${calls}`);
  }
  if (bytes !== null && (!Number.isSafeInteger(bytes) || bytes < 0)) {
    throw new RangeError(`Cannot name a benchmark as bytes must be at least 0: it is ${bytes}`);
  }
  const repeated = calls === 1 ? "" : ` ×${calls}`;
  const size = bytes === null ? "" : ` [${exactBytes(bytes)}]`;
  const work = operations === undefined ? "" : ` [${operations} operations]`;
  return `${title}${repeated}${size}${work}${peak === undefined ? "" : ` [peak ${peak}]`}`;
}

/** What a benchmark's name says. */
export function readBenchName(name: string): BenchWork {
  const [, title, calls, size, unit, operations, peak] = NAME.exec(name)!;
  const factor = 1024 ** UNITS.findIndex((known) => known === unit);
  return {
    title: title!,
    calls: calls === undefined ? 1 : Number(calls),
    bytes: size === undefined ? null : Number(size) * factor,
    ...(operations === undefined ? {} : { operations: Number(operations) }),
    ...(peak === undefined ? {} : { peak: Number(peak) }),
  };
}
