/**
 * What the members for the compile cache are called with, and what compiles without a device.
 *
 * @module
 */

import fc from "fast-check";
import { anyNumber, type Arguments, mostly, options, takes } from "./values.ts";

/** No place where a file could be made; the campaign's own is that of `GRIDSTRIDE_CACHE_DIR`. */
const directory = fc.constantFrom("", "here", "./cache", "/proc/gridstride", "/dev/null/cache");

const maxBytes = fc.oneof(
  anyNumber,
  fc.constantFrom("0", "1", "512MiB", "1 GiB", "", "much"),
  fc.string(),
);

/** Whether options name a directory that arbitrary text may have made a real one. */
function isElsewhere(value: unknown): boolean {
  if (typeof value !== "object" || value === null) return false;
  const given = Object.getOwnPropertyDescriptor(value, "directory")?.value;
  return typeof given === "string" && given.startsWith("/") &&
    !given.startsWith("/proc/") && !given.startsWith("/dev/null/");
}

/** Mostly one source and one target, as each other one starts a compiler. */
const target = fc.record({
  kind: fc.constant("host"),
  capability: mostly(fc.constant("8.9")),
});

/** The members. */
export const CACHE_MEMBERS: Readonly<Record<string, Arguments>> = {
  "function configureKernelCache": takes(options({ directory, maxBytes, enabled: fc.boolean() }))
    .filter((list) => !list.some(isElsewhere)),
  "function kernelCacheStats": takes(),
  "function clearKernelCache": takes(),
  "function listKernelCache": takes(),
  "function readKernelFile": takes(
    fc.constantFrom("/proc/gridstride/k.cu", "", "none.cu"),
    options({ include: fc.array(fc.constantFrom("", "/proc/gridstride", ".")) }),
  ),
  "function compileImage": takes(
    fc.constant(""),
    fc.record({ target: mostly(target), name: mostly(fc.constant("a.cu")) }, {
      requiredKeys: ["target"],
    }),
  ),
};
