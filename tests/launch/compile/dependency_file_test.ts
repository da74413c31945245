// What compilers write for make is read as make reads it, and what of it nobody knew of is found.

import { assertEquals } from "@std/assert";
import { readDependencies } from "../../../src/ffi/build/dependency_rule.ts";
import { unseenFiles } from "../../../src/launch/compile/dependency_file.ts";

Deno.test("the files of a rule, whatever they are called", () => {
  assertEquals(readDependencies("kernels: source.cpp\n"), ["source.cpp"]);
  assertEquals(readDependencies("a : b.h \\\n  c\\ d.h \\\r\n e\\#f.h g$$h.h\n"), [
    "b.h",
    "c d.h",
    "e#f.h",
    "g$h.h",
  ]);
  assertEquals(readDependencies("C:/a/kernels: C:/b.h\n"), ["C:/b.h"]);
  for (const text of ["", "kernels:\n", "no rule"]) assertEquals(readDependencies(text), []);
});

Deno.test("a file is unseen unless it is the request's, known, or the compiler's", () => {
  const known = {
    directory: "/tmp/compile",
    files: new Set(["/home/me/known.h"]),
    searched: ["/home/me", "/usr/local/mine"],
    trusted: ["/usr/", "/opt/cuda"],
  };
  const seen = ["source.cpp", "headers/a.h", "/home/me/x/../known.h", "/usr/include/a.h"];
  assertEquals(unseenFiles(seen, known), []);
  const unseen = ["../a.h", "/home/me/other.h", "/usr/local/mine/a.h", "/opt/cuda_too/a.h"];
  assertEquals(unseenFiles([...seen, ...unseen, "../a.h"], known), [
    "/tmp/a.h",
    ...unseen.slice(1),
  ]);
});
