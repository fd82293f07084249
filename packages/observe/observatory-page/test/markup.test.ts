// What pods and services have written is text wherever the page shows it: names, annotations, log lines, events, payloads of messages.
import { expect, test } from '@jest/globals';
import type { Page, Route } from 'playwright-core';
import { visit } from './chromium.ts';
import { inChromium, rows } from './page-rig.ts';

/** Each part of it runs or loads something when it is taken for HTML. Without a slash, which names of recordings do not have. */
const markup =
  '"><img src=x onerror="globalThis.attacked = 1"><svg onload="globalThis.attacked = 1"><script>globalThis.attacked = 1';
const inAddresses = [encodeURIComponent(markup), new URLSearchParams([['', markup]]).toString().slice(1)];
/** Their values are the page's own words, not those of others. */
const words = new Set(['kind', 'state', 'type', 'what', 'uid', 'id', 'pod', 'service', 'source', 'from', 'to']);

const attack = (document: unknown): unknown =>
  JSON.parse(
    JSON.stringify(document, (key, value: unknown) =>
      typeof value === 'string' && !words.has(key) ? `${value}${markup}` : value,
    ),
  );

/** Answers with what the node says, each text followed by markup. Names of recordings come back in addresses. */
async function answer(route: Route): Promise<void> {
  const url = inAddresses.reduce((text, encoded) => text.replaceAll(encoded, ''), route.request().url());
  const response = await route.fetch({ url });
  if (!(response.headers()['content-type'] ?? '').includes('json')) return route.fulfill({ response });
  return route.fulfill({ response, json: attack(await response.json()) });
}

/** What has been run or made of the markup. */
const made = (page: Page) =>
  page.evaluate(() => [
    (globalThis as { attacked?: number }).attacked ?? 0,
    document.querySelectorAll('img[src="x"], script:not([src]), svg[onload], [onerror]').length,
  ]);

inChromium('markup in what others have written', (rig) => {
  test.each(['overview', 'pods', 'messages', 'map', 'latency', 'compare', 'topology', 'recordings', 'contract'])(
    'is text in the view %s, and in what opens from it',
    async (view) => {
      const context = await rig.context();
      await context.route(/\/api\/v1\/(?!live)/, answer);
      const { page, complaints } = await visit(
        context,
        `${rig.address}/${encodeURIComponent(`before${markup}`)}/${view}`,
      );
      await page.getByRole('main').getByText('<img src=x').first().waitFor({ state: 'attached' });
      expect(await made(page)).toEqual([0, 0]);
      if (view === 'pods') {
        await rows(page, 'Pods').first().click();
        await page.getByRole('heading', { level: 1, name: /<img src=x/ }).waitFor();
      }
      if (view === 'messages') {
        await rows(page, 'Messages').first().click();
        await page.getByRole('complementary', { name: 'Message' }).getByText('<img src=x').first().waitFor();
      }
      expect(await made(page)).toEqual([0, 0]);
      // The policy of the page refused nothing, because nothing was tried.
      expect(complaints).toEqual([]);
    },
  );

  test('is found by this test where a page takes it for HTML', async () => {
    const { page } = await visit(await rig.context(), rig.address);
    await page.evaluate((text) => document.body.insertAdjacentHTML('beforeend', text), markup);
    expect((await made(page))[1]).toBeGreaterThan(0);
  });
});
