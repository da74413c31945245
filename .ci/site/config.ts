/**
 * The configuration of VitePress for the site of the documents.
 *
 * @module
 */

/** The part of markdown-it that this file uses. */
interface Markdown {
  readonly renderer: { readonly rules: Record<string, Rule | undefined> };
}

type Rule = (tokens: Token[], index: number, ...rest: unknown[]) => string;

interface Token {
  attrGet(name: string): string | null;
  attrSet(name: string, value: string): void;
}

const SOURCE = /^(?![a-z]+:).*\.(?:ts|json)$/;
const WIDE = /from_|environment|troubleshooting|permissions|DIFFERENCES/;

const manuals = [
  ["Installation", "installation"],
  ["Tensors", "tensors"],
  ["Kernels", "kernels"],
  ["Memory", "memory"],
  ["Launch and analysis", "launch"],
  ["Ternary weights", "ternary"],
  ["BitNet models", "bitnet"],
  ["Command line", "command_line"],
  ["Testing without a GPU", "testing"],
];
const comparisons = [
  ["From NumPy, CuPy, PyTorch", "from_numpy"],
  ["From CUDA C++", "from_cuda"],
];
const reference = [
  ["Permissions", "permissions"],
  ["Environment variables", "environment"],
  ["Troubleshooting", "troubleshooting"],
  ["Performance", "performance"],
];

const items = (pages: readonly (readonly string[])[]) =>
  pages.map(([text, page]) => ({ text: text!, link: `/docs/${page}` }));

export default {
  title: "Gridstride",
  description: "CUDA for Deno: tensors, memory pools and your own kernels",
  rewrites: { "README.md": "index.md", "examples/README.md": "examples/index.md" },
  outDir: "../pages",
  // Figures stay beside their units.
  head: [["style", {}, '.vp-doc td[style*="right"] { white-space: nowrap; }']],
  markdown: {
    // Sources are no pages: `site.ts` copies them as texts.
    config(md: Markdown) {
      const render = md.renderer.rules.link_open!;
      md.renderer.rules.link_open = (tokens, index, ...rest) => {
        const token = tokens[index]!;
        const link = token.attrGet("href") ?? "";
        if (SOURCE.test(link)) token.attrSet("href", `${link}.txt`);
        return render(tokens, index, ...rest);
      };
    },
  },
  // Wide tables take the place of the outline.
  transformPageData(page: { readonly relativePath: string; frontmatter: Record<string, unknown> }) {
    if (WIDE.test(page.relativePath)) page.frontmatter.aside = false;
  },
  themeConfig: {
    nav: [{ text: "API", link: "https://jsr.io/@gridstride/cuda/doc" }],
    sidebar: [
      { text: "Manual", items: items(manuals) },
      { text: "Coming from", items: items(comparisons) },
      { text: "Reference", items: items(reference) },
      {
        text: "Project",
        items: [
          { text: "Examples", link: "/examples/" },
          { text: "Architecture", link: "/ARCHITECTURE" },
          { text: "Host device", link: "/csrc/host/README" },
          { text: "Contributing", link: "/CONTRIBUTING" },
          { text: "Changes", link: "/CHANGELOG" },
        ],
      },
    ],
    outline: [2, 3],
    search: { provider: "local" },
  },
};
