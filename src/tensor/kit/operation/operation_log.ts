/**
 * Logs each tensor operation with its device time, as `debug` records of the category `tensor`.
 *
 * @module
 */

import {
  createEvent,
  destroyEvent,
  elapsedMilliseconds,
  recordEvent,
} from "../../../ffi/native_stream.ts";
import { logger } from "../../../ffi/logging.ts";
import { type DeviceContext, labelOf, whileHeld } from "../../../hardware/device_context.ts";
import type { DType } from "../../../memory/dtype.ts";
import { eventDone } from "../../../stream/event.ts";
import { isCapturing } from "../../../stream/running_captures.ts";
import type { Stream } from "../../../stream/stream.ts";
import type { Report } from "./reports.ts";

/** A result, as the log shows it. */
interface LoggedResult {
  readonly dtype: DType;
  readonly shape: readonly number[];
}

const describeResult = ({ dtype, shape }: LoggedResult) => `${dtype}[${shape.join(", ")}]`;

/** The log of the operations of a device. */
export class OperationLog {
  readonly #context: DeviceContext;

  private constructor(context: DeviceContext) {
    this.#context = context;
  }

  /** The log of a device if such records are enabled now, and undefined otherwise. */
  static of(context: DeviceContext): OperationLog | undefined {
    return logger("tensor").isEnabledFor("debug") ? new OperationLog(context) : undefined;
  }

  /** The launch of an operation between two events, which log their distance when reached. */
  timed(
    operation: string,
    results: Iterable<LoggedResult>,
    stream: Stream,
    launch: () => Report | undefined | void,
  ): () => Report | undefined | void {
    // The results may be disposed when the operation has ended.
    const record = {
      device: labelOf(this.#context),
      operation,
      results: [...results].map(describeResult).join(", "),
    };
    return () => {
      if (isCapturing()) {
        // An event would become a part of the graph.
        logger("tensor").debug("{device}: {operation}: {results}, captured", record);
        return launch();
      }
      const { library, ordinal } = this.#context;
      const events = new DisposableStack();
      const mark = () => {
        const event = createEvent(library, ordinal, true);
        events.defer(() => destroyEvent(library, ordinal, event));
        recordEvent(library, ordinal, stream.id, event);
        return event;
      };
      try {
        const start = mark();
        const report = launch();
        void this.#print(start, mark(), record, events.move());
        return report;
      } finally {
        events.dispose();
      }
    };
  }

  /** A failure of the device is reported by the results, and is only mentioned here. */
  async #print(start: number, end: number, record: object, events: Disposable): Promise<void> {
    const context = this.#context;
    const { library, ordinal } = context;
    try {
      await whileHeld(context, async () => {
        using _events = events;
        await eventDone(context, end);
        const milliseconds = Number(
          elapsedMilliseconds(library, ordinal, start, end).toPrecision(3),
        );
        logger("tensor").debug("{device}: {operation}: {results} in {milliseconds} ms", {
          ...record,
          milliseconds,
        });
      });
    } catch (error) {
      logger("tensor").debug("{device}: {operation}: {results} has no time: {error}", {
        ...record,
        error,
      });
    }
  }
}
