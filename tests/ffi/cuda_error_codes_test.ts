// The table of statuses is complete: it contains every code of the CUDA runtime and of the C ABI.

import { assert, assertEquals } from "@std/assert";
import { CUDA_ERROR_CODES, cudaErrorCode } from "../../src/ffi/error_codes.ts";
import { toolkitHeader } from "../support/cuda_toolkit.ts";
import { headerText } from "../support/header.ts";

interface DocumentedCode {
  readonly code: number;
  readonly name: string;
  readonly documentation: string;
}

/** The members of `enum cudaError` with the comment before each. */
function readCudaErrors(header: string): DocumentedCode[] {
  const body = /enum __device_builtin__ cudaError\s*\{([\s\S]*?)\n\};/.exec(header)![1]!;
  const member = /\/\*\*([\s\S]*?)\*\/\s*,?\s*(cuda\w+)\s*=\s*(\d+)/g;
  return [...body.matchAll(member)].map(([, documentation, name, code]) => ({
    code: Number(code),
    name: name!,
    documentation: documentation!.replaceAll(/\s*\n\s*\*\s*/g, " "),
  }));
}

const driverTypes = toolkitHeader("driver_types.h");
const absent = driverTypes === undefined ? " (skipped: no CUDA toolkit)" : "";

Deno.test({
  name: `CUDA_ERROR_CODES contains every code of driver_types.h with its name${absent}`,
  ignore: driverTypes === undefined,
  fn() {
    const documented = readCudaErrors(driverTypes!);
    assert(documented.length >= 130, `the header was misread: ${documented.length} codes`);
    const missing = documented.filter(({ code, name }) =>
      CUDA_ERROR_CODES.get(code)?.name !== name
    );
    assertEquals(missing.map(({ code, name }) => `${name} (${code})`), []);
  },
});

Deno.test({
  name: `CUDA_ERROR_CODES contains no CUDA code that CUDA 13.0 lacks${absent}`,
  ignore: !driverTypes?.includes("cudaErrorTensorMemoryLeak"),
  fn() {
    const documented = new Set(readCudaErrors(driverTypes!).map(({ code }) => code));
    const invented = [...CUDA_ERROR_CODES.keys()].filter((code) => code >= 0)
      .filter((code) => !documented.has(code));
    assertEquals(invented, []);
  },
});

Deno.test({
  name: `CUDA_ERROR_CODES marks the fatal codes of driver_types.h as sticky${absent}`,
  ignore: driverTypes === undefined,
  fn() {
    const fatal = readCudaErrors(driverTypes!)
      .filter(({ documentation }) => /process must be\s+terminated/.test(documentation))
      .map(({ code }) => code);
    assert(fatal.length >= 12, `the header was misread: ${fatal}`);
    const sticky = [...CUDA_ERROR_CODES.values()].filter((code) => code.sticky)
      .map(({ code }) => code);
    // 214 and 220: hardware errors that lose the context, though the header does not say so.
    assertEquals(sticky, [...fatal, 214, 220].sort((a, b) => a - b));
  },
});

Deno.test("CUDA_ERROR_CODES has every GS_ERROR of csrc/gridstride_status.h", () => {
  const defined = [...headerText().matchAll(/#define (GS_ERROR_\w+) \((-\d+)\)/g)]
    .map(([, name, code]) => `${name} ${code}`);
  const listed = [...CUDA_ERROR_CODES.values()].filter(({ code }) => code < 0 && code > -1000)
    .map(({ name, code }) => `${name} ${code}`);
  assert(defined.length >= 15);
  assertEquals(listed.sort(), defined.sort());
});

Deno.test("CUDA_ERROR_CODES has whole sentences as meaning and advice", () => {
  for (const { name, meaning, advice } of CUDA_ERROR_CODES.values()) {
    for (const text of [meaning, advice]) {
      assert(/^[A-Z].*[A-Za-z0-9)"*_]\.$/.test(text), `${name}: ${text}`);
      assert(!/\s\s|undefined/.test(text), `${name}: ${text}`);
    }
    assert(!/[.;] /.test(meaning) || meaning.includes(";"), `${name}: one sentence: ${meaning}`);
  }
});

Deno.test("CUDA_ERROR_CODES has no name twice", () => {
  const names = [...CUDA_ERROR_CODES.values()].map(({ name }) => name);
  assertEquals(new Set(names).size, names.length);
});

Deno.test("`cudaErrorCode()` describes an unknown code", () => {
  for (const code of [123456, -99]) {
    const unknown = cudaErrorCode(code);
    assertEquals(unknown.code, code);
    assert(unknown.name.includes("unknown") && unknown.advice !== "" && !unknown.sticky);
  }
});
