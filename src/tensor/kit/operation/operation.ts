/**
 * An operation on tensors: launched at once, or after its kernel is compiled.
 *
 * @module
 */

import { logger } from "../../../ffi/logging.ts";
import type { Preparation, WaitingOperation } from "../../../stream/work_order.ts";
import type { DeviceWork } from "../device_work.ts";
import { NO_REPORTS, type Report, type Reports, unionOf } from "./reports.ts";
import type { TensorStorage } from "../storage.ts";

/** Memory that an operation writes. */
export interface WrittenStorage {
  readonly storage: TensorStorage;
  /** Whether nothing of the previous content remains. */
  readonly isWhole: boolean;
}

/** A condition for an operation: a compiled kernel, or elements from another device. */
export interface OperationPreparation extends Preparation {
  /** The reason why the operation cannot run, once that is known. */
  readonly failure: Error | undefined;
  /** The kernel. */
  readonly text?: { readonly name: string };
}

/** An operation on tensors. */
export class TensorOperation implements WaitingOperation {
  readonly preparation: OperationPreparation | undefined;
  readonly #work: DeviceWork;
  readonly #inputs: readonly TensorStorage[];
  readonly #outputs: readonly WrittenStorage[];
  readonly #launch: () => Report | undefined | void;

  /**
   * Describes an operation.
   *
   * @param launch Enqueues its work, and returns the report of a kernel that checks values.
   */
  constructor(
    work: DeviceWork,
    preparation: OperationPreparation | undefined,
    inputs: readonly TensorStorage[],
    outputs: readonly WrittenStorage[],
    launch: () => Report | undefined | void,
  ) {
    this.#work = work;
    this.preparation = preparation;
    this.#inputs = inputs;
    this.#outputs = outputs;
    this.#launch = launch;
  }

  /**
   * Launches the operation, unless an input is wrong already: then its outputs are, too.
   *
   * @throws If the launch fails.
   */
  start(): void {
    const failure = this.#failureBefore();
    if (failure !== undefined) return this.#conclude(failure, NO_REPORTS);
    let reports: Reports = NO_REPORTS;
    for (const input of this.#inputs) {
      if (input.reports !== NO_REPORTS) reports = unionOf([reports, input.reports]);
    }
    const report = this.#launch();
    if (report !== undefined) reports = [...reports, report];
    this.#conclude(undefined, reports);
  }

  /** Adds the operation to those that wait. Its inputs stay, and its outputs if they are used. */
  wait(): void {
    // The queue comes first because it throws if it is full and cannot be emptied.
    this.#work.order.append(this, this.#work.context);
    for (const input of this.#held()) input.holdForRead();
    for (const { storage } of this.#outputs) storage.holdForWrite(this);
  }

  /** Launches the operation after it has waited. A failure becomes that of its outputs. */
  run(): void {
    try {
      this.start();
    } catch (error) {
      const { name } = this.preparation?.text ?? { name: "an operation" };
      logger("tensor").error("{name} has failed: {error}", { name, error });
      this.#conclude(error instanceof Error ? error : new Error(String(error)), NO_REPORTS);
    }
    this.#leave();
  }

  /** Removes the operation from those that wait if nothing uses its results. */
  abandonUnlessUsed(): void {
    const held = this.#held();
    const ownReads = (storage: TensorStorage) => held.filter((input) => input === storage).length;
    if (this.#outputs.some(({ storage }) => storage.isUsedBeside(ownReads(storage)))) return;
    if (this.#work.order.abandon(this)) this.#leave();
  }

  #failureBefore(): Error | undefined {
    for (const { failure } of this.#inputs) if (failure !== undefined) return failure;
    for (const { storage, isWhole } of this.#outputs) {
      if (!isWhole && storage.failure !== undefined) return storage.failure;
    }
    return this.preparation?.failure;
  }

  #conclude(failure: Error | undefined, reports: Reports): void {
    for (const { storage, isWhole } of this.#outputs) storage.conclude(failure, reports, isWhole);
  }

  #leave(): void {
    for (const { storage } of this.#outputs) storage.releaseWrite(this);
    for (const input of this.#held()) input.releaseRead();
  }

  /**
   * The inputs whose content the operation needs for results that are used. One that it also writes is needed
   * for another result only.
   */
  #held(): readonly TensorStorage[] {
    if (this.#outputs.length > 1) return this.#inputs;
    return this.#inputs.filter((input) => this.#outputs.every(({ storage }) => storage !== input));
  }
}
