import { assertStrictEquals } from "@std/assert";
import {
  evaluateCondition,
  MacroTable,
  readDirective,
} from "../../../src/launch/source/preprocessor.ts";

/** Macros of the conditions below; names with __ may be the compiler's own. */
const macros = new MacroTable(
  new Map([["ONE", "1"], ["SUM", "(ONE + 2)"], ["EMPTY", ""], ["SELF", "SELF"], ["A", "B"], [
    "B",
    "A",
  ]]),
  ["__ABSENT__"],
);
macros.apply(readDirective("#define CALL(x) x"), true);

const CONDITIONS: readonly (readonly [string, boolean | undefined])[] = [
  ["#if 0", false],
  ["#if /* one */ ONE", true],
  ["#if SUM == 3 && SUM != 4", true],
  ["#if 2 + 3 * 4 == 14 && (2 + 3) * 4 == 20", true],
  ["#if 1 < 2 && 2 <= 2 && 3 > 2 && 2 >= 2 && !(1 > 2)", true],
  ["#if 0x10uLL == 1'6 && 010 == 8 && 0b11 == 3", true],
  ["#if ONE ? 0 : 1", undefined],
  ["#if defined(ONE) && defined EMPTY && !defined(NOWHERE)", true],
  ["#if __ABSENT__ || defined(__ABSENT__)", false],
  ["#if __UNKNOWN__", undefined],
  ["#if __UNKNOWN__ && 0", false],
  ["#if __UNKNOWN__ || 1", true],
  ["#if !__UNKNOWN__", undefined],
  ["#if CALL(1) || __has_include(<a>)", undefined],
  ["#if A", undefined],
  // The compiler reports malformed expressions.
  ["#if", undefined],
  ["#if 1 +", undefined],
  ["#if 1 / 0", undefined],
  [`#if ${"(".repeat(10_000)}1`, undefined],
  [`#if ${"!".repeat(10_000)}1`, undefined],
  ["#ifdef ONE", true],
  ["#ifdef __UNKNOWN__", undefined],
  ["# \\\n if \\\n 1", true],
];

Deno.test("evaluateCondition() is undefined if the condition depends on an unseen macro", () => {
  for (const [text, expected] of CONDITIONS) {
    assertStrictEquals(evaluateCondition(readDirective(text), macros), expected, text.slice(0, 80));
  }
});
