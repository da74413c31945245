/**
 * A screen of its own on the terminal, for views that are redrawn until the user ends them.
 *
 * @module
 */

/** The alternate screen, without a cursor and without line wrapping; and the normal state. */
const ENTER = "\x1b[?1049h\x1b[?25l\x1b[?7l";
const LEAVE = "\x1b[?7h\x1b[?25h\x1b[?1049l";

const HOME = "\x1b[H";
const CLEAR_LINE_END = "\x1b[K";
const CLEAR_BELOW = "\x1b[J";

const SIGNALS = ["SIGINT", "SIGTERM", "SIGHUP"] as const;

const CONTROL_C = 3;

/** Takes over the terminal until it is disposed. */
export class LiveTerminal implements Disposable {
  readonly #ending = new AbortController();
  readonly #end = () => this.#ending.abort();
  readonly #hasKeys = Deno.stdin.isTerminal();
  #shown = "";
  readonly #redraw = () => this.show(this.#shown);

  /** Shows an empty screen, and listens to keys and signals. */
  constructor() {
    for (const signal of SIGNALS) Deno.addSignalListener(signal, this.#end);
    Deno.addSignalListener("SIGWINCH", this.#redraw);
    write(ENTER);
    if (!this.#hasKeys) return;
    // Without signals from keys: Ctrl-Z would leave this screen on the terminal.
    Deno.stdin.setRaw(true);
    void this.#readKeys();
  }

  /** Aborted by q, Ctrl-C and signals that end the process. */
  get ended(): AbortSignal {
    return this.#ending.signal;
  }

  /** Replaces the content. Lines that do not fit are cut off. */
  show(text: string): void {
    this.#shown = text;
    // Terminals of programs may say that they have no rows.
    const rows = Deno.consoleSize().rows || Infinity;
    const lines = text.split("\n").slice(0, rows);
    const drawn = lines.map((line) => line + CLEAR_LINE_END).join("\r\n");
    write(`${HOME}${drawn}${CLEAR_BELOW}`);
  }

  async #readKeys(): Promise<void> {
    const keys = new Uint8Array(16);
    while (!this.ended.aborted) {
      const count = await Deno.stdin.read(keys);
      if (count === null) return;
      const typed = keys.subarray(0, count);
      if (typed.includes(CONTROL_C) || /q/i.test(new TextDecoder().decode(typed))) this.#end();
    }
  }

  /** Restores the terminal. */
  [Symbol.dispose](): void {
    for (const signal of SIGNALS) Deno.removeSignalListener(signal, this.#end);
    Deno.removeSignalListener("SIGWINCH", this.#redraw);
    if (this.#hasKeys) Deno.stdin.setRaw(false);
    write(LEAVE);
  }
}

function write(text: string): void {
  const bytes = new TextEncoder().encode(text);
  for (let written = 0; written < bytes.length;) {
    written += Deno.stdout.writeSync(bytes.subarray(written));
  }
}
