/**
 * Finds and opens cuBLASLt for the first matrix product.
 *
 * @module
 */

import { isAbsolute } from "node:path";
import { openCublasLt } from "../../ffi/cublaslt/native_cublaslt.ts";
import { type EnvironmentReader, environmentReader } from "../../ffi/granted_environment.ts";
import type { NativeLibrary } from "../../ffi/library.ts";
import { logger } from "../../ffi/logging.ts";
import { realPath } from "../../launch/compile/files.ts";
import {
  attemptText,
  closedReason,
  CUBLASLT_LIBRARY,
  type NvrtcAttempt,
  searchLibrary,
  unreadText,
} from "../../launch/compile/nvrtc_search.ts";

/** The version of the open library, such as `13.1.1`; or the reason why none is open. */
export type CublasLt = { readonly version: string } | { readonly problem: string };

const found = new WeakMap<NativeLibrary, CublasLt>();

/** Opens the first cuBLASLt that can be opened; it serves all products of a native library. */
export function findCublasLt(library: NativeLibrary, environment: EnvironmentReader): CublasLt {
  const attempts: NvrtcAttempt[] = [];
  for (const candidate of searchLibrary(CUBLASLT_LIBRARY, environment)) {
    if (!("library" in candidate)) {
      attempts.push(candidate);
      continue;
    }
    const { library: path, origin } = candidate;
    const closed = closedReason(candidate, [path]);
    const opening = closed === undefined ? openCublasLt(library, path) : { problem: closed };
    if ("problem" in opening) {
      attempts.push({ path, origin, reason: opening.problem });
    } else if (isAbsolute(path) && realPath(opening.path) !== realPath(path)) {
      attempts.push({ path, origin, reason: `this process has opened ${opening.path} already` });
    } else {
      // 130101 is 13.1.1, as CUBLAS_VERSION has it.
      const { version } = opening;
      const parts = [Math.floor(version / 10000), Math.floor(version / 100) % 100, version % 100];
      const open = { version: parts.join(".") };
      logger("tensor").info("opened cuBLASLt {version}: {path}", { ...open, path: opening.path });
      found.set(library, open);
      return open;
    }
  }
  const problem = [
    `cuBLASLt cannot be opened: ${attempts.map(attemptText).join("; ")}`,
    ...unreadText(CUBLASLT_LIBRARY),
    `Install it with \`pip install nvidia-cublas\`, or name the directory of ${CUBLASLT_LIBRARY.file} in ` +
    CUBLASLT_LIBRARY.variable,
  ].join(". ");
  found.set(library, { problem });
  return { problem };
}

/** cuBLASLt for the products of a native library; searched for with the first one on CUDA. */
export function cublasLtOf(library: NativeLibrary): CublasLt {
  const known = found.get(library);
  if (known !== undefined) return known;
  // Nothing is remembered, so tests can open one that computes on the host.
  if (library.kind !== "cuda") return { problem: "it runs on a CUDA device" };
  return findCublasLt(library, environmentReader());
}
