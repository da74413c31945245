import { assertEquals, assertThrows } from "@std/assert";
import { type Diagnostic, diagnosticText } from "../../../src/launch/compile/compile_error.ts";

Deno.test("diagnosticText() shows place and line as far as they are known", () => {
  const [severity, message] = ["error", "no such name"] as const;
  assertEquals(diagnosticText({ severity, message }), "error: no such name");
  assertEquals(
    diagnosticText({ severity, message, file: "a.cu", line: 12, column: 3, text: "\ty = 1;" }),
    "a.cu:12:3: error: no such name\n   12 | \ty = 1;\n      | \t ^",
  );
  assertEquals(
    diagnosticText({ severity, message, file: "a.cu", line: 1, text: "" }),
    "a.cu:1: error: no such name\n    1 | ",
  );
});

Deno.test("diagnosticText() shortens a long line around the mark", () => {
  const wide = (length: number, column?: number) => {
    const text = Array.from({ length }, (_, index) => "abcdefghij"[index % 10]!).join("");
    const place = { file: "a.cu", line: 1, ...(column === undefined ? {} : { column }) };
    const shown = diagnosticText({ severity: "error", message: "m", ...place, text }).split("\n");
    return { line: shown[1]!.slice(8), marked: shown[1]![shown[2]?.indexOf("^") ?? -1] };
  };
  assertEquals(wide(240, 240), { line: "abcdefghij".repeat(24), marked: "j" });
  for (const [column, letter] of [[1, "a"], [120, "j"], [5003, "c"], [10_000, "j"]] as const) {
    const { line, marked } = wide(10_000, column);
    assertEquals([line.replaceAll("…", "").length, marked], [240, letter], `${column}`);
  }
  assertEquals(wide(241).line, "abcdefghij".repeat(24) + "…");
  // Behind the end, where something is missing.
  assertEquals(wide(10_000, 10_001), { line: "…" + "abcdefghij".repeat(24), marked: undefined });
});

Deno.test("diagnosticText() names the wrong member of an invalid diagnostic", () => {
  const sound = { severity: "error", message: "m" };
  const refused = [
    [null, "diagnostic must be an object: it is null"],
    [{ ...sound, severity: undefined }, "its severity must be a string: it is undefined"],
    [{ ...sound, text: 7 }, "its text must be a string: it is 7"],
    [{ ...sound, line: "7" }, 'its line must be a number: it is "7"'],
  ] as const;
  for (const [value, message] of refused) {
    assertThrows(() => diagnosticText(value as unknown as Diagnostic), TypeError, message);
  }
});
