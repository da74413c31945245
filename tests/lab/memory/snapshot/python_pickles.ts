/**
 * Pickles as the machine's Python writes them.
 *
 * @module
 */

/** Runs a program of Python; `undefined` where there is no Python. */
export async function runPython(program: string): Promise<string | undefined> {
  let output: Deno.CommandOutput;
  try {
    output = await new Deno.Command("python3", { args: ["-c", program], stderr: "piped" }).output();
  } catch (error) {
    if (error instanceof Deno.errors.NotFound) return undefined;
    throw error;
  }
  if (output.success) return new TextDecoder().decode(output.stdout);
  throw new Error(`Python failed: ${new TextDecoder().decode(output.stderr)}`);
}

/**
 * Prints a line of JSON per pickle: protocol, bytes in base 64, and the value in JSON's terms. Each
 * value is pickled in every protocol by the C pickler, by the one in Python, which takes other
 * paths, and once more with what `pickletools.optimize` leaves.
 */
export const PICKLING_PROGRAM = `
import base64, io, json, math, pickle, pickletools, random

random.seed(20260101)
LIMIT = 2 ** 53 - 1

def describe(value):
    if value is None or isinstance(value, (bool, str)):
        return value
    if isinstance(value, int):
        return value if -LIMIT <= value <= LIMIT else {"big": str(value)}
    if isinstance(value, float):
        if math.isnan(value):
            return {"number": "NaN"}
        if math.isinf(value):
            return {"number": "Infinity" if value > 0 else "-Infinity"}
        return value
    if isinstance(value, (bytes, bytearray)):
        return {"bytes": value.hex()}
    if isinstance(value, (list, tuple)):
        return [describe(element) for element in value]
    return {"dict": [[describe(key), describe(element)] for key, element in value.items()]}

SCALARS = [
    None, True, False, 0, 1, -1, 127, 128, 255, 256, -129, 65535, 65536, 2 ** 31 - 1, 2 ** 31,
    -2 ** 31, -2 ** 31 - 1, 2 ** 47, -2 ** 47, 2 ** 53 - 1, 2 ** 53, -2 ** 53,
    2 ** 63 - 1, -2 ** 63, 2 ** 2000, -2 ** 2000, 0.0, 1.5, -1e300, 5e-324, math.inf,
    -math.inf, math.nan,
    "", "a", "it's", 'a "b"', "line\\nline\\r\\t\\0", "back\\\\slash \\\\u0041",
    "é", "€", "\\U0001f600",
    "x" * 47, "x" * 48, "x" * 255, "x" * 256, "é" * 200, "y" * 70000,
]

def make(depth):
    kind = random.randrange(10)
    if depth == 0 or kind < 4:
        return random.choice(SCALARS)
    items = [make(depth - 1) for _ in range(random.choice([0, 1, 2, 3, 4, 9]))]
    if kind < 6:
        return items
    if kind < 8:
        return tuple(items)
    keys = [k for k in SCALARS if isinstance(k, str) or k is None or type(k) is int]
    return {key: item for key, item in zip(random.sample(keys, len(items)), items)}

shared = [1, {"frames": ["a", "b"]}]
values = SCALARS + [make(4) for _ in range(12)] + [
    [], (), {}, [[]], list(range(2500)), {str(i): i for i in range(2500)},
    [shared, shared, {"x": shared, "y": shared}], (1,), (1, 2), (1, 2, 3), (1, 2, 3, 4),
]

def dumps_in_python(value, protocol):
    file = io.BytesIO()
    pickle._Pickler(file, protocol).dump(value)
    return file.getvalue()

def show(protocol, data, value):
    text = base64.b64encode(data).decode()
    print(json.dumps({"protocol": protocol, "pickle": text, "value": describe(value)}))

for value in values:
    for protocol in range(6):
        data = pickle.dumps(value, protocol)
        show(protocol, data, value)
        show(protocol, pickletools.optimize(data), value)
        show(protocol, dumps_in_python(value, protocol), value)

# Protocols below 3 have no bytes but by a call.
for value in [b"", b"\\xff\\x00", b"z" * 300, bytearray(b"abc")]:
    for protocol in range(5 if isinstance(value, bytearray) else 3, 6):
        show(protocol, pickle.dumps(value, protocol), value)
`;
