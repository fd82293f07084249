// What a pod is opened for, an address that comes back to the same place, and lists by keyboard.
import { expect, test } from '@jest/globals';
import { visit } from './chromium.ts';
import { grid, inChromium, rows } from './page-rig.ts';

interface Pod {
  readonly uid: string;
  readonly name: string;
  readonly state: string;
}

inChromium('answers of the page in Chromium', (rig) => {
  const podWith = async (state: string): Promise<Pod> => {
    const pods = (await rig.ask('GET', '/recordings/before/pods')) as Pod[];
    const pod = pods.find((one) => one.state === state);
    if (pod === undefined) throw new Error(`no pod is ${state}`);
    return pod;
  };

  test('a failed pod says why, with its event and the chain of causes, and what to look at next', async () => {
    const { uid, name } = await podWith('failed');
    const { page } = await rig.open(`/before/pods/${uid}`);
    const answer = page.getByRole('region', { name: 'In short' });
    await answer.getByText('container web exited with code 3 and left "the database does not answer"').waitFor();
    await answer.getByText(`./kubus logs ${name}`).waitFor();
    await answer.getByText('Readiness probe failed').waitFor();
    const chain = answer.getByRole('list', { name: 'Chain of causes' });
    expect(await chain.getByRole('listitem').count()).toBeGreaterThan(3);
    await chain.getByRole('button').first().focus();
    await page.keyboard.press('End');
    await page.keyboard.press('Enter');
    const inspector = page.getByRole('complementary', { name: 'Message' });
    await inspector.getByRole('heading', { name: /worker\.fact\.status/ }).waitFor();
    const said = page.url();
    await page.keyboard.press('Escape');
    await answer.getByRole('link', { name: 'The message that says so' }).click();
    await page.waitForURL(said);
  });

  test('a pod’s page opens with how long its start took, on what, and how that compares', async () => {
    const { page } = await rig.open('/~live/pods?state=ready');
    await rows(page, 'Pods').first().click();
    await page
      .getByRole('region', { name: 'In short' })
      .getByText(/^Ready after \d+ ms; \d+ ms of it the \w+; (slower|faster) than \d+ % of the last 100 starts\.$/)
      .waitFor();
  });

  test('of a pod that two manifests have, its page says which one is run', async () => {
    const uid = ((await rig.ask('GET', '/recordings/before/pods')) as Pod[])[3]?.uid ?? '';
    const { page } = await rig.open(`/before/pods/${uid}`);
    await page
      .getByRole('region', { name: 'In short' })
      .getByText('/m/a.yaml has this pod; another with its name in /m/b.yaml is not run.')
      .waitFor();
  });

  test('a pod that is gone is not shown as ready, and the legend lists the pods of one state', async () => {
    const { page } = await rig.open('/before/pods');
    const legend = page.getByRole('list', { name: 'States of the pods' });
    await legend.getByRole('button', { name: /^Deleted/ }).click();
    await page.waitForURL(/state=deleted/);
    await page.getByText(/^\d+ of 100/).waitFor();
    const texts = await rows(page, 'Pods').allTextContents();
    for (const text of texts) expect(text).toContain('Deleted');
    const colors = await rows(page, 'Pods')
      .locator('.state')
      .evaluateAll((all) => all.map((one) => getComputedStyle(one).color));
    await legend.getByRole('button', { name: /^Deleted/ }).click();
    await page.goto(new URL('#/~live/pods?state=ready', rig.address).href);
    const ready = rows(page, 'Pods').locator('.state').first();
    await ready.getByText('Ready').waitFor();
    expect(colors).not.toContain(await ready.evaluate((one) => getComputedStyle(one).color));
  });

  test('a copied address opens the same pod, time and zoom in another tab, once that has the token', async () => {
    const { uid, name } = await podWith('failed');
    const { page } = await rig.open(`/before/pods/${uid}`);
    const timeline = page.getByRole('group', { name: /^Messages of the pod by service/ });
    await timeline.focus();
    await page.keyboard.press('+');
    await page.keyboard.press('+');
    await page.keyboard.press('Shift+ArrowRight');
    await page.waitForURL(/from=\d+\.\d+&to=\d+\.\d+/);
    const draw = (one: HTMLCanvasElement): string => one.toDataURL();
    await timeline.evaluate((one) => (one as HTMLElement).blur());
    const picture = await timeline.locator('canvas').evaluate(draw);

    const other = await visit(await rig.context(), page.url());
    const field = other.page.getByLabel(/^A copied address has no token/);
    await field.fill('nonsense');
    await other.page.getByRole('button', { name: 'Open' }).click();
    await other.page.getByText('There is no token in it').waitFor();
    await field.fill(rig.address);
    await field.press('Enter');
    await other.page.getByRole('heading', { level: 1, name: new RegExp(name) }).waitFor();
    expect(other.page.url()).toBe(page.url());
    const same = other.page.getByRole('group', { name: /^Messages of the pod by service/ }).locator('canvas');
    await rows(other.page, 'Segments of the critical path of the start').first().waitFor();
    expect(await same.evaluate(draw)).toBe(picture);
  });

  test('an address that names nothing is completed, and lists keep their filter and order in it', async () => {
    const { page } = await rig.open('');
    await rows(page, 'Pods').first().waitFor();
    expect(page.url()).toBe(new URL('#/~live/overview', rig.address).href);
    await page.goto(new URL('#/before/pods', rig.address).href);
    await page.getByLabel('Filter the pods').fill('cart');
    await grid(page, 'Pods').getByRole('button', { name: 'Pod' }).click();
    await page.waitForURL(/q=cart&pods=name/);
    const first = (await rows(page, 'Pods').first().textContent()) ?? '';
    await page.reload();
    await rows(page, 'Pods').first().getByText(first.slice(0, 12)).waitFor();
    expect(await page.getByLabel('Filter the pods').inputValue()).toBe('cart');
  });

  test('lists are walked by keyboard, without a pointer', async () => {
    const { page } = await rig.open('/before/pods');
    await rows(page, 'Pods').first().waitFor();
    await page.keyboard.press('j');
    await page.keyboard.press('j');
    await page.keyboard.press('ArrowDown');
    await page.keyboard.press('k');
    const active = page.locator('.grid-row-active');
    expect(await active.getAttribute('aria-rowindex')).toBe('3');
    await page.goto(new URL('#/before/recordings', rig.address).href);
    await page.getByRole('row', { name: /slow-disk/ }).waitFor();
    await page.keyboard.press('ArrowDown');
    const focused = page.locator(':focus');
    expect(await focused.textContent()).toBe('live');
    await page.keyboard.press('ArrowDown');
    await page.keyboard.press('ArrowDown');
    expect(await focused.textContent()).toBe('slow-disk');
    await page.keyboard.press('Enter');
    await page.waitForURL(/#\/slow-disk\/overview/);
  });

  test('times name their zone, which can be UTC', async () => {
    const address = `${rig.address}/before/messages?message=430`;
    const { page } = await visit(await rig.context('light', 'Asia/Kathmandu'), address);
    const inspector = page.getByRole('complementary', { name: 'Message' });
    await inspector.getByText(/^\d{4}-\d\d-\d\d \d\d:\d\d:\d\d\.\d{3} UTC\+05:45 Asia\/Kat/).waitFor();
    await page.getByLabel('Times in').selectOption('UTC');
    await inspector.getByText(/\d\d:\d\d:\d\d\.\d{3} UTC$/).waitFor();
  });

  test('messages that are being read are announced, with how many there are', async () => {
    const { page } = await rig.open('/million/overview');
    await rows(page, 'Pods').first().waitFor();
    let go = (): void => undefined;
    const held = new Promise<void>((done) => (go = done));
    await page.route(/\/messages\?/, async (route) => {
      await held;
      await route.continue();
    });
    await page.goto(new URL('#/million/messages', rig.address).href);
    await page.getByText('reading …').waitFor();
    expect(await grid(page, 'Messages').getAttribute('aria-busy')).toBe('true');
    await page.getByRole('progressbar', { name: 'Read so far' }).waitFor();
    go();
    await page.getByText(/^500 loaded so far of about \d[\d\s]+; scroll down for more$/).waitFor();
    await page.getByText('reading …').waitFor({ state: 'detached' });
  });

  test('the map has the rate of each line, and what is idle is folded until it is asked for', async () => {
    const { page } = await rig.open('/~live/map');
    await page.getByText(/^Idle here, and left out: .*launcher/).waitFor();
    expect(await page.getByRole('button', { name: /^launcher / }).count()).toBe(0);
    expect(await page.locator('.link-label', { hasText: /\/s$/ }).count()).toBeGreaterThan(5);
    await page.getByLabel('what is idle').check();
    await page.getByRole('button', { name: /^launcher / }).waitFor();
    await page.waitForURL(/idle=yes/);
  });
});
