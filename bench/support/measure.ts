/**
 * Declaring benchmarks, which `bench/support/run_area.ts` runs.
 *
 * The clock of a JavaScript engine and a call of its own cost some nanoseconds, so whatever takes
 * less than some microseconds is done many times in a sample.
 *
 * @module
 */

/** Set to `quick` the benchmarks only show that they run: one short sample of each. */
export const QUICK: boolean = Deno.env.get("GRIDSTRIDE_BENCH") === "quick";

/** Chooses a size: a small one when the benchmarks are only to show that they run. */
export function scaled(size: number, quick: number): number {
  return QUICK ? quick : size;
}

/** A format of arithmetic, by which a data sheet states the peak. */
export type Arithmetic =
  | "float64"
  | "float32"
  | "tfloat32"
  | "float16"
  | "bfloat16"
  | "float8"
  | "int8";

/**
 * The clock of a benchmark: the device's events around its calls, the host's time until all is done,
 * or the host's time until all is enqueued.
 */
export type Clock = "device" | "total" | "host";

/** The same work for other libraries: its kind, which `bench/peers/` knows, and its arguments. */
export interface PeerWork {
  readonly kind: string;
  /** The parts of the work that are different: other libraries have no ternary weights. */
  readonly different?: Pick<MeasureOptions, "arithmetic" | "bytes" | "footprint">;
  readonly [argument: string]: unknown;
}

/** Options of a benchmark. */
export interface MeasureOptions {
  /** The benchmarks to compare it with. */
  readonly group: string;
  /** Whether the others of its group are compared with it. */
  readonly baseline?: boolean;
  /** Calls in a sample; 1 by default. */
  readonly calls?: number;
  /** Bytes that one call reads and writes. */
  readonly bytes?: number;
  /** Bytes that successive calls touch in all, if these differ from `bytes`. */
  readonly footprint?: number;
  /** Multiplications and additions of one call. */
  readonly operations?: number;
  /** The format that these operations are in. */
  readonly arithmetic?: Arithmetic;
  /** The same work for other libraries. */
  readonly peer?: PeerWork;
}

/** A declared benchmark. */
export interface Bench {
  /** Its name in the group. */
  readonly title: string;
  /** Its options. */
  readonly options: MeasureOptions;
  /** The clock that times it. */
  readonly clock: Clock;
  /** Done before each sample, outside the timing. */
  readonly before: () => void;
  /** Does or enqueues one call if the clock is the device's, else all calls of a sample. */
  readonly run: (call: number) => void | Promise<void>;
  /** Done after each sample, outside the timing. */
  readonly after: () => void;
}

/** The declared benchmarks, in order. */
export const declared: Bench[] = [];

const nothing = () => {};

/** Declares a benchmark; `body` does it `calls` times and waits until it is done. */
export function measure(
  title: string,
  options: MeasureOptions,
  body: () => void | Promise<void>,
): void {
  declared.push({ title, options, clock: "total", before: nothing, run: body, after: nothing });
}

/** Declares a benchmark of a function that makes an array; freeing the array is not timed. */
export function measureNew(
  title: string,
  options: MeasureOptions,
  make: () => { readonly buffer: ArrayBufferLike },
): void {
  let buffer: ArrayBufferLike | undefined;
  declared.push({
    ...{ title, options, clock: "total", before: nothing },
    run: () => void ({ buffer } = make()),
    after() {
      // Memory that waits for the garbage collector would be collected in a later sample.
      if (buffer instanceof ArrayBuffer) buffer.transfer(0);
    },
  });
}

/**
 * Declares a benchmark of work on the device: `enqueue` enqueues one call, on the default stream.
 *
 * @param enqueue Takes the number of the call in its sample, to use operands in turn.
 */
export function measureOnDevice(
  title: string,
  options: Omit<MeasureOptions, "calls">,
  enqueue: (call: number) => void,
): void {
  declared.push({
    ...{ title, options, clock: "device", before: nothing, run: enqueue, after: nothing },
  });
}

/** Options of a benchmark of the time that enqueueing takes. */
export interface EnqueueOptions extends MeasureOptions {
  /** Done before each sample, outside the timing. */
  readonly before?: () => void;
}

/**
 * Declares a benchmark of the time that enqueueing takes: `body` does it `calls` times, which is
 * timed, and then the device catches up, which is not. The work of a sample has to fit the device's
 * queue, or the queue would be timed: at most some 500 launches.
 */
export function measureEnqueueing(
  title: string,
  { before = nothing, ...options }: EnqueueOptions,
  body: () => void,
): void {
  declared.push({ title, options, clock: "host", before, run: body, after: nothing });
}
