import { execFile } from 'node:child_process';
import { existsSync } from 'node:fs';
import { promisify } from 'node:util';
import axe from 'axe-core';
import { type Browser, type BrowserContext, type Page, chromium } from 'playwright-core';

const program = process.env['KUBUS_TEST_CHROMIUM'] ?? '/usr/bin/chromium';
const run = promisify(execFile);

/** Why no browser is available for tests; undefined if there is one. */
export function noChromium(): string | undefined {
  if (existsSync(program)) return undefined;
  return `there is no ${program}: install the package chromium to test the page in a browser`;
}

export function startChromium(): Promise<Browser> {
  // It opens only pages that the test serves; Chromium has no sandbox as root.
  return chromium.launch({ executablePath: program, args: ['--no-sandbox', '--disable-dev-shm-usage'] });
}

/** Builds the page into a folder. */
export async function buildPage(folder: string): Promise<void> {
  const root = new URL('..', import.meta.url).pathname;
  await run(process.execPath, ['node_modules/vite/bin/vite.js', 'build', '--outDir', folder, '--emptyOutDir'], {
    cwd: root,
  });
}

/** An open page and its console errors. */
export interface Visit {
  readonly page: Page;
  readonly complaints: string[];
  /** Requests to other servers than the page's own. */
  readonly abroad: string[];
}

/** Opens an address in a browser context of its own. */
export async function visit(context: BrowserContext, address: string): Promise<Visit> {
  const page = await context.newPage();
  const complaints: string[] = [];
  const abroad: string[] = [];
  page.on('console', (message) => {
    if (message.type() === 'error' || message.type() === 'warning') complaints.push(message.text());
  });
  page.on('pageerror', (error) => complaints.push(error.message));
  page.on('request', (request) => {
    const url = new URL(request.url());
    if (url.protocol.startsWith('http') && url.origin !== new URL(address).origin) abroad.push(request.url());
  });
  await page.addInitScript({ content: axe.source });
  await page.goto(address);
  return { page, complaints, abroad };
}

/** Everything that axe-core finds, one per line. */
export async function violations(page: Page): Promise<string[]> {
  return page.evaluate(async () => {
    const { axe: checker } = globalThis as unknown as { axe: typeof axe };
    const { violations: found } = await checker.run(document, { resultTypes: ['violations'] });
    return found.map(({ id, nodes }) => `${id}: ${nodes.map(({ html }) => html.slice(0, 160)).join(' | ')}`);
  });
}
