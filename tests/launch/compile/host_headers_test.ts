import { assertEquals, assertRejects, assertStrictEquals } from "@std/assert";
import { openHostHeaders } from "../../../src/launch/compile/host_headers.ts";
import { PACKAGE_ROOT } from "../../../src/ffi/locate.ts";
import { TemporaryDirectory } from "../../support/temporary_file.ts";

/** A package on a server: its native sources, of which some are headers of the host device. */
const FILES: Readonly<Record<string, string>> = {
  "csrc/host/include/cuda_runtime.h": "#pragma once\n",
  "csrc/host/include/gridstride/qualifiers.h": "#define __global__\n",
  "csrc/shim/launch/launch.cu": "int launch;\n",
};

Deno.test("headers beside the module are used where they are", async () => {
  const { directory, files } = await openHostHeaders();
  assertStrictEquals(`${directory}/`, new URL("csrc/host/include/", PACKAGE_ROOT).pathname);
  for (const file of files) assertStrictEquals(Deno.statSync(file).isFile, true);
});

Deno.test("headers of an imported package are fetched once, whole, and by the next process not again", async () => {
  using cache = new TemporaryDirectory();
  const asked: string[] = [];
  let fails = "/csrc/host/include/gridstride/qualifiers.h";
  const server = Deno.serve({ port: 0, hostname: "127.0.0.1", onListen: () => {} }, ({ url }) => {
    const { pathname } = new URL(url);
    asked.push(pathname);
    const file = pathname.replace(/^\/\w*\//, "");
    const text = FILES[pathname.slice(1)] ?? FILES[file];
    return pathname === fails || text === undefined
      ? new Response("gone", { status: 404 })
      : new Response(text);
  });
  try {
    const open = (query: string) =>
      openHostHeaders(
        new URL(`http://127.0.0.1:${server.addr.port}/${query}`),
        Object.keys(FILES),
        () => cache.path,
      );
    await assertRejects(() => open(""), Error, "the server answers 404");
    fails = "";
    const { directory, files } = await open("");
    assertStrictEquals(directory, `${cache.path}/source/csrc/host/include`);
    assertEquals(files.map((file) => Deno.readTextFileSync(file)), [
      "#pragma once\n",
      "#define __global__\n",
    ]);
    assertEquals(asked.filter((path) => path.endsWith("launch.cu")), []);
    const before = asked.length;
    await open("");
    // What another process finds: the same note, and no answer that is remembered.
    await open("");
    assertStrictEquals(asked.length, before);
    // Another version has other files.
    await open("v2/");
    assertStrictEquals(asked.length, before + 2);
  } finally {
    await server.shutdown();
  }
});
