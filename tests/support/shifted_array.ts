/**
 * Typed arrays that do not begin with their memory.
 *
 * @module
 */

/** The same elements, one element behind the begin of longer memory. */
export function shifted<A extends Uint8Array | Float32Array>(array: A): A {
  const longer = new (array.constructor as new (length: number) => A)(array.length + 2);
  longer.fill(77);
  longer.set(array, 1);
  return longer.subarray(1, 1 + array.length) as A;
}
