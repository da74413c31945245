/**
 * How much work a source may make of a few lines: macros can stand for twice what they are made of,
 * and so forty of them for more than any machine holds.
 *
 * @module
 */

/** Thrown when the steps are used up; never reaches a caller of this package. */
export class StepLimitError extends Error {
  override name = "StepLimitError";
}

/** Steps that may still be taken. */
export class StepBudget {
  #left: number;

  /** A budget of so many steps. */
  constructor(steps: number) {
    this.#left = steps;
  }

  /**
   * Takes steps, before the work that they stand for is done.
   *
   * @throws {StepLimitError} If there are not so many left; then there are none any more.
   */
  spend(steps: number): void {
    this.#left -= steps;
    if (this.#left >= 0) return;
    this.#left = -1;
    throw new StepLimitError("the macros of a source take too many steps");
  }
}
