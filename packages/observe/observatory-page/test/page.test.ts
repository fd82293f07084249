import { describe, expect, test } from '@jest/globals';
import { violations, visit } from './chromium.ts';
import { goTo, grid, inChromium, rows, settled } from './page-rig.ts';

inChromium('the page in Chromium', (rig) => {
  async function podOf(recording: string, index: number): Promise<{ uid: string; name: string }> {
    const pods = (await rig.ask('GET', `/recordings/${recording}/pods`)) as { uid: string; name: string }[];
    const pod = pods[index];
    if (pod === undefined) throw new Error(`recording ${recording} has no pod ${index}`);
    return pod;
  }

  describe.each(['light', 'dark'] as const)('in %s', (theme) => {
    test.each([
      ['/~live/overview', 'Services'],
      ['/before/pods', 'Pods'],
      ['/before/messages?message=430', 'Messages'],
      ['/~live/map', 'Messages between services'],
      ['/before/latency', 'Steps of the path'],
      ['/before/compare?right=slow-disk', 'Steps of both sides'],
      ['/~live/pressure', 'Pods that would go'],
      ['/~live/topology', 'Who has the CPUs'],
      ['/before/contract?type=worker.fact.status/1', 'Types of messages'],
    ])('%s opens without console errors or foreign requests, and is accessible', async (route, list) => {
      const { page, complaints, abroad } = await rig.open(route, theme);
      await rows(page, list).first().waitFor();
      await settled(page);
      expect(await page.locator('html').getAttribute('data-theme')).toBe(theme);
      expect(await violations(page)).toEqual([]);
      expect(complaints).toEqual([]);
      expect(abroad).toEqual([]);
    });

    test('the timeline of a pod and the recordings open likewise', async () => {
      const { uid } = await podOf('before', 4);
      const { page, complaints } = await rig.open(`/before/pods/${uid}?message=12`, theme);
      await rows(page, 'Segments of the critical path of the start').first().waitFor();
      await page.getByRole('heading', { name: 'Payload' }).waitFor();
      expect(await violations(page)).toEqual([]);
      await page.goto(new URL('#/before/recordings', rig.address).href);
      await page.getByRole('row', { name: /slow-disk/ }).waitFor();
      expect(await violations(page)).toEqual([]);
      expect(complaints).toEqual([]);
    });
  });

  test('the token is removed from the address bar and kept for the tab', async () => {
    const { page } = await rig.open('/before/overview');
    await rows(page, 'Pods').first().waitFor();
    expect(page.url()).toBe(new URL('#/before/overview', rig.address).href);
    await page.reload();
    await rows(page, 'Pods').first().waitFor();
  });

  test('a missing token is reported, and opening an address with one in the same tab fixes it', async () => {
    const context = await rig.context();
    const { page } = await visit(context, new URL('/', rig.address).href);
    const alert = page.getByRole('alert');
    await alert.waitFor();
    expect(await alert.textContent()).toMatch(/token is missing or wrong.*kubus observatory/);
    await alert.getByRole('button', { name: 'Try again' }).click();
    await alert.waitFor();
    await page.goto(rig.address);
    await rows(page, 'Pods').first().waitFor();
  });

  test('a pod, its timeline, a message and its cause are reached by keyboard', async () => {
    const { page } = await rig.open('/before/overview');
    await rows(page, 'Pods').first().waitFor();
    await goTo(page, 'p', /#\/before\/pods$/);
    // The previous view has a filter of its own.
    await grid(page, 'Services').waitFor({ state: 'detached' });
    await rows(page, 'Pods').first().waitFor();
    await page.keyboard.press('/');
    await page.keyboard.type('cart');
    await page.getByText(/^\d+ of 100/).waitFor();
    await grid(page, 'Pods').focus();
    await page.keyboard.press('ArrowDown');
    await page.keyboard.press('Enter');
    await page.waitForURL(/#\/before\/pods\/[0-9a-f-]+$/);
    await page.getByRole('heading', { level: 1, name: /cart/ }).waitFor();

    const timeline = page.getByRole('group', { name: /^Messages of the pod by service/ });
    await timeline.focus();
    const spoken = timeline.getByRole('status');
    await page.keyboard.press('End');
    await spoken.getByText(/, after /).waitFor();
    const last = (await spoken.textContent()) ?? '';
    await page.keyboard.press('c');
    await spoken.filter({ hasNotText: last }).waitFor({ state: 'attached' });
    await page.keyboard.press('Enter');
    const inspector = page.getByRole('complementary', { name: 'Message' });
    await inspector.getByRole('heading', { name: /^Caused by \d/ }).waitFor();
    const before = page.url();
    await inspector.getByRole('listitem').first().getByRole('button').press('Enter');
    await page.waitForFunction((url) => window.location.href !== url, before);
    await page.keyboard.press('Escape');
    await inspector.waitFor({ state: 'detached' });

    await page.keyboard.press('?');
    const help = page.getByRole('dialog', { name: 'Keyboard' });
    await help.waitFor();
    await page.keyboard.press('Escape');
    await help.waitFor({ state: 'hidden' });
    for (const [key, view] of [
      ['m', 'messages'],
      ['a', 'map'],
      ['l', 'latency'],
      ['c', 'compare'],
      ['e', 'pressure'],
      ['n', 'topology'],
      ['r', 'recordings'],
      ['t', 'contract'],
      ['o', 'overview'],
    ] as const) {
      await goTo(page, key, new RegExp(`#/before/${view}$`));
    }
  });

  test('the timeline zooms and shows either path', async () => {
    const { uid } = await podOf('before', 4);
    const { page } = await rig.open(`/before/pods/${uid}`);
    const timeline = page.getByRole('group', { name: /^Messages of the pod by service/ });
    await timeline.waitFor();
    const picture = (): Promise<string> =>
      timeline.locator('canvas').evaluate((one: HTMLCanvasElement) => one.toDataURL());
    const whole = await picture();
    await timeline.focus();
    await page.keyboard.press('+');
    const near = await picture();
    expect(near).not.toBe(whole);
    await page.keyboard.press('Shift+ArrowRight');
    expect(await picture()).not.toBe(near);
    await page.getByRole('button', { name: 'Show the path' }).click();
    expect(await picture()).toBe(whole);
    await page.getByRole('button', { name: 'Path of the stop' }).click();
    await rows(page, 'Segments of the critical path of the stop').first().waitFor();
    await page.getByRole('button', { name: 'No path' }).click();
    await page.getByText('Choose a path').waitFor();
  });

  test('a payload can be folded, searched and copied', async () => {
    const { page } = await rig.open('/before/messages?message=430');
    await page.context().grantPermissions(['clipboard-read', 'clipboard-write']);
    const inspector = page.getByRole('complementary', { name: 'Message' });
    await inspector.getByRole('heading', { name: 'Payload' }).waitFor();
    await page.goto(new URL('#/before/messages?message=431', rig.address).href);
    await inspector.getByRole('heading', { name: 'Message 431' }).waitFor();
    await inspector.getByRole('button', { name: 'Copy as JSON' }).click();
    await inspector.getByText('Copied').waitFor();
    const copied = JSON.parse(await page.evaluate(() => navigator.clipboard.readText())) as { seq: number };
    expect(copied.seq).toBe(431);
    await rows(page, 'Messages').filter({ hasText: 'ADD' }).first().click();
    const search = inspector.getByRole('searchbox', { name: 'Search the payload' });
    await search.fill('registry.example');
    await inspector.getByText('2 found').waitFor();
    expect(await inspector.locator('.json-found').count()).toBe(2);
  });

  test('with a million messages, the overview narrows to a range and the list scrolls on', async () => {
    const { page } = await rig.open('/million/overview');
    const firstSeq = rows(page, 'Messages').first().getByRole('gridcell').first();
    await rows(page, 'Pods').first().waitFor();
    await page.getByText(/^1\s000\s000$/).waitFor();
    expect(await grid(page, 'Pods').getAttribute('aria-rowcount')).toBe('12501');
    expect(await rows(page, 'Pods').count()).toBeLessThan(100);
    const chart = page.getByRole('group', { name: /^Messages over time/ });
    const box = await chart.boundingBox();
    if (box === null) throw new Error('the chart is not in sight');
    await page.mouse.move(box.x + 300, box.y + 40);
    await page.mouse.down();
    await page.mouse.move(box.x + 400, box.y + 40, { steps: 4 });
    await page.mouse.up();
    await page.getByText(/of 12\s500/).waitFor();
    await page.getByRole('link', { name: 'Show them' }).click();
    await page.waitForURL(/#\/million\/messages\?from=/);
    await rows(page, 'Messages').filter({ hasNotText: '…' }).first().waitFor();
    expect(await firstSeq.textContent()).not.toBe('1');

    await page.getByRole('button', { name: 'Clear' }).click();
    await page.getByText(/^1 loaded so far|^[\d\s]+ loaded so far/).waitFor();
    await rows(page, 'Messages').filter({ hasText: 'config-sources' }).first().waitFor();
    await grid(page, 'Messages').focus();
    for (const seen of [500, 1000, 1500]) {
      await page.keyboard.press('End');
      await page.waitForFunction(
        (rowsWanted) => Number(document.querySelector('[role=grid]')?.getAttribute('aria-rowcount')) > rowsWanted,
        seen + 500,
      );
    }
    await page.keyboard.press('Home');
    await firstSeq.getByText(/^1$/).waitFor();
    expect(await rows(page, 'Messages').count()).toBeLessThan(100);
    await page.getByLabel('Kind').selectOption('event');
    await rows(page, 'Messages').filter({ hasText: 'Pulled' }).first().waitFor();
    expect(await rows(page, 'Messages').filter({ hasText: 'worker.fact' }).count()).toBe(0);
  });

  test('new messages of the node appear automatically', async () => {
    const { page } = await rig.open('/~live/overview');
    await page.getByText(/^live, /).waitFor();
    const before = Number(await grid(page, 'Pods').getAttribute('aria-rowcount'));
    await page.waitForFunction(
      (count) => Number(document.querySelector('[role=grid]')?.getAttribute('aria-rowcount')) > count,
      before,
    );
  });

  test('a bar of the histogram lists its pods, and a step has a histogram of its own', async () => {
    const { page } = await rig.open('/before/latency');
    await rows(page, 'Steps of the path').first().waitFor();
    const bar = page.getByRole('button', { name: /^\d+\spods? from/ }).first();
    const pods = Number(/^\d+/.exec((await bar.getAttribute('aria-label')) ?? '')?.[0]);
    await bar.press('Enter');
    await page.getByRole('region', { name: 'Pods of the bar' }).waitFor();
    expect(await page.getByRole('grid').getAttribute('aria-rowcount')).toBe(String(pods + 1));
    await page.getByRole('button', { name: 'Back to the steps' }).click();
    await rows(page, 'Steps of the path').nth(4).click();
    await page.getByRole('button', { name: 'Of the whole start' }).waitFor();
    await page.getByRole('button', { name: 'Stops' }).click();
    await rows(page, 'Steps of the path').filter({ hasText: 'StopContainer' }).first().waitFor();
  });

  test('a comparison shows the differences', async () => {
    const { page } = await rig.open('/before/compare');
    await page.getByRole('heading', { name: 'Choose what to compare' }).waitFor();
    await page.getByRole('group', { name: 'Right' }).getByLabel('Recording').selectOption('slow-disk');
    await rows(page, 'Steps of both sides').first().waitFor();
    await page.getByLabel('only what differs').check();
    await rows(page, 'Steps of both sides').filter({ hasText: '= same' }).waitFor({ state: 'detached' });
    const shown = (await rows(page, 'Steps of both sides').allTextContents()).join('\n');
    for (const words of ['▲ slower +', '− missing on the right', '+ added on the right'])
      expect(shown).toContain(words);
    await page.getByRole('button', { name: 'Swap' }).click();
    await rows(page, 'Steps of both sides').filter({ hasText: '▼ faster' }).first().waitFor();
  });

  test('choosing a service of the map lists only its messages', async () => {
    const { page } = await rig.open('/before/map');
    const all = Number(await grid(page, 'Messages between services').getAttribute('aria-rowcount'));
    await page.getByRole('button', { name: /^prober / }).press('Enter');
    await page.waitForURL(/service=prober/);
    await page.waitForFunction(
      (count) => Number(document.querySelector('[role=grid]')?.getAttribute('aria-rowcount')) < count,
      all,
    );
    for (const row of await rows(page, 'Messages between services').allTextContents()) expect(row).toContain('prober');
  });

  test('a recording is named, started, stopped, imported, and deleted after confirmation', async () => {
    const { page } = await rig.open('/~live/recordings');
    const name = page.getByLabel('New recording');
    await name.fill('no name');
    await page.getByText('Letters, digits').waitFor();
    expect(await page.getByRole('button', { name: 'Start' }).isDisabled()).toBe(true);
    await name.fill('mine');
    await name.press('Enter');
    const row = page.getByRole('row', { name: /^mine/ });
    await row.getByText('recording', { exact: false }).first().waitFor();
    await row.getByRole('button', { name: 'Stop' }).click();
    await row.getByText('stopped').waitFor();
    await row.getByRole('button', { name: 'Delete mine' }).click();
    await page.getByRole('button', { name: 'Keep' }).click();
    expect(await row.count()).toBe(1);
    await row.getByRole('button', { name: 'Delete mine' }).click();
    await page.getByRole('button', { name: 'Delete', exact: true }).click();
    await row.waitFor({ state: 'detached' });
    const file = { name: 'from afar.kubus', mimeType: 'application/octet-stream', buffer: Buffer.from('x') };
    await page.getByLabel('Import a file').setInputFiles(file);
    await page.getByRole('row', { name: /^from-afar.*from a file/ }).waitFor();
    const [download] = await Promise.all([
      page.waitForEvent('download'),
      page.getByRole('button', { name: 'Download before' }).click(),
    ]);
    expect(download.suggestedFilename()).toBe('before.kubus');
    await page.getByRole('row', { name: /slow-disk.*12 never stored/ }).waitFor();
  });

  test('a deleted recording, a missing pod and a stopped server are reported', async () => {
    const { page } = await rig.open('/gone/overview');
    await page.getByRole('heading', { name: 'There is no recording gone' }).waitFor();
    await page.goto(new URL('#/before/pods/nobody', rig.address).href);
    await page.getByRole('alert').getByText('there is no pod nobody').waitFor();
    await page.route('**/latency**', (route) => route.abort());
    await page.goto(new URL('#/before/latency', rig.address).href);
    const alert = page.getByRole('alert');
    await alert.getByText('the observatory does not answer').waitFor();
    await page.unroute('**/latency**');
    await alert.getByRole('button', { name: 'Try again' }).click();
    await rows(page, 'Steps of the path').first().waitFor();
  });

  test('the chosen theme is remembered', async () => {
    const { page } = await rig.open('/before/contract');
    const theme = page.locator('html');
    await page.getByLabel('Theme').selectOption('dark');
    expect(await theme.getAttribute('data-theme')).toBe('dark');
    await page.reload();
    await page.getByLabel('Theme').waitFor();
    expect(await theme.getAttribute('data-theme')).toBe('dark');
  });
});
