/**
 * Whether what a call threw is an error as this project words them.
 *
 * @module
 */

import { CudaError } from "../../mod.ts";
import { HostileArgumentError } from "./values.ts";

/** V8's messages for an unexpected value: they mean nothing to a caller. */
const INTERNAL: readonly RegExp[] = [
  /^Cannot (?:read|set) propert(?:y|ies) /,
  /^Cannot (?:read|write) private /,
  /^Cannot destructure /,
  /^Cannot convert (?!between )/,
  /^Cannot mix BigInt/,
  /^Cannot access '/,
  /^Cannot perform /,
  /^Cannot use 'in' operator/,
  /^Cannot (?:assign to|redefine property|define property|delete property|add property) /,
];

/** What looking at a revoked proxy throws: the argument's own doing. */
const REVOKED = /on a proxy that has been revoked$/;

/** Statuses that say that the TypeScript above the library is wrong, not its caller. */
const DEFECTS: readonly string[] = ["GS_ERROR_INTERNAL", "GS_ERROR_NO_BLOCK"];

/** The defect of a thrown value; `undefined` without one. */
export function verdict(thrown: unknown): string | undefined {
  if (!(thrown instanceof Error)) return `it threw no Error but ${Deno.inspect(thrown)}`;
  if (thrown instanceof HostileArgumentError) return undefined;
  const { message } = thrown;
  if (REVOKED.test(message)) return undefined;
  const shown = `${thrown.name}: ${message}`;
  if (message === "") return `it threw a ${thrown.name} without a message`;
  if (INTERNAL.some((pattern) => pattern.test(message)) || !message.startsWith("Cannot ")) {
    return `it threw an error that its caller cannot understand: ${shown}`;
  }
  if (thrown instanceof CudaError && DEFECTS.includes(thrown.codeName)) {
    return `it threw an error that says the library is wrong: ${shown}`;
  }
  return undefined;
}
