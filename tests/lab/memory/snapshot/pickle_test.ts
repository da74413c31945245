// Pickles of plain values are read in every protocol, as the machine's Python writes them; whatever
// would execute anything is refused by name and offset.

import { assert, assertEquals, assertThrows } from "@std/assert";
import { isPickle, PICKLE_LIMITS, readPickle } from "../../../../src/lab/memory/snapshot/pickle.ts";
import { PickleError } from "../../../../src/lab/memory/snapshot/pickle_error.ts";
import {
  PLAIN_OPCODES,
  REFUSED_OPCODES,
} from "../../../../src/lab/memory/snapshot/pickle_opcodes.ts";
import type {
  PickleLimits,
  PickleValue,
} from "../../../../src/lab/memory/snapshot/pickle_value.ts";
import { PICKLING_PROGRAM, runPython } from "./python_pickles.ts";

/** The bytes of a text in which each character is one. */
function latin1(text: string): Uint8Array {
  return Uint8Array.from(text, (character) => character.charCodeAt(0));
}

function read(text: string, limits?: PickleLimits): PickleValue {
  return readPickle(latin1(text), limits);
}

function refusal(text: string, limits?: PickleLimits): PickleError {
  return assertThrows(() => read(text, limits), PickleError);
}

/** A value in the form in which the Python program prints it. */
function describe(value: PickleValue): unknown {
  if (typeof value === "bigint") return { big: String(value) };
  if (value instanceof Uint8Array) return { bytes: value.toHex() };
  if (value instanceof Map) {
    return { dict: [...value].map(([key, element]) => [describe(key), describe(element)]) };
  }
  if (Array.isArray(value)) return value.map(describe);
  if (typeof value !== "number" || Number.isFinite(value)) return value;
  return { number: String(value) };
}

const PYTHON = await runPython(PICKLING_PROGRAM);

Deno.test({
  name: PYTHON === undefined
    ? "readPickle() reads what Python writes (skipped: there is no python3)"
    : "readPickle() reads what Python writes, in every protocol",
  ignore: PYTHON === undefined,
  fn() {
    const lines = PYTHON!.trimEnd().split("\n").map((line) => JSON.parse(line));
    assert(lines.length >= 200, `${lines.length}`);
    assertEquals(new Set(lines.map(({ protocol }) => protocol)), new Set([0, 1, 2, 3, 4, 5]));
    for (const { protocol, pickle, value } of lines) {
      const bytes = Uint8Array.fromBase64(pickle);
      assertEquals(describe(readPickle(bytes)), value, `protocol ${protocol}: ${pickle}`);
    }
  },
});

Deno.test("readPickle() reads each opcode for plain values", () => {
  const cases: readonly (readonly [string, PickleValue])[] = [
    ["N.", null],
    ["\x88.", true],
    ["\x89.", false],
    ["I01\n.", true],
    ["I00\n.", false],
    ["I-7\n.", -7],
    ["L9007199254740992L\n.", 9007199254740992n],
    ["L-5L\n.", -5],
    ["J\xfe\xff\xff\xff.", -2],
    ["K\xff.", 255],
    ["M\x00\x02.", 512],
    ["\x8a\x00.", 0],
    ["\x8a\x01\xff.", -1],
    ["\x8a\x06\x00\x00\x00\x00\x00\x7f.", 0x7f0000000000],
    ["\x8a\x06\x00\x00\x00\x00\x00\x80.", -(2 ** 47)],
    ["\x8a\x08\xff\xff\xff\xff\xff\xff\xff\x7f.", 2n ** 63n - 1n],
    ["\x8a\x08\x05\x00\x00\x00\x00\x00\x00\x00.", 5],
    ["\x8b\x02\x00\x00\x00\x00\x01.", 256],
    ["F1e-05\n.", 1e-5],
    ["F-inf\n.", -Infinity],
    ["G\x3f\xf8\x00\x00\x00\x00\x00\x00.", 1.5],
    ["S'it\\'s \\x41\\101\\n'\n.", "it's AA\n"],
    ["T\x02\x00\x00\x00ab.", "ab"],
    ["U\x02ab.", "ab"],
    ["V\\u20ac \xe9 \\U0001f600\n.", "€ é 😀"],
    ["X\x03\x00\x00\x00\xe2\x82\xac.", "€"],
    ["\x8c\x02\xc3\xa9.", "é"],
    ["\x8d\x01\x00\x00\x00\x00\x00\x00\x00a.", "a"],
    ["B\x01\x00\x00\x00\xff.", Uint8Array.of(255)],
    ["C\x01\xff.", Uint8Array.of(255)],
    ["\x8e\x01\x00\x00\x00\x00\x00\x00\x00\xff.", Uint8Array.of(255)],
    ["\x96\x01\x00\x00\x00\x00\x00\x00\x00\xff.", Uint8Array.of(255)],
    ["].", []],
    ["(l.", []],
    ["(K\x01K\x02l.", [1, 2]],
    ["]K\x01a(K\x02K\x03e.", [1, 2, 3]],
    [").", []],
    ["(K\x01K\x02t.", [1, 2]],
    ["K\x01\x85.", [1]],
    ["K\x01K\x02\x86.", [1, 2]],
    ["K\x01K\x02K\x03\x87.", [1, 2, 3]],
    ["}.", new Map()],
    ["(K\x01NK\x02\x88d.", new Map<PickleValue, PickleValue>([[1, null], [2, true]])],
    ["}K\x01K\x02s(K\x03K\x04u.", new Map([[1, 2], [3, 4]])],
    ["K\x01K\x020.", 1],
    ["K\x01(K\x021.", 1],
    ["K\x01(0.", 1],
    ["K\x012\x86.", [1, 1]],
    ["(Nq\x05h\x05r\x00\x01\x00\x00j\x00\x01\x00\x00p7\ng7\nt.", [null, null, null, null]],
    ["N\x94h\x00\x86.", [null, null]],
    ["\x80\x05\x95\x02\x00\x00\x00\x00\x00\x00\x00N.", null],
  ];
  for (const [text, value] of cases) assertEquals(read(text), value, JSON.stringify(text));
  const used = new Set(cases.flatMap(([text]) => [...latin1(text)]));
  const unused = Object.entries(PLAIN_OPCODES).filter(([, code]) => !used.has(code));
  assertEquals(unused, []);
});

Deno.test("readPickle() reads what PyTorch's own pickler writes", () => {
  // torch/csrc/jit/serialization/pickler.cpp writes protocol 2: every integer that does not fit 32
  // bits as a LONG1 of 8 bytes, memos as BINPUT.
  const bytes =
    "\x80\x02}q\x00(X\x04\x00\x00\x00sizeq\x01\x8a\x08\x00\x00\x00\x00\x02\x00\x00\x00" +
    "X\x06\x00\x00\x00framesq\x02]q\x03X\x02\x00\x00\x00idq\x04K\x00K\x01\x86q\x05u.";
  assertEquals(
    read(bytes),
    new Map<PickleValue, PickleValue>([["size", 2 ** 33], ["frames", []], ["id", [0, 1]]]),
  );
});

Deno.test("readPickle() shares what the pickle shares", () => {
  const [first, second, third] = read("(]q\x00(K\x01K\x02eh\x00h\x00t.") as PickleValue[];
  assertEquals(first, [1, 2]);
  assert(first === second && second === third);
});

Deno.test("readPickle() refuses every opcode that makes or names objects, and unknown ones", () => {
  for (const [name, code] of Object.entries(REFUSED_OPCODES)) {
    const error = refusal(`\x80\x04N${String.fromCharCode(code)}posix\nsystem\n.`);
    assertEquals([error.opcode, error.offset], [name, 3]);
    assert(error.message.startsWith(
      `Cannot read the pickle as ${name} at byte 3 makes or names objects: only plain values`,
    ));
  }
  const known = new Set<number>([
    ...Object.values(PLAIN_OPCODES),
    ...Object.values(REFUSED_OPCODES),
  ]);
  for (let code = 0; code < 256; code++) {
    if (known.has(code)) continue;
    const error = refusal(`N${String.fromCharCode(code)}.`);
    const name = `0x${code.toString(16).padStart(2, "0")}`;
    assertEquals(
      error.message,
      `Cannot read the pickle as ${name} at byte 1 is no opcode of pickle`,
    );
  }
});

Deno.test("readPickle() tells what is wrong with a corrupt pickle, and where", () => {
  const cases: readonly (readonly [string, string])[] = [
    ["", "at byte 0 there must be a STOP: the file was cut short"],
    ["N", "at byte 1 there must be a STOP"],
    [".", "STOP at byte 0 must find one value and no MARK: there are 0 and 0"],
    ["NN.", "STOP at byte 2 must find one value and no MARK: there are 2 and 0"],
    ["N(.", "STOP at byte 2 must find one value and no MARK: there are 1 and 1"],
    ["N.N", "STOP at byte 1 must be the last byte: 1 more follow"],
    ["\x80\x06N.", "PROTO at byte 0 must name a protocol in 0..5: it is 6"],
    ["K", "BININT1 at byte 0 needs 1 bytes and the file has 0 left: it was cut short"],
    ["X\xff\xff\xff\xffab.", "BINUNICODE at byte 0 needs 4294967295 bytes"],
    ["\x8d\xff\xff\xff\xff\xff\xff\xff\xffab.", "BINUNICODE8 at byte 0 needs 18446744073709551615"],
    ["\x95\xff\x00\x00\x00\x00\x00\x00\x00N.", "FRAME at byte 0 needs 255 bytes"],
    ["T\xff\xff\xff\xff.", "BINSTRING at byte 0 must have a length of at least 0: it is -1"],
    ["\x8b\xff\xff\xff\xff.", "LONG4 at byte 0 must have a length of at least 0: it is -1"],
    ["\x8b\x00\x00\x10\x00.", "LONG4 at byte 0 must have a whole number of at most 1024 bytes"],
    [`L${"9".repeat(1025)}\n.`, "LONG at byte 0 must have a whole number of at most 1024 bytes"],
    ["I12", "INT at byte 0 needs a newline and the file has 2 left"],
    ["I1x\n.", 'INT at byte 0 must be followed by a whole number: it is "1x"'],
    ["I\n.", 'INT at byte 0 must be followed by a whole number: it is ""'],
    ["F1.2.3\n.", 'FLOAT at byte 0 must be followed by a floating-point number: it is "1.2.3"'],
    ["Sabc\n.", 'STRING at byte 0 must be followed by a text in quotes: it is "abc"'],
    ["V\\u12\n.", "UNICODE at byte 0 must be followed by a text with whole escapes"],
    ["V\\U00110000\n.", "UNICODE at byte 0 must be followed by a text with whole escapes"],
    ["a.", "APPEND at byte 0 needs a value and there is none"],
    ["Na.", "APPEND at byte 1 needs a value and there is none"],
    ["NNa.", "APPEND at byte 2 needs a list and there is none"],
    ["}Na.", "APPEND at byte 2 needs a list and there is a dictionary"],
    ["]NNs.", "SETITEM at byte 3 needs a dictionary and there is a list"],
    ["](e", "at byte 3 there must be a STOP"],
    ["]e.", "APPENDS at byte 1 needs a MARK and there is none"],
    ["](0e.", "APPENDS at byte 3 needs a MARK and there is none"],
    ["N(K\x01a.", "APPEND at byte 4 needs a value and there is none"],
    ["}(K\x01u.", "SETITEMS at byte 4 needs a value for every key"],
    ["}]Ns.", "SETITEM at byte 3 needs keys that are texts, numbers, booleans or None"],
    ["K\x01\x86.", "TUPLE2 at byte 2 needs 2 values and there are 1"],
    ["K\x01(\x85.", "TUPLE1 at byte 3 needs 1 values and there are 0"],
    ["h\x07.", "BINGET at byte 0 needs memo 7 and there is none"],
    ["g-1\n.", "GET at byte 0 must name a memo of at least 0: it is -1"],
    ["q\x00.", "BINPUT at byte 0 needs a value and there is none"],
    ["]q\x00h\x00a.", "APPEND at byte 5 changes a list that is used elsewhere"],
    ["]2a.", "APPEND at byte 2 changes a list that is used elsewhere"],
    ["}q\x00K\x01h\x00s.", "SETITEM at byte 7 changes a dictionary that is used elsewhere"],
    [")Na.", "APPEND at byte 2 changes a list that is used elsewhere"],
  ];
  for (const [text, expected] of cases) {
    const { message } = refusal(text);
    assert(
      message.startsWith(`Cannot read the pickle as ${expected}`),
      `${JSON.stringify(text)}: ${message}`,
    );
  }
});

Deno.test("readPickle() keeps its limits", () => {
  const nested = (depth: number) => `${"]".repeat(depth)}${"a".repeat(depth - 1)}.`;
  assertEquals(JSON.stringify(read(nested(100))), "[".repeat(100) + "]".repeat(100));
  assert(refusal(nested(101)).message.includes("more than 100 containers inside each other"));
  // So high a pile of lists is refused before anybody could recurse into it.
  assert(refusal(nested(200_000)).message.includes("containers inside each other"));
  const refused = (text: string, limits: PickleLimits) => refusal(text, limits).message;
  assert(refused("NN", { maximumBytes: 1 }).includes("at most 1 bytes: it has 2"));
  assert(refused("]]]", { maximumContainers: 2 }).includes("more than 2 lists"));
  assert(refused("NNNN", { maximumLength: 3 }).includes("the stack longer than 3 values"));
  assert(refused("((((", { maximumLength: 3 }).includes("the marks longer than 3 values"));
  assert(refused("]NaNaNaNa", { maximumLength: 3 }).includes("the list longer than 3 values"));
  assert(refused("N\x94\x94\x94\x94", { maximumLength: 3 }).includes("the memo longer than 3"));
  const keys = "}K\x01NsK\x02NsK\x03NsK\x04Ns";
  assert(refused(keys, { maximumLength: 3 }).includes("the dictionary longer than 3 values"));
  assert(refused("](NNe(NNe.", { maximumValues: 3 }).includes("hold over 3 values"));
  assertEquals(Object.keys(PICKLE_LIMITS).length, 5);
});

Deno.test("readPickle() gives no key a meaning", () => {
  const value = read(
    "}(X\x09\x00\x00\x00__proto__}X\x08\x00\x00\x00pollutedK\x01s" +
      "X\x0b\x00\x00\x00constructorNu.",
  ) as Map<string, PickleValue>;
  assertEquals([...value.keys()], ["__proto__", "constructor"]);
  assert(value.get("__proto__") instanceof Map);
  assertEquals(({} as Record<string, unknown>)["polluted"], undefined);
});

Deno.test("readPickle() copies bytes, so that a value does not keep the file", () => {
  const file = latin1("C\x02ab.");
  const value = readPickle(file) as Uint8Array;
  assertEquals(value.buffer.byteLength, 2);
  // A view into a larger buffer is read from its own begin.
  assertEquals(readPickle(latin1("....K\x07.").subarray(4)), 7);
});

Deno.test("isPickle() knows pickles from texts", () => {
  for (
    const text of ["\x80\x04N.", "\x80", "(dp0\n.", "(lp0\n.", "}q\x00.", "]q\x00.", "}.", "]."]
  ) {
    assert(isPickle(latin1(text)), JSON.stringify(text));
  }
  for (const text of ["", "{}", "[]", "[].", "id,lower", "(a).", "gridstride memory trace 1\n"]) {
    assert(!isPickle(latin1(text)), JSON.stringify(text));
  }
});
