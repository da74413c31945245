// What a source includes is found as C++ finds it, and every file gets one name by which all who include
// it then do: also where two directories have files of the same name, or names lead up.

import { assert, assertEquals } from "@std/assert";
import type { CompileRequest } from "../../../src/launch/compile/compiler.ts";
import {
  includeDirectives,
  renameIncludes,
} from "../../../src/launch/compile/include_directives.ts";
import {
  type HeaderPlaces,
  includedIdentity,
  includedTexts,
  toolkitClosure,
} from "../../../src/launch/compile/nvrtc_headers.ts";

function request(source: string, headers: Record<string, string> = {}): CompileRequest {
  return {
    source,
    name: "kernel.cu",
    headers: new Map(Object.entries(headers)),
    defines: new Map(),
    options: [],
    expressions: [],
    target: { kind: "cuda", capability: "9.0" },
  };
}

const NOWHERE: HeaderPlaces = { directories: [], toolkit: [], first: [] };

/** A directory with files, removed at the end. */
function directoryWith(files: Record<string, string>): { path: string } & Disposable {
  const path = Deno.makeTempDirSync();
  for (const [name, text] of Object.entries(files)) {
    const file = `${path}/${name}`;
    Deno.mkdirSync(file.slice(0, file.lastIndexOf("/")), { recursive: true });
    Deno.writeTextFileSync(file, text);
  }
  return { path, [Symbol.dispose]: () => Deno.removeSync(path, { recursive: true }) };
}

Deno.test("#include lines are found in all their spellings, and nothing else is", () => {
  const source = `#include "a.h"
  #  include<b/c.h> // why
#include	"d e.h"
 int x; #include "not.h"
#include MACRO
#include_next <not.h>
// #include "not.h"
`;
  assertEquals(includeDirectives(source), [
    { name: "a.h", quoted: true },
    { name: "b/c.h", quoted: false },
    { name: "d e.h", quoted: true },
  ]);
  const renamed = renameIncludes(source, ({ name }) => name === "b/c.h" ? "z.h" : undefined);
  assertEquals(renamed, source.replace("<b/c.h>", '"z.h"'));
});

Deno.test("a header is found beside the one that includes it before any other of its name", async () => {
  const asked = request('#include "d/a.h"\n#include "b.h"\n', {
    "d/a.h": '#include "b.h"\n#include "../b.h"\n#include <b.h>\n#include "e/f.h"\n',
    "d/b.h": "inner",
    "b.h": "outer",
    "d/e/f.h": '#include "../../b.h"\n',
  });
  const { headers, source, own } = await includedTexts(asked, NOWHERE);
  assertEquals(source, asked.source);
  assertEquals(
    headers.get("d/a.h"),
    '#include "d/b.h"\n#include "b.h"\n#include <b.h>\n#include "d/e/f.h"\n',
  );
  assertEquals(headers.get("d/e/f.h"), '#include "b.h"\n');
  assert(["kernel.cu", "d/a.h", "d/b.h", "b.h", "d/e/f.h"].every((name) => own.has(name)));
});

Deno.test("directories are searched in their order, behind the request's headers", async () => {
  using one = directoryWith({
    "both.h": "one",
    "nested/in.h": '#include "deep.h"',
    "nested/deep.h": "deep",
  });
  using two = directoryWith({
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
  const { headers, source } = await includedTexts(asked, places);
  assertEquals(source, asked.source);
  assertEquals(headers.get("both.h"), "one");
  assertEquals(headers.get("mine.h"), "right");
  assertEquals(headers.get("nested/in.h"), '#include "nested/deep.h"');
  // Its own neighbour has a name that is taken, and so goes by its path.
  assertEquals(headers.get("only.h"), `#include "${two.path}/both.h"\n`);
  assertEquals(headers.get(`${two.path}/both.h`), "two");
  const { texts, toolkit } = await includedIdentity(asked, places);
  assert(["one", "two", "deep"].every((text) => texts.includes(text)));
  assert(!texts.includes("right"), "what the request has is in the key already");
  assertEquals(toolkit, []);
});

Deno.test("an absolute path is read, a file that is nowhere is left to the compiler", async () => {
  using files = directoryWith({ "far.h": '#include "near.h"\n', "near.h": "near" });
  const asked = request(
    `#include "${files.path}/far.h"\n#include <absent.h>\n#include "/absent.h"\n`,
  );
  const { headers, source } = await includedTexts(asked, NOWHERE);
  assertEquals(source, asked.source);
  assertEquals(headers.get(`${files.path}/far.h`), `#include "${files.path}/near.h"\n`);
  assertEquals(headers.get(`${files.path}/near.h`), "near");
  assert(!headers.has("absent.h"));
});

Deno.test("headers of the language belong to nobody, and give way to the request's", async () => {
  const { headers, own } = await includedTexts(
    request("#include <limits.h>\n", { "limits.h": "mine" }),
    NOWHERE,
  );
  assertEquals(headers.get("limits.h"), "mine");
  // Ours, which the prelude needs, has another name then.
  const [, ours] = [...headers].find(([name]) => name === "gridstride/limits.h")!;
  assert(ours.includes("INT_MAX"));
  assert(own.has("limits.h") && !own.has("gridstride/limits.h"));
});

Deno.test("a header that goes before the first line is included by the prelude", async () => {
  const places = { ...NOWHERE, first: ["before.h"] };
  const { headers } = await includedTexts(request("", { "before.h": "first" }), places);
  assert(headers.get("gridstride/prelude.h")!.endsWith('#include "before.h"\n'));
});

Deno.test("files that include each other are read once", async () => {
  const asked = request('#include "a.h"', { "a.h": '#include "b.h"', "b.h": '#include "a.h"' });
  const { headers } = await includedTexts(asked, NOWHERE);
  assertEquals(headers.get("b.h"), '#include "a.h"');
});

Deno.test("of the toolkit the key has what is included from outside, the digest all of it", async () => {
  using toolkit = directoryWith({
    "cuda_fp16.h": '#include "vector.h"\n#include <cccl.h>\n',
    "vector.h": "vector",
    "cccl.h": "cccl",
    "unused.h": "unused",
  });
  const places = { ...NOWHERE, toolkit: [toolkit.path] };
  const asked = request("#include <cuda_fp16.h>\n");
  const identity = await includedIdentity(asked, places);
  assertEquals(identity.toolkit, [`${toolkit.path}/cuda_fp16.h`]);
  const closure = await toolkitClosure(identity.toolkit, [toolkit.path]);
  assertEquals(
    closure.map(([path]) => path.slice(toolkit.path.length + 1)),
    ["cccl.h", "cuda_fp16.h", "vector.h"],
  );
  const { headers, own } = await includedTexts(asked, places);
  assertEquals(headers.get("vector.h"), "vector");
  assert(!headers.has("unused.h") && !own.has("cuda_fp16.h"));
  const computed = await includedTexts(asked, { ...places, computed: ["unused.h", "absent.h"] });
  assertEquals(computed.headers.get("unused.h"), "unused");
});
