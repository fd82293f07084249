import { afterEach, expect, test } from '@jest/globals';
import type { Locator, Page } from 'playwright-core';
import { violations, visit } from './chromium.ts';
import { goTo, inChromium, rows } from './page-rig.ts';

inChromium('faults on the page in Chromium', (rig) => {
  afterEach(() => rig.ask('DELETE', '/faults'));
  const mark = (page: Page): Locator => page.getByRole('status').filter({ hasText: 'active fault' });

  test.each(['light', 'dark'] as const)('that are active are listed and counted, accessibly in %s', async (theme) => {
    const { page, complaints } = await rig.open('/before/faults', theme);
    await page.getByText('No fault is active.').waitFor();
    expect(await violations(page)).toEqual([]);
    expect(await mark(page).count()).toBe(0);
    for (const [action, label] of [
      ['drop', undefined],
      ['duplicate', 'Extra copies'],
      ['reorder', 'Messages reordered together'],
      ['delay', 'Delay (ms)'],
    ] as const) {
      await page.getByLabel('Action', { exact: true }).selectOption(action);
      if (label !== undefined) await page.getByLabel(label).waitFor();
      await page.getByLabel('Subject').fill(`${action}.fact.*`);
      await page.getByRole('button', { name: 'Inject', exact: true }).click();
      await page.getByRole('row', { name: new RegExp(`${action}\\.fact`) }).waitFor();
    }
    await mark(page).getByText('4 active faults').waitFor();
    const acted = page.getByRole('row', { name: /delay\.fact/ }).getByRole('link');
    const before = Number(await acted.textContent());
    await page.waitForFunction(([link, count]) => Number(link.textContent) > count, [
      await acted.elementHandle(),
      before,
    ] as const);
    expect(await violations(page)).toEqual([]);
    expect(complaints).toEqual([]);
  });

  test('are injected and ended by keyboard, and shown in the header of every view', async () => {
    const { page } = await rig.open('/before/overview');
    await rows(page, 'Pods').first().waitFor();
    await goTo(page, 'f', /#\/before\/faults$/);
    const subject = page.getByLabel('Subject');
    await subject.waitFor();
    await page.keyboard.press('/');
    await page.keyboard.type('worker.fact.*');
    await page.keyboard.press('Tab');
    await page.keyboard.press('ControlOrMeta+a');
    await page.keyboard.type('250');
    await page.keyboard.press('Enter');
    await page.getByRole('row', { name: /delay worker\.fact\.\*/ }).waitFor();
    // Letters are input of the field while one has the focus.
    await page.getByRole('button', { name: 'Inject', exact: true }).focus();
    await goTo(page, 'm', /#\/before\/messages/);
    await mark(page).getByRole('link', { name: '1 active fault' }).press('Enter');
    await page.waitForURL(/#\/before\/faults$/);
    const end = page.getByRole('button', { name: /^End delay-/ });
    await end.focus();
    await page.keyboard.press('Enter');
    await page.getByText('No fault is active.').waitFor();
    await mark(page).waitFor({ state: 'detached' });
  });

  test('apply to the pod, the messages and the time of the fields', async () => {
    const { page } = await rig.open('/~live/faults');
    await page.getByLabel('Subject').fill('probe.>');
    await page.getByLabel('About pod').selectOption({ index: 1 });
    const pod = await page.getByLabel('About pod').locator('option').nth(1).textContent();
    await page.getByLabel('Applies to').selectOption('nth');
    const numbers = page.getByLabel('Numbers, from 1 on');
    await numbers.fill('0');
    const disturb = page.getByRole('button', { name: 'Inject', exact: true });
    await disturb.click();
    expect(await numbers.evaluate((field: HTMLInputElement) => field.validity.patternMismatch)).toBe(true);
    await page.getByText('No fault is active.').waitFor();
    await numbers.fill('2, 4');
    await page.getByLabel('Only deliveries to').fill('prober');
    await page.getByLabel('Duration (s)', { exact: true }).fill('3600');
    const sent = page.waitForRequest((request) => request.method() === 'POST');
    await disturb.click();
    expect((await sent).postDataJSON()).toEqual({
      match: { subject: 'probe.>', pod: expect.any(String) as unknown, reader: 'prober' },
      what: { kind: 'delay', ms: 500 },
      when: { nth: [2, 4], forMs: 3_600_000 },
    });
    await page.getByRole('row', { name: new RegExp(`about pod ${pod ?? 'none'}`) }).waitFor();
  });

  test('that are invalid are refused with the field', async () => {
    const { page } = await rig.open('/~live/faults');
    await page.getByLabel('Subject').fill('a..b');
    await page.getByRole('button', { name: 'Inject', exact: true }).click();
    await page.getByRole('alert').getByText('match.subject: "a..b" is not a subject pattern').waitFor();
    await page.getByLabel('Service or instance').fill('nobody');
    await page.getByRole('button', { name: 'Apply' }).click();
    await page.getByRole('alert').getByText('service: "nobody" is neither a service nor an instance').waitFor();
  });

  test('of services are listed and marked, and all can be ended at once', async () => {
    const { page } = await rig.open('/~live/faults');
    await page.getByLabel('Service or instance').fill('sync-loop');
    await page.getByLabel('Pause for (s)').fill('600');
    await page.getByRole('button', { name: 'Apply' }).click();
    await page.getByRole('row', { name: /^sync-loop-0 paused/ }).waitFor();
    await mark(page).getByText('1 active fault').waitFor();
    await page.getByLabel('Action on the service').selectOption('kill');
    await page.getByLabel('Pause for (s)').waitFor({ state: 'detached' });
    await page.getByRole('button', { name: 'End all' }).click();
    await page.getByText('No fault is active.').waitFor();
  });

  test.each([
    ['node-without-faults', 'This node was started without faults'],
    ['files', 'There is no node to inject faults into'],
  ] as const)('of %s cannot be injected: the page says how to allow them', async (shows, title) => {
    const address = await rig.serve({ millionPods: 1, shows });
    const asked: string[] = [];
    const context = await rig.context();
    context.on('request', (request) => asked.push(new URL(request.url()).pathname));
    const { page, complaints } = await visit(context, `${address}/before/faults`);
    await page.getByRole('heading', { name: title }).waitFor();
    await page.getByText('./kubus up --observatory --faults').waitFor();
    expect(await violations(page)).toEqual([]);
    expect(complaints).toEqual([]);
    expect(asked).not.toContain('/api/v1/faults');
  });
});
