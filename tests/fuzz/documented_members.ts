/**
 * What is public, as `deno doc` lists it.
 *
 * @module
 */

import { repositoryPath } from "../support/subprocess.ts";

interface Documented {
  readonly accessibility?: string;
  readonly jsDoc?: {
    readonly tags?: readonly { readonly kind: string; readonly value?: string }[];
  };
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

function isPublic({ accessibility, jsDoc }: Documented): boolean {
  const isInternal = jsDoc?.tags?.some(({ kind }) => kind === "internal") ?? false;
  return (accessibility === undefined || accessibility === "public") && !isInternal;
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
 * The functions, constructors, methods and getters of `mod.ts`: `function openDevice`,
 * `new Stream`, `static Stream.priorities`, `method Stream.wait`, `getter Stream.id`.
 *
 * @param module What `mod.ts` exports: a class that it exports as a type cannot be made by users.
 */
export async function documentedMembers(module: object): Promise<string[]> {
  const { success, stdout, stderr } = await new Deno.Command(Deno.execPath(), {
    args: ["doc", "--json", repositoryPath("mod.ts")],
  }).output();
  if (!success) throw new Error(`deno doc failed: ${new TextDecoder().decode(stderr)}`);
  const { nodes } = JSON.parse(new TextDecoder().decode(stdout)) as {
    nodes: Readonly<Record<string, { readonly symbols: readonly DocumentedSymbol[] }>>;
  };
  const symbols = Object.values(nodes).flatMap((node) => node.symbols);
  const members = symbols.flatMap(({ name, declarations }) =>
    declarations.flatMap((declaration) => {
      if (declaration.kind === "function") return [`function ${name}`];
      if (declaration.kind === "class") return classMembers(name, declaration, name in module);
      return [];
    })
  );
  return [...new Set(members)].sort();
}
