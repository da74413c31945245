/**
 * The public members that `deno doc` lists.
 *
 * @module
 */

import * as runtime from "../../mod.ts";
import * as trace from "../../src/lab/trace/mod.ts";
import * as tuning from "../../src/lab/tuning/mod.ts";
import { repositoryPath } from "../support/subprocess.ts";

/** The entries with the called members. */
const ENTRIES = ["mod.ts", "src/lab/trace/mod.ts", "src/lab/tuning/mod.ts"];

/** The values that the entries export. */
export const PUBLIC: Readonly<Record<string, unknown>> = { ...runtime, ...trace, ...tuning };

interface Documented {
  readonly accessibility?: string;
}

interface MethodDocument extends Documented {
  readonly name: string;
  readonly kind: "method" | "getter" | "setter";
  readonly isStatic?: boolean;
}

interface Declaration {
  readonly kind: string;
  readonly declarationKind: string;
  readonly def: {
    readonly isAbstract?: boolean;
    readonly constructors?: readonly Documented[];
    readonly methods?: readonly MethodDocument[];
  };
}

interface DocumentedSymbol {
  readonly name: string;
  readonly declarations: readonly Declaration[];
}

/**
 * Members that a random call would misuse by design: counts of holders, callbacks at the end of an
 * object, text for `console.log`, and errors, which only store their arguments.
 */
const EXCLUDED =
  /^method (?:DeviceContext\.(?:retain|release)|\w+\.on(?:Close|Dispose|Launch)|\w+\.\[Symbol\.for\(.*)|^new \w+Error$/;

function isPublic({ accessibility }: Documented): boolean {
  return accessibility === undefined || accessibility === "public";
}

function classMembers(name: string, { def }: Declaration, isValue: boolean): string[] {
  const isMade = isValue && def.isAbstract !== true && (def.constructors ?? []).some(isPublic);
  const methods = (def.methods ?? []).filter(isPublic).filter(({ isStatic }) =>
    isValue || isStatic !== true
  );
  return [
    ...isMade ? [`new ${name}`] : [],
    ...methods.map((method) =>
      `${method.isStatic === true ? "static" : method.kind} ${name}.${method.name}`
    ),
  ];
}

/**
 * The functions, constructors, methods and getters of the entries: `function openDevice`,
 * `new Stream`, `static Stream.priorities`, `method Stream.wait`, `getter Stream.id`. Users cannot
 * construct a class that an entry exports as a type.
 */
export async function documentedMembers(): Promise<string[]> {
  const { success, stdout, stderr } = await new Deno.Command(Deno.execPath(), {
    args: ["doc", "--json", ...ENTRIES.map(repositoryPath)],
  }).output();
  if (!success) throw new Error(`deno doc failed: ${new TextDecoder().decode(stderr)}`);
  const { nodes } = JSON.parse(new TextDecoder().decode(stdout)) as {
    nodes: Readonly<Record<string, { readonly symbols: readonly DocumentedSymbol[] }>>;
  };
  const symbols = Object.values(nodes).flatMap((node) => node.symbols);
  const members = symbols.flatMap(({ name, declarations }) =>
    declarations.flatMap((declaration) => {
      if (declaration.kind === "function") return [`function ${name}`];
      if (declaration.kind === "class") return classMembers(name, declaration, name in PUBLIC);
      return [];
    })
  );
  return [...new Set(members)].filter((name) => !EXCLUDED.test(name)).sort();
}
