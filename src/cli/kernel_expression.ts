/**
 * The kernel that a signature is of, as C++ names it.
 *
 * @module
 */

/** What may stand before a kernel's name. */
const HEAD = /^(?:(?:extern|"C"|static|inline|__global__|void)\s+)+/;

/**
 * The name in a signature with the template arguments that make it an instance: of
 * `void tile<float, (1 > 0)>(const float* x)` it is `tile<float, (1 > 0)>`. Whether the signature is
 * one is the library's to say.
 */
export function kernelExpression(signature: string): string {
  let angles = 0;
  let rounds = 0;
  for (const { 0: character, index } of signature.matchAll(/[<>()]/g)) {
    // The parameters begin with the first parenthesis outside of template arguments.
    if (character === "(" && angles === 0) return nameIn(signature.slice(0, index));
    if (character === "(") rounds++;
    else if (character === ")") rounds--;
    // A comparison among template arguments has to be in parentheses.
    else if (rounds === 0) angles += character === "<" ? 1 : -1;
  }
  return nameIn(signature);
}

function nameIn(head: string): string {
  return head.trim().replace(HEAD, "").trim();
}
