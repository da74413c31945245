/**
 * The key of the compile cache: everything that the machine code of a source depends on. It is made
 * of the program's inputs, because parsing a source takes longer than a cache hit.
 *
 * @module
 */

import { fileURLToPath } from "node:url";
import { mayRead } from "../../ffi/granted_environment.ts";
import { PACKAGE_ROOT } from "../../ffi/locate.ts";
import { VERSION } from "../../ffi/version.ts";
import type { CompileInputs } from "../compile/compiler.ts";
import { fileState, namesIn, statOf } from "../compile/files.ts";

/** A compilation of a program. */
export interface SourceRequest extends CompileInputs {
  /** Instances of templates that are kernels, as C++ names them: `tile<float, 32>`. */
  readonly instances: readonly string[];
  /** The kernels to compile; undefined for all. */
  readonly kernels?: readonly string[] | undefined;
}

/** The version of keys and entries: entries of older versions are not found. */
export const CACHE_SCHEMA = 5;

/** The source folders that decide how a source is read and compiled. */
const FOLDERS: readonly string[] = [
  "src/launch",
  "src/launch/source",
  "src/launch/compile",
  "src/launch/cache",
  "src/launch/module",
  "src/ffi/build",
];

let ownState: string | undefined;

/**
 * The version of this package and, in a checkout under development, the states of its files.
 *
 * @param root The folder of the package's `mod.ts`.
 */
export function packageState(root: URL = PACKAGE_ROOT): string {
  if (root === PACKAGE_ROOT && ownState !== undefined) return ownState;
  const directory = root.protocol === "file:" ? fileURLToPath(root) : "";
  const isCheckout = directory !== "" && mayRead(directory) &&
    statOf(`${directory}.git`) !== undefined;
  const files = !isCheckout
    ? []
    : FOLDERS.flatMap((folder) =>
      (namesIn(directory + folder) ?? []).map((name) => fileState(`${directory}${folder}/${name}`))
    );
  const state = JSON.stringify([VERSION, ...files]);
  if (root === PACKAGE_ROOT) ownState = state;
  return state;
}

/**
 * The text behind the key: JSON, so two requests share a text only if they differ in
 * nothing but the order of headers, defines, instances and kernels.
 *
 * @param identity The identity of the compiler.
 */
export function keyText(identity: readonly string[], request: SourceRequest): string {
  const { target: { kind, capability }, headers, defines, instances } = request;
  // By code units: the result must not depend on the locale.
  const sorted = (texts: ReadonlyMap<string, string>) =>
    [...texts].sort(([one], [other]) => one < other ? -1 : 1);
  // A new field of a request does not compile until it is added here.
  const fields: { [Field in keyof SourceRequest]-?: unknown } = {
    target: [kind, capability],
    source: request.source,
    // Part of the machine code: __FILE__, assertions, line information.
    name: request.name,
    headers: sorted(headers),
    defines: sorted(defines),
    // In their order: the last of two contradicting options holds.
    options: request.options,
    instances: [...instances].sort(),
    kernels: request.kernels && [...request.kernels].sort(),
  };
  return JSON.stringify([CACHE_SCHEMA, packageState(), identity, fields]);
}

/** The SHA-256 digest of a text, as 64 hexadecimal digits. */
export async function textDigest(text: string): Promise<string> {
  return (await sha256(new TextEncoder().encode(text))).toHex();
}

export async function sha256(bytes: Uint8Array<ArrayBuffer>): Promise<Uint8Array<ArrayBuffer>> {
  return new Uint8Array(await crypto.subtle.digest("SHA-256", bytes));
}
