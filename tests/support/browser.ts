/**
 * Opening a page in a real browser.
 *
 * @module
 */

import { type Browser, chromium, type Page } from "playwright-core";

/** An open page and its record. */
export interface OpenPage {
  /** The page. */
  readonly page: Page;
  /** Thrown errors and those of the console. */
  readonly errors: string[];
  /** Requested addresses, its own first. */
  readonly requests: string[];
  /** Refused requests, each with the reason. */
  readonly refusals: string[];
}

/** The window of a page. */
export interface OpenOptions {
  /** The width of the window, in CSS pixels. */
  readonly width?: number;
  /** The height. */
  readonly height?: number;
  /** The preferred colour scheme. */
  readonly scheme?: "light" | "dark";
}

const NAMES = ["chromium-headless-shell", "chromium", "google-chrome"];
const MACOS = "/Applications/Google Chrome.app/Contents/MacOS/Google Chrome";

function isFile(path: string): boolean {
  try {
    return Deno.statSync(path).isFile;
  } catch (error) {
    if (error instanceof Deno.errors.NotFound || error instanceof Deno.errors.NotADirectory) {
      return false;
    }
    throw error;
  }
}

/** Finds the browser of the system, else that of Playwright. */
function findBrowser(): string | undefined {
  const folders = (Deno.env.get("PATH") ?? "").split(":").filter((folder) => folder !== "");
  const programs = NAMES.flatMap((name) => folders.map((folder) => `${folder}/${name}`));
  return [...programs, MACOS, chromium.executablePath()].find((path) => isFile(path));
}

const executablePath = findBrowser();

/** True if no browser is installed. With `CI` set, the tests fail instead. */
export const isBrowserMissing: boolean = executablePath === undefined &&
  Deno.env.get("CI") !== "true";

if (isBrowserMissing) {
  console.warn(`Without one of ${NAMES.join(", ")} no page is opened: its tests are skipped`);
}

function launch(): Promise<Browser> {
  if (executablePath === undefined) {
    throw new Error(`Cannot open a browser as one of ${NAMES.join(", ")} must be installed`);
  }
  return chromium.launch({ executablePath });
}

/**
 * Waits until an expression is true in the page. The policy of the page forbids Playwright's own
 * waiting.
 */
export async function until(page: Page, expression: string): Promise<void> {
  const end = performance.now() + 10_000;
  while (!await page.evaluate(`Boolean(${expression})`)) {
    if (performance.now() > end) throw new Error(`Waited in vain for ${expression}`);
    await new Promise((resume) => setTimeout(resume, 20));
  }
}

/** Opens an address and closes the browser after `run`. */
export async function withAddress(
  address: string,
  run: (open: OpenPage) => Promise<void>,
  { width = 1280, height = 1000, scheme = "light" }: OpenOptions = {},
): Promise<void> {
  const browser = await launch();
  try {
    const page = await browser.newPage({ viewport: { width, height }, colorScheme: scheme });
    const errors: string[] = [];
    const requests: string[] = [];
    const refusals: string[] = [];
    page.on("pageerror", (error) => errors.push(String(error)));
    page.on("console", (message) => {
      if (message.type() === "error") errors.push(message.text());
    });
    page.on("request", (request) => requests.push(request.url()));
    page.on("requestfailed", (request) => {
      refusals.push(`${request.url()} ${request.failure()?.errorText}`);
    });
    await page.goto(address);
    await run({ page, errors, requests, refusals });
  } finally {
    await browser.close();
  }
}

/** Opens a page from a file and closes it after `run`. */
export async function withPage(
  html: string,
  run: (open: OpenPage) => Promise<void>,
  options: OpenOptions = {},
): Promise<void> {
  const folder = await Deno.makeTempDir();
  try {
    await Deno.writeTextFile(`${folder}/report.html`, html);
    await withAddress(`file://${folder}/report.html`, run, options);
  } finally {
    await Deno.remove(folder, { recursive: true });
  }
}
