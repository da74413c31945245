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
