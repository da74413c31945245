/**
 * Python libraries as references; a test skips where they are absent.
 *
 * @module
 */

/**
 * Output of a Python program.
 *
 * @param needs The libraries it imports, for the message that they are missing.
 * @returns Its standard output; undefined where Python or a library is missing.
 * @throws {Error} If the program fails for another reason.
 */
export async function python(
  needs: string,
  program: string,
  ...args: readonly string[]
): Promise<string | undefined> {
  try {
    const { code, stdout, stderr } = await new Deno.Command("python3", {
      args: ["-c", program, ...args],
    }).output();
    const error = new TextDecoder().decode(stderr);
    if (code === 0) return new TextDecoder().decode(stdout);
    if (!/ModuleNotFoundError/.test(error)) throw new Error(error);
  } catch (error) {
    if (!(error instanceof Deno.errors.NotFound)) throw error;
  }
  console.log(`skipped: Python with ${needs} is missing`);
  return undefined;
}
