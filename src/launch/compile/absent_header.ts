/**
 * Where a header that a source includes was looked for in vain.
 *
 * @module
 */

import { join } from "node:path";
import { isThere } from "./readable_files.ts";
import {
  toolkitDirectories,
  type ToolkitDirectory,
  type ToolkitSearch,
  type ToolkitVersion,
  versionText,
} from "./toolkit_headers.ts";

/** What completes `cannot open source file "cuda_fp16.h": …`. */
export function absentHeader(
  header: string,
  { wanted, fitting, others, absent }: ToolkitSearch,
  directories: readonly string[],
): string {
  const elsewhere = others.find((toolkit) => holds(toolkit, header));
  if (elsewhere !== undefined) {
    return `it must be of CUDA ${versionText(wanted)}, as the compiler is, and that in ` +
      `${elsewhere.path} is of CUDA ${versionText(elsewhere.version)}`;
  }
  const places = [
    "the headers of the request",
    ...directories,
    "the standard headers of Gridstride",
    ...toolkitDirectories(fitting),
  ];
  const none = fitting.length > 0 ? "" : noToolkit(wanted, absent);
  return `it is not in ${places.join(", ")}${none}`;
}

/** Whether a toolkit of the wanted version has a header. */
export function isInToolkit(header: string, { fitting }: ToolkitSearch): boolean {
  return fitting.some((toolkit) => holds(toolkit, header));
}

function holds(toolkit: ToolkitDirectory, header: string): boolean {
  return toolkitDirectories([toolkit]).some((directory) => isThere(join(directory, header)));
}

function noToolkit(wanted: ToolkitVersion, absent: readonly string[]): string {
  const tried = absent.length === 0 ? "" : `: not in ${absent.join(", ")}`;
  return `, and there are no headers of CUDA ${versionText(wanted)} on this machine${tried}`;
}
