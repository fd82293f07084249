import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, afterEach, beforeAll, describe, jest } from '@jest/globals';
import type { Browser, BrowserContext, Locator, Page } from 'playwright-core';
import { type Visit, buildPage, noChromium, startChromium, visit } from './chromium.ts';
import { standInContract } from './stand-in/contract.ts';
import { StandIn, type StandInOptions } from './stand-in/server.ts';

/** Ends only hanging tests: a busy machine is slow. */
const hangs = 300_000;

/**
 * How long to wait for an address before the keys are pressed again, in milliseconds: on a busy machine the second key
 * may be too late.
 */
const againMs = 5_000;

const token = 'a-token';

/** Tests of the page in a browser; skipped if there is none. */
export function inChromium(name: string, tests: (rig: PageRig) => void): void {
  jest.setTimeout(hangs);
  const missing = noChromium();
  if (missing !== undefined) console.warn(`The tests of the page in a browser are skipped: ${missing}`);
  (missing === undefined ? describe : describe.skip)(name, () => {
    const rig = new PageRig();
    beforeAll(() => rig.start());
    afterEach(() => rig.leave());
    afterAll(() => rig.end());
    tests(rig);
  });
}

/** The built page with the stand-in behind it, and a browser. */
export class PageRig {
  #folder = '';
  #address = '';
  #browser: Browser | undefined;
  readonly #standIns: StandIn[] = [];
  readonly #contexts: BrowserContext[] = [];

  /** Address of the page for a node with faults, with the token. */
  get address(): string {
    return this.#address;
  }

  async start(): Promise<void> {
    this.#folder = await mkdtemp(join(tmpdir(), 'observatory-page-'));
    await buildPage(this.#folder);
    this.#address = await this.serve({ millionPods: 12_500 });
    this.#browser = await startChromium();
  }

  async leave(): Promise<void> {
    await Promise.all(this.#contexts.splice(0).map((context) => context.close()));
  }

  async end(): Promise<void> {
    await this.#browser?.close();
    for (const standIn of this.#standIns) standIn.close();
    await rm(this.#folder, { recursive: true, force: true });
  }

  /** Serves the page with another stand-in. Returns its address. */
  async serve(options: Pick<StandInOptions, 'millionPods' | 'shows' | 'holds'>): Promise<string> {
    const standIn = new StandIn({ page: this.#folder, token, contract: standInContract, ...options });
    this.#standIns.push(standIn);
    return standIn.listen(0);
  }

  /** Starts a browser that is closed after the test. */
  async context(theme: 'light' | 'dark' = 'light', timezoneId?: string): Promise<BrowserContext> {
    if (this.#browser === undefined) throw new Error('the browser was not started');
    const context = await this.#browser.newContext({
      ...{ colorScheme: theme, viewport: { width: 1280, height: 800 } },
      ...(timezoneId !== undefined && { timezoneId }),
    });
    context.setDefaultTimeout(hangs / 2);
    this.#contexts.push(context);
    return context;
  }

  async open(route: string, theme: 'light' | 'dark' = 'light'): Promise<Visit> {
    return visit(await this.context(theme), `${this.#address}${route}`);
  }

  /** Sends a request to the stand-in as the page does. */
  async ask(method: 'GET' | 'DELETE', path: string): Promise<unknown> {
    const headers = { authorization: `Bearer ${token}` };
    return (await fetch(new URL(`/api/v1${path}`, this.#address), { method, headers })).json();
  }
}

/** Presses the keys of a view until its address is shown. */
export async function goTo(page: Page, key: string, address: RegExp): Promise<void> {
  for (let there = false; !there;) {
    await page.keyboard.press('g');
    await page.keyboard.press(key);
    there = await page.waitForURL(address, { timeout: againMs }).then(
      () => true,
      () => false,
    );
  }
}

/** All data of the view is loaded; several documents may be under way at once. */
export async function settled(page: Page): Promise<void> {
  await page.waitForFunction(() => document.querySelector('.main .waiting') === null);
}

export function grid(page: Page, name: string): Locator {
  return page.getByRole('grid', { name, exact: true });
}

export function rows(page: Page, name: string): Locator {
  return grid(page, name).locator('.grid-row');
}
