/**
 * The NVRTC of this machine: found, opened, and asked what it is.
 *
 * @module
 */

import { isAbsolute } from "node:path";
import type { EnvironmentReader } from "../../ffi/granted_environment.ts";
import type { NativeLibrary } from "../../ffi/library.ts";
import { compileNvrtc, openNvrtc } from "../../ffi/native_nvrtc.ts";
import { rememberedIdentity } from "../cache/compiler_identity.ts";
import { CompilerUnavailableError } from "./compiler_unavailable_error.ts";
import { ISOLATING_OPTIONS } from "./nvrtc_options.ts";
import {
  NVRTC_VARIABLE,
  type NvrtcAttempt,
  type NvrtcCandidate,
  searchNvrtc,
  unreadVariables,
} from "./nvrtc_search.ts";
import { mayRead, realPath } from "./readable_files.ts";
import type { ToolkitVersion } from "./toolkit_headers.ts";

/** An NVRTC that can be used. */
export interface NvrtcInstallation {
  /** The library and its builtins. */
  readonly candidate: NvrtcCandidate;
  /** Its version: that of the toolkit it belongs to. */
  readonly version: ToolkitVersion;
  /** Those of {@linkcode ISOLATING_OPTIONS} that it knows. */
  readonly isolating: readonly string[];
  /** All that tells it from another: version, builds, files. */
  readonly identity: readonly string[];
}

/** Why a library is not used. */
export class UnusableNvrtc extends Error {
  override readonly name: string = "UnusableNvrtc";
}

/**
 * Finds NVRTC. One that an earlier process has used is known by its files; else it is opened.
 *
 * @throws {CompilerUnavailableError} If there is none; it lists every place that was tried.
 */
export async function findNvrtc(
  library: NativeLibrary,
  environment: EnvironmentReader,
): Promise<NvrtcInstallation> {
  const attempts: NvrtcAttempt[] = [];
  for (const found of searchNvrtc({ environment })) {
    if (!("library" in found)) {
      attempts.push(found);
      continue;
    }
    try {
      return await describe(library, found, ambientOptions(environment));
    } catch (error) {
      if (!(error instanceof UnusableNvrtc)) throw error;
      attempts.push({ path: found.library, origin: found.origin, reason: error.message });
    }
  }
  throw new CompilerUnavailableError(absenceMessage(attempts));
}

function absenceMessage(attempts: readonly NvrtcAttempt[]): string {
  const unread = unreadVariables();
  return [
    "Cannot compile for CUDA with NVRTC as there is none that can be used:",
    ...attempts.map(({ path, origin, reason }) => `  ${path} (${origin}): ${reason}`),
    ...(unread.length === 0
      ? []
      : [`Not read, as --allow-env does not cover it: ${unread.join(", ")}.`]),
    `Install the CUDA toolkit, or NVRTC alone with \`pip install nvidia-cuda-nvrtc\`, or name the ` +
    `directory of libnvrtc.so in ${NVRTC_VARIABLE}.`,
  ].join("\n");
}

/** Opens the library that a candidate is; it stays the same for as long as the process runs. */
export function openCandidate(library: NativeLibrary, candidate: NvrtcCandidate): ToolkitVersion {
  const opening = openNvrtc(library, candidate.library, candidate.builtins);
  if ("problem" in opening) throw new UnusableNvrtc(opening.problem);
  const { path, version } = opening;
  if (isAbsolute(candidate.library) && realPath(path) !== realPath(candidate.library)) {
    throw new UnusableNvrtc(`this process has opened ${path} already`);
  }
  return version;
}

/** Options that NVRTC itself takes from the environment. */
function ambientOptions(environment: EnvironmentReader): string[] {
  return [environment("NVRTC_APPEND_FLAGS") ?? ""];
}

async function describe(
  library: NativeLibrary,
  candidate: NvrtcCandidate,
  ambient: readonly string[],
): Promise<NvrtcInstallation> {
  const files = [candidate.library, candidate.builtins].filter(isAbsolute);
  const find = () => askIdentity(library, candidate);
  // A library that the system finds by name has no file whose state could be looked at.
  const basis = { subject: "NVRTC", files, settings: [...ISOLATING_OPTIONS, ...ambient] };
  const identity = files.length === 0 ? await find() : await rememberedIdentity(basis, find);
  const [version = "", isolating = ""] = identity;
  const [major, minor] = version.split(".").map(Number);
  return {
    candidate,
    version: [major!, minor!],
    isolating: isolating.split(" ").filter((option) => option !== ""),
    identity: [...identity, ...ambient],
  };
}

/** Its version, the isolating options it knows, its build, and the digests of its files. */
async function askIdentity(
  library: NativeLibrary,
  candidate: NvrtcCandidate,
): Promise<readonly string[]> {
  const version = openCandidate(library, candidate);
  const { options, build } = await probe(library);
  const files = [candidate.library, candidate.builtins].filter(isAbsolute).filter(mayRead);
  const digests = await Promise.all(files.map(fileDigest));
  return [version.join("."), options.join(" "), build, ...digests];
}

/**
 * Compiles nothing, with as many of the isolating options as NVRTC knows. The comments at the start
 * of what comes of it name the build of the compiler, which the version does not tell.
 */
async function probe(library: NativeLibrary): Promise<{ options: string[]; build: string }> {
  let options = [...ISOLATING_OPTIONS];
  let ptx = await emptyProgram(library, options);
  if (ptx === undefined) {
    const known = await Promise.all(
      ISOLATING_OPTIONS.map(async (option) =>
        await emptyProgram(library, [option]) === undefined ? [] : [option]
      ),
    );
    options = known.flat();
    ptx = await emptyProgram(library, options);
  }
  if (ptx === undefined) throw new UnusableNvrtc("it does not compile an empty source");
  return { options, build: ptx.split("\n").filter((line) => line.startsWith("//")).join("\n") };
}

async function emptyProgram(
  library: NativeLibrary,
  options: readonly string[],
): Promise<string | undefined> {
  const result = await compileNvrtc(library, {
    source: "",
    name: "empty.cu",
    options,
    headers: new Map(),
    expressions: [],
  });
  return "refused" in result ? undefined : new TextDecoder().decode(result.ptx);
}

async function fileDigest(path: string): Promise<string> {
  const digest = await crypto.subtle.digest("SHA-256", await Deno.readFile(path));
  return new Uint8Array(digest).toHex();
}
