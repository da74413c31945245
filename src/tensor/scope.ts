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

/** Calls `keep` for each tensor in a result: the result itself, elements, and properties. */
function visitKept(value: unknown, keep: (tensor: Disposable) => void, seen: Set<unknown>): void {
  if (typeof value !== "object" || value === null || seen.has(value)) return;
  seen.add(value);
  if (scopes.at(-1)!.has(value as Disposable)) return keep(value as Disposable);
  if (ArrayBuffer.isView(value)) return;
  for (const part of Object.values(value)) visitKept(part, keep, seen);
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
    throw new TypeError(`Cannot tidy as f must be a function: it is ${describeValue(f)}`);
  }
  const made = new Set<Disposable>();
  scopes.push(made);
  try {
    const result = f();
    if (result instanceof Promise) {
      result.catch(() => {});
      throw new TypeError("Cannot tidy as f must be synchronous: it has returned a promise");
    }
    const kept: Disposable[] = [];
    visitKept(result, (tensor) => kept.push(tensor), new Set());
    for (const tensor of kept) {
      made.delete(tensor);
      scopes.at(-2)?.add(tensor);
    }
    return result;
  } finally {
    scopes.pop();
    for (const tensor of made) tensor[Symbol.dispose]();
  }
}
