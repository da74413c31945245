/**
 * Lines of many scripts, of code, numbers, emoji and unusual whitespace, always the same ones.
 *
 * @module
 */

const PHRASES = [
  "The quick brown fox",
  "it's WE'LL they'Re I'D 'tis rock'n'roll",
  "don’t “quote” — dash…",
  "Größenwahn und Fußgängerübergänge",
  "naïve café, e\u0301 und a\u0308",
  "Η γρήγορη αλεπού",
  "Съешь же ещё этих мягких",
  "הקפאה של מים",
  "النص العربي مَعَ تشكيل",
  "हिन्दी में लिखा हुआ",
  "ภาษาไทยไม่มีช่องว่าง",
  "我们在学习人工智能。",
  "日本語のテキスト、カタカナ",
  "한국어 문장입니다",
  "👩‍👩‍👧‍👦🏳️‍🌈🇩🇪👍🏽",
  "🦙 says 🤖!",
  "𝔘𝔫𝔦𝔠𝔬𝔡𝔢 𐍈 𓀀",
  "for (let i = 0; i < n; ++i) { a[i] += b[i]; }",
  "def f(x):\n\treturn x ** 2  # squared",
  '{"key": [1, 2.5e-3, null]}',
  "#include <vector>\r\n\r\nint main() {}",
  "SELECT * FROM t WHERE a<>'b';",
  "https://example.org/a?b=c&d=%20#e",
  "1234567890 3.14159 1,000,000 0xDEADBEEF",
  "٣٤٥ ८९ Ⅷ ½ ² ①",
  "<|eot_id|>",
  "<|begin_of_text|><|not_a_token|>",
  "aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa",
  "----====****////\\\\\\\\",
  "\u0000\u0001\u007f\u00ad\u200b\ufeff\ufffd",
];

const SPACES = [
  " ",
  "  ",
  "\t",
  "\n",
  "\r\n",
  "\n\n   ",
  "\u00a0",
  "\u2003",
  "\u3000",
  "\u2028",
  "\u0085",
  "",
];

/** First and last characters of scripts that Unicode has long completed. */
const RANGES = [
  [0x20, 0x24f],
  [0x391, 0x3a1],
  [0x410, 0x44f],
  [0x5d0, 0x5ea],
  [0x621, 0x64a],
  [0x905, 0x939],
  [0xe01, 0xe3a],
  [0x2000, 0x2064],
  [0x2200, 0x22ff],
  [0x3041, 0x3096],
  [0x4e00, 0x9fa5],
  [0xac00, 0xd7a3],
  [0xe000, 0xe0ff],
  [0x1d400, 0x1d454],
  [0x1f300, 0x1f64f],
] as const;

/** `count` lines; a line may contain line breaks. */
export function mixedLines(count: number): string[] {
  let state = 1;
  const below = (limit: number) => {
    state = (Math.imul(state, 1664525) + 1013904223) >>> 0;
    return Math.floor(state / 2 ** 32 * limit);
  };
  const word = () => {
    const [first, last] = RANGES[below(RANGES.length)]!;
    return Array.from(
      { length: 1 + below(8) },
      () => String.fromCodePoint(first + below(last - first + 1)),
    ).join("");
  };
  const piece = () => {
    if (below(3) === 0) return word();
    const characters = Array.from(PHRASES[below(PHRASES.length)]!);
    const start = below(3) === 0 ? below(characters.length) : 0;
    return characters.slice(start, start + 1 + below(2 * characters.length)).join("");
  };
  return Array.from({ length: count }, () => {
    let line = "";
    for (let pieces = 1 + below(5); pieces > 0; pieces--) {
      line += piece() + SPACES[below(SPACES.length)]!.repeat(1 + below(3));
    }
    return line;
  });
}
