/**
 * The output that an example of the documentation claims, in the comment after `console.log()`.
 *
 * @module
 */

/** The text that `console.log()` prints, in one line. */
function outputOf(values: readonly unknown[]): string {
  return values.map((value) => typeof value === "string" ? value : Deno.inspect(value))
    .join(" ").replace(/\s+/g, " ").trim();
}

const NUMBER = /-?\b\d+(?:\.\d+)?(?:e-?\d+)?n?\b/g;

/** Rounds numbers to as many decimals as those of another text show, if they show any. */
function roundedLike(text: string, shown: string): string {
  const numbers = shown.match(NUMBER) ?? [];
  let at = 0;
  return text.replace(NUMBER, (number) => {
    const [, decimals] = /^-?\d+\.(\d+)$/.exec(numbers[at++] ?? "") ?? [];
    return decimals === undefined ? number : Number(number).toFixed(decimals.length);
  });
}

/**
 * Whether values print as a comment says. The comment may round numbers, leave out the class of a
 * typed array, end in `…`, or add a remark in words after a colon.
 */
export function isShown(values: readonly unknown[], comment: string): boolean {
  const claim = comment.replace(/: [A-Za-z][\w ,-]*$/, "").replace(/\s+/g, " ").trim();
  let output = outputOf(values);
  if (!/\w+Array\(/.test(claim)) output = output.replace(/\b\w+Array\(\d+\) (?=\[)/g, "");
  if (claim.endsWith("…")) return output.startsWith(claim.slice(0, -1).trim());
  return roundedLike(output, claim) === claim;
}

/** Fails unless values print as a comment says. */
export function requireShown(comment: string, ...values: readonly unknown[]): void {
  if (isShown(values, comment)) return;
  throw new Error(`The comment shows ${comment} where the example prints ${outputOf(values)}`);
}

/** An example that fails if it prints something else than its comments show. */
export function checkedExample(source: string): string {
  const checked = source.replaceAll(
    /console\.log\((.*)\); *\/\/ (.+(?:\n *\/\/ .+)*)$/gm,
    (_, values, comment) => {
      const claim = comment.replace(/\n *\/\//g, " ");
      return `requireShown(${JSON.stringify(claim)}, ${values});`;
    },
  );
  return `import { requireShown } from ${JSON.stringify(import.meta.url)};\n${checked}`;
}
