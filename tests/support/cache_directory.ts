/**
 * The compile cache of the tests, in the place of that of whoever runs them: what tests compile is
 * no use to anybody else, and what others compiled must not decide a test.
 *
 * Imported for its effect by whatever opens a device, a compiler or a process. It is one directory
 * for all tests and all runs, so that the second run finds what the first has compiled.
 *
 * @module
 */

/** The variable that names the directory, here and in the processes that tests start. */
const VARIABLE = "GRIDSTRIDE_CACHE_DIR";

/** Where the cache of tests is, unless the environment says where. */
export const testCacheDirectory: string = Deno.env.get(VARIABLE) ??
  new URL("../../build/test-cache", import.meta.url).pathname;

Deno.env.set(VARIABLE, testCacheDirectory);
