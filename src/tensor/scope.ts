/**
 * `tidy()`: frees the tensors that a function makes and does not return.
 *
 * @module
 */

import { describeValue } from "../ffi/describe_value.ts";

/** Tensors made since the innermost `tidy()` began. */
const scopes: Set<Disposable>[] = [];

/** Adds a new tensor to the innermost scope. */
export function addToScope(tensor: Disposable): void {
  scopes.at(-1)?.add(tensor);
}

/**
 * The tensors that a synchronous function makes. At its end, also by an error, all are disposed but
 * those it keeps: `using scope = new TensorScope()`.
 */
export class TensorScope implements Disposable {
  readonly #made = new Set<Disposable>();

  constructor() {
    scopes.push(this.#made);
  }

  /** Keeps the tensors in a result: the result itself, elements, and properties. */
  keep<Result>(result: Result): Result {
    this.#visit(result, new Set());
    return result;
  }

  #visit(value: unknown, seen: Set<unknown>): void {
    if (typeof value !== "object" || value === null || seen.has(value)) return;
    seen.add(value);
    if (this.#made.delete(value as Disposable)) {
      scopes.at(-2)?.add(value as Disposable);
      return;
    }
    if (ArrayBuffer.isView(value)) return;
    for (const part of Object.values(value)) this.#visit(part, seen);
  }

  [Symbol.dispose](): void {
    scopes.pop();
    for (const tensor of this.#made) tensor[Symbol.dispose]();
  }
}

/** Calls a function, whose tensors end with a stack, also if it throws. */
export function collectTensors<Result>(made: DisposableStack, f: () => Result): Result {
  const own = new Set<Disposable>();
  scopes.push(own);
  try {
    return f();
  } finally {
    scopes.pop();
    for (const tensor of own) made.use(tensor);
  }
}

/**
 * Calls a function and disposes all tensors that were made during the call, except those in its
 * result: a tensor, or arrays and objects of tensors. Calls may be nested.
 *
 * @param f A synchronous function.
 * @returns The result of the function.
 * @throws {TypeError} If the function returns a promise: tensors made later would be missed.
 *
 * @example
 * ```ts
 * import { tensor, tidy } from "@gridstride/cuda/tensor";
 *
 * using x = tensor([3, 4]);
 * using length = tidy(() => x.square().sum().sqrt()); // the squares and their sum are freed
 * console.log(await length.item()); // 5
 * ```
 * @category Tensors
 */
export function tidy<Result>(f: () => Result): Result {
  if (typeof f !== "function") {
    throw new TypeError(`Cannot call tidy() as f must be a function: it is ${describeValue(f)}`);
  }
  using scope = new TensorScope();
  const result = f();
  if (result instanceof Promise) {
    result.catch(() => {});
    throw new TypeError("Cannot call tidy() as f must be synchronous: it has returned a promise");
  }
  return scope.keep(result);
}
