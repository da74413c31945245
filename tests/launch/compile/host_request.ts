/**
 * Requests to the compiler of the host device.
 *
 * @module
 */

import type { CompileRequest } from "../../../src/launch/compile/compiler.ts";

/** A request for a source. */
export function request(source: string, changes: Partial<CompileRequest> = {}): CompileRequest {
  return {
    source,
    name: "test.cu",
    headers: new Map(),
    defines: new Map(),
    options: [],
    expressions: [],
    target: { kind: "host", capability: "8.9" },
    ...changes,
  };
}
