/**
 * Reports of kernels about values that only the device sees, such as an index out of range.
 *
 * Each operation that may report has a slot of two words in device memory. The tensors that it
 * writes, and those computed from them, carry its report. Reading such a tensor reads the slots, so
 * the error is thrown for these tensors and no others, each time. Slots come in pages: a page that
 * is used up is read in the background, which settles all of its reports.
 *
 * @module
 */

import { giveBackAfterFailure } from "../../../ffi/give_back.ts";
import { logger } from "../../../ffi/logging.ts";
import { synchronizeDeviceSync } from "../../../ffi/native_device.ts";
import type { DeviceContext } from "../../../hardware/device_context.ts";
import { DeviceBuffer } from "../../../memory/device_buffer.ts";
import { isCapturing } from "../../../stream/running_captures.ts";
import { defaultStream, type Stream, waitForStream } from "../../../stream/stream.ts";

/** The operations that share a page, and its words: each has two. */
const PAGE_SLOTS = 256;
const PAGE_WORDS = 2 * PAGE_SLOTS;
/** The pages that are read in the background; one more is awaited with the thread blocked. */
const MAX_PAGES = 16;

/** An operation that may report a value. */
export interface Report {
  /** The page until the operation has run; undefined after that. */
  page: ReportPage | undefined;
  readonly slot: number;
  /** The error that it has reported. */
  error: Error | undefined;
  /** Makes the error for the first offending value. */
  readonly errorOf: (value: bigint) => Error;
}

/** Reports of which none is settled without an error. */
export type Reports = readonly Report[];
export const NO_REPORTS: Reports = [];

/** The reports of several tensors, without those that are settled. */
export function unionOf(all: readonly Reports[]): Reports {
  const some = all.filter((reports) => reports.length > 0);
  if (some.length === 0) return NO_REPORTS;
  const isOpen = ({ page, error }: Report) => page !== undefined || error !== undefined;
  const [first] = some;
  if (some.every((reports) => reports === first)) {
    return first!.every(isOpen) ? first! : first!.filter(isOpen);
  }
  return [...new Set(some.flat())].filter(isOpen);
}

/** Refuses to capture an operation that may report a value. */
export function refuseCapture(action: string): void {
  if (!isCapturing()) return;
  throw new TypeError(
    `Cannot capture ${action} as its positions are checked, and errors of graphs are not reported`,
  );
}

/** The slots of some operations. */
class ReportPage {
  readonly #buffer: DeviceBuffer<"int64">;
  readonly #streams = new Set<Stream>();
  readonly #open = new Set<Report>();
  #used = 0;

  constructor(context: DeviceContext) {
    const stream = defaultStream(context);
    this.#buffer = DeviceBuffer.allocate(context, "int64", PAGE_WORDS, { stream });
    try {
      this.#buffer.copyFrom(new BigInt64Array(PAGE_WORDS), { stream });
    } catch (error) {
      giveBackAfterFailure(this.#buffer);
      throw error;
    }
  }

  get isFull(): boolean {
    return this.#used === PAGE_SLOTS;
  }

  /** The slot of a new report, for a kernel on a stream. */
  add(errorOf: Report["errorOf"], stream: Stream): { report: Report; words: DeviceBuffer } {
    if (!this.#streams.has(stream)) {
      // The words are cleared on the default stream.
      waitForStream(stream, this.#buffer.stream!);
      this.#streams.add(stream);
    }
    const slot = this.#used++;
    const report = { page: this, slot, error: undefined, errorOf };
    this.#open.add(report);
    return { report, words: this.#buffer.view(2 * slot, 2 * slot + 2) };
  }

  /** The words of all slots, after the work of a stream. */
  async read(stream: Stream): Promise<BigInt64Array> {
    return await this.#buffer.toArray({ stream });
  }

  /** The blocking twin of {@linkcode ReportPage.read}. */
  readSync(stream: Stream): BigInt64Array {
    return this.#buffer.toArraySync({ stream });
  }

  /** Settles reports whose operations have run. */
  settle(reports: Iterable<Report>, words: BigInt64Array): void {
    for (const report of reports) {
      if (!this.#open.delete(report)) continue;
      report.page = undefined;
      if (words[2 * report.slot] === 0n) continue;
      report.error = report.errorOf(words[2 * report.slot + 1]!);
    }
  }

  /** Reads the rest of a page that takes no more reports, and gives it back. */
  async finish(): Promise<void> {
    try {
      const stream = this.#joined();
      if (stream !== undefined) this.#conclude(await this.read(stream));
    } catch (error) {
      // Without the words no result is known to be right.
      for (const report of this.#open) {
        report.page = undefined;
        report.error = error as Error;
      }
      this.#open.clear();
    } finally {
      this.free();
    }
  }

  /** Ends {@linkcode ReportPage.finish} early, with this thread blocked. */
  finishSync(): void {
    const stream = this.#joined();
    if (stream !== undefined) this.#conclude(this.readSync(stream));
    this.free();
  }

  free(): void {
    this.#buffer.free();
  }

  /** The stream that comes after all operations of the page; undefined if all are settled. */
  #joined(): Stream | undefined {
    if (this.#open.size === 0) return undefined;
    const stream = this.#buffer.stream!;
    for (const other of this.#streams) {
      if (!other.disposed) waitForStream(stream, other);
      else synchronizeDeviceSync(other.context.library, other.context.ordinal);
    }
    return stream;
  }

  #conclude(words: BigInt64Array): void {
    const open = [...this.#open];
    this.settle(open, words);
    for (const { error } of open) {
      if (error !== undefined) logger("tensor").warn("a result was not read: {error}", { error });
    }
  }
}

/** The reports of a device. */
export class ReportBook {
  readonly #context: DeviceContext;
  #page: ReportPage | undefined;
  readonly #finishing = new Set<ReportPage>();
  #endsWithDevice = false;

  constructor(context: DeviceContext) {
    this.#context = context;
  }

  /**
   * A report of an operation that is about to be launched.
   *
   * @returns The report, and two words for the kernel: it writes 1 to the first, if that is 0, and
   * the value to the second.
   */
  open(errorOf: Report["errorOf"], stream: Stream): { report: Report; words: DeviceBuffer } {
    if (this.#page?.isFull) {
      this.#turn(this.#page);
      this.#page = undefined;
    }
    this.#page ??= this.#begin();
    return this.#page.add(errorOf, stream);
  }

  #begin(): ReportPage {
    const context = this.#context;
    const page = new ReportPage(context);
    // An unfinished page must not keep the device open.
    context.release();
    if (!this.#endsWithDevice) {
      context.onClose(() => {
        context.retain();
        this.#page?.free();
      });
    }
    this.#endsWithDevice = true;
    return page;
  }

  #turn(page: ReportPage): void {
    if (this.#finishing.size >= MAX_PAGES) {
      for (const old of this.#finishing) old.finishSync();
      this.#finishing.clear();
    }
    this.#finishing.add(page);
    this.#context.retain();
    const finished = page.finish().catch((error) =>
      logger("tensor").error("a page of reports is not given back: {error}", { error })
    );
    void finished.then(() => this.#finishing.delete(page));
  }
}

/**
 * Reads the reports of a tensor after the work of a stream.
 *
 * @throws The error of the first operation that has reported a value.
 */
export async function checkReports(reports: Reports, stream: Stream): Promise<void> {
  const byPage = Map.groupBy(reports, ({ page }) => page);
  await Promise.all(
    [...byPage].map(async ([page, group]) => page?.settle(group, await page.read(stream))),
  );
  throwReported(reports);
}

/** The blocking twin of {@linkcode checkReports}. */
export function checkReportsSync(reports: Reports, stream: Stream): void {
  for (const [page, group] of Map.groupBy(reports, ({ page }) => page)) {
    page?.settle(group, page.readSync(stream));
  }
  throwReported(reports);
}

function throwReported(reports: Reports): void {
  const error = reports.find(({ error }) => error !== undefined)?.error;
  if (error !== undefined) throw error;
}
