/**
 * Redirects the compile cache of tests to a directory of their own, which all runs share.
 *
 * Modules that open a device, a compiler or a process import it for its effect.
 *
 * @module
 */

/** The variable that names the directory, here and in the processes that tests start. */
const VARIABLE = "GRIDSTRIDE_CACHE_DIR";

/** The cache of tests; the environment can name another. */
export const testCacheDirectory: string = Deno.env.get(VARIABLE) ??
  new URL("../../build/test-cache", import.meta.url).pathname;

Deno.env.set(VARIABLE, testCacheDirectory);
