import { assert, assertEquals, assertThrows } from "@std/assert";
import { CompileError } from "../../../src/launch/compile/compile_error.ts";
import {
  filesOnDisk,
  type HeaderPlaces,
  hidesIncludes,
  identityOf,
  includedNames,
  includedTexts,
} from "../../../src/launch/compile/includes.ts";
import { TemporaryDirectory } from "../../support/temporary_file.ts";
import { request as hostRequest } from "./host_request.ts";

function request(source: string, headers: Record<string, string> = {}) {
  return hostRequest(source, { name: "kernel.cu", headers: new Map(Object.entries(headers)) });
}

const NOWHERE: HeaderPlaces = { directories: [], toolkit: [], first: [] };

Deno.test("includedNames() finds #include lines in all spellings", () => {
  const source = `#include "a.h"
  #  include<b/c.h> // why
#include	"d e.h"
 int x; #include "not.h"
#include MACRO
#include_next <not.h>
// #include "not.h"
`;
  assertEquals(includedNames(source), ['"a.h"', "<b/c.h>", '"d e.h"']);
});

Deno.test("includedTexts() prefers a header beside the including file", () => {
  const asked = request('#include "d/a.h"\n#include "b.h"\n', {
    "d/a.h": '#include "b.h"\n#include "../b.h"\n#include <b.h>\n#include "e/f.h"\n',
    "d/b.h": "inner",
    "b.h": "outer",
    "d/e/f.h": '#include "../../b.h"\n',
  });
  const { headers, source, own } = includedTexts(asked, NOWHERE);
  assertEquals(source, asked.source);
  assertEquals(
    headers.get("d/a.h"),
    '#include "d/b.h"\n#include "b.h"\n#include <b.h>\n#include "d/e/f.h"\n',
  );
  assertEquals(headers.get("d/e/f.h"), '#include "b.h"\n');
  assert(["kernel.cu", "d/a.h", "d/b.h", "b.h", "d/e/f.h"].every((name) => own.has(name)));
});

Deno.test("includedTexts() searches directories in order, after the request's headers", () => {
  using one = TemporaryDirectory.of({
    "both.h": "one",
    "nested/in.h": '#include "deep.h"',
    "nested/deep.h": "deep",
  });
  using two = TemporaryDirectory.of({
    "both.h": "two",
    "only.h": '#include "both.h"\n',
    "mine.h": "wrong",
  });
  const asked = request(
    '#include <both.h>\n#include "only.h"\n#include "nested/in.h"\n#include "mine.h"\n',
    {
      "mine.h": "right",
    },
  );
  const places = { ...NOWHERE, directories: [one.path, two.path] };
  const { headers, source } = includedTexts(asked, places);
  assertEquals(source, asked.source);
  assertEquals(headers.get("both.h"), "one");
  assertEquals(headers.get("mine.h"), "right");
  assertEquals(headers.get("nested/in.h"), '#include "nested/deep.h"');
  // Its own neighbour has a name that is taken, and so goes by its path.
  assertEquals(headers.get("only.h"), `#include "${two.path}/both.h"\n`);
  assertEquals(headers.get(`${two.path}/both.h`), "two");
  const texts = identityOf(filesOnDisk(asked, places));
  assert(["one", "two", "deep"].every((text) => texts.includes(text)));
  assert(!texts.includes("right"), "the key has the headers of the request already");
});

Deno.test("includedTexts() reads absolute paths, and leaves absent files to the compiler", () => {
  using files = TemporaryDirectory.of({ "far.h": '#include "near.h"\n', "near.h": "near" });
  const asked = request(
    `#include "${files.path}/far.h"\n#include <absent.h>\n#include "/absent.h"\n`,
  );
  const { headers, source } = includedTexts(asked, NOWHERE);
  assertEquals(source, asked.source);
  assertEquals(headers.get(`${files.path}/far.h`), `#include "${files.path}/near.h"\n`);
  assertEquals(headers.get(`${files.path}/near.h`), "near");
  assert(!headers.has("absent.h"));
});

Deno.test("includedTexts() prefers the request's headers to the standard headers", () => {
  const { headers, own } = includedTexts(
    request("#include <limits.h>\n", { "limits.h": "mine" }),
    NOWHERE,
  );
  assertEquals(headers.get("limits.h"), "mine");
  // Ours, which the prelude needs, has another name then.
  const [, ours] = [...headers].find(([name]) => name === "gridstride/limits.h")!;
  assert(ours.includes("INT_MAX"));
  assert(own.has("limits.h") && !own.has("gridstride/limits.h"));
});

Deno.test("filesOnDisk() covers the toolkit's headers that the program includes", () => {
  using toolkit = TemporaryDirectory.of({
    "cuda_fp16.h": '#include "vector.h"\n#include <cccl.h>\n',
    "vector.h": "vector",
    "cccl.h": "cccl",
    "unused.h": "unused",
  });
  const places = { ...NOWHERE, toolkit: [toolkit.path] };
  const asked = request("#include <cuda_fp16.h>\n");
  const identity = identityOf(filesOnDisk(asked, places));
  const { size, mtime } = Deno.statSync(`${toolkit.path}/cuda_fp16.h`);
  const own = identity.filter((part) => part.startsWith(toolkit.path));
  assertEquals(own, [`${toolkit.path}/cuda_fp16.h ${size} ${mtime!.getTime()}`]);
  const found = includedTexts(asked, places);
  assertEquals(found.headers.get("vector.h"), "vector");
  assert(!found.headers.has("unused.h") && !found.own.has("cuda_fp16.h"));
  const computed = includedTexts(asked, { ...places, computed: ["unused.h", "absent.h"] });
  assertEquals(computed.headers.get("unused.h"), "unused");
});

Deno.test("filesOnDisk() refuses a device in place of a header", () => {
  assertThrows(
    () => filesOnDisk(request('#include "/dev/zero"\n'), NOWHERE),
    CompileError,
    "cannot include /dev/zero as it must be a file",
  );
  using files = TemporaryDirectory.of({ "folder/a.h": "a" });
  const places = { ...NOWHERE, directories: [files.path] };
  assertEquals(filesOnDisk(request("#include <folder>\n"), places), []);
});

Deno.test("hidesIncludes() finds absolute paths in unusual directives", () => {
  const hidden = [
    "#include H",
    '#define H "/a.h"\n#include H',
    '#include/**/"/a.h"',
    '# /* */ include "/a.h"',
    '#include \\\n"/a.h"',
    '%:include"/b.h"',
    "#include_next </a.h>",
    '#import "/a.h"',
  ];
  for (const text of hidden) assert(hidesIncludes([text]), text);
  const visible = [
    '#include "/a.h"',
    '#include "a.h"',
    "// include H and import everything\nint include;",
    'const char* text = "\\n#include H";',
  ];
  for (const text of visible) assert(!hidesIncludes([text]), text);
});
