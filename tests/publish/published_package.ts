/**
 * Serves exactly the published files over HTTP. Like a registry, it resolves bare imports.
 *
 * @module
 */

import { assertEquals } from "@std/assert";
import { configuration, ROOT, runDeno } from "../style/repository.ts";

/** The files that `deno publish` would upload, relative to the root of the repository. */
export async function publishedFiles(): Promise<string[]> {
  const { code, output } = await runDeno("publish", "--dry-run", "--allow-dirty", "--no-check");
  assertEquals(code, 0, output);
  return [...output.matchAll(/^\s+(file:\S+) \([^)]*\)$/gm)]
    .map((match) => decodeURI(match[1]!).slice(decodeURI(ROOT.href).length));
}

const TYPESCRIPT = "application/typescript";

/** A static server of the package. */
export interface PackageServer extends AsyncDisposable {
  /** The folder of `mod.ts`. */
  readonly root: URL;
  /** The requested files of the package, each once. */
  readonly served: ReadonlySet<string>;
  /** The requested files that are not part of the package. */
  readonly missed: readonly string[];
}

/** Replaces the bare imports of a module by the import map. */
function rewriteImports(text: string, imports: Readonly<Record<string, string>>): string {
  return text.replace(
    /(\bfrom\s+|\bimport\s*\(?\s*)"([^"\n]+)"/g,
    (whole, before, specifier) => specifier in imports ? `${before}"${imports[specifier]}"` : whole,
  );
}

/** Serves the published files on a free port of this machine. */
export async function servePackage(): Promise<PackageServer> {
  const files = new Set(await publishedFiles());
  const { imports } = configuration();
  const served = new Set<string>();
  const missed: string[] = [];
  const server = Deno.serve({
    hostname: "127.0.0.1",
    port: 0,
    onListen: () => {},
  }, async (request) => {
    const file = decodeURIComponent(new URL(request.url).pathname.slice(1));
    if (!files.has(file)) {
      missed.push(file);
      return new Response("not found", { status: 404 });
    }
    served.add(file);
    const text = await Deno.readTextFile(new URL(file, ROOT));
    return file.endsWith(".ts")
      ? new Response(rewriteImports(text, imports), { headers: { "content-type": TYPESCRIPT } })
      : new Response(text, { headers: { "content-type": "text/plain" } });
  });
  const root = new URL(`http://127.0.0.1:${server.addr.port}/`);
  return { root, served, missed, [Symbol.asyncDispose]: () => server.shutdown() };
}
