import { describe, expect, test } from '@jest/globals';
import { RESULT, ScriptedBridge, until } from './scripted-bridge.ts';

const works = `[ $CNI_COMMAND != ADD ] || echo '${RESULT}'`;
const lost = `{ echo '{"cniVersion":"1.0.0","code":107,"msg":"lost"}'; exit 1; }`;

describe('checking all attachments', () => {
  test('runs CHECK of each existing attachment in turn and reports the failed one', async () => {
    const node = await new ScriptedBridge().serve({
      first: `[ "$CNI_COMMAND $CNI_CONTAINERID" != 'CHECK c2' ] || ${lost}\n${works}`,
      second: works,
    });
    for (const id of ['c1', 'c2', 'c3']) await node.call('ADD', id);
    await node.call('DEL', 'c3');
    expect(await node.bridge.check()).toMatchObject({
      checked: 2,
      failed: [{ attachment: { containerId: 'c2', phase: 'added' }, error: { cniCode: 107 } }],
    });
    expect(node.calls().filter((call) => call.startsWith('CHECK'))).toEqual([
      'CHECK first c1',
      'CHECK second c1',
      'CHECK first c2',
    ]);
    // It still exists and the next check finds the problem again, but it is logged only once.
    expect((await node.bridge.check()).failed).toHaveLength(1);
    expect(node.logged.filter((line) => line.startsWith('attachment check failed'))).toEqual([
      expect.stringMatching(/plugin first failed \(CHECK\): lost .*"containerId":"c2".*"podUid":"u1"/),
    ]);
    expect((await node.call('DEL', 'c2')).exitCode).toBe(0);
  });

  test('skips an attachment that is removed during the check', async () => {
    const node = new ScriptedBridge();
    const gate = node.gate();
    await node.serve({ it: `[ $CNI_COMMAND != CHECK ] || ${gate.wait}\n${works}` });
    await node.call('ADD', 'c1');
    const checks = node.bridge.check();
    await until(() => node.calls().includes('CHECK it c1'));
    const removed = node.call('DEL', 'c1');
    gate.open('c1');
    expect(await checks).toEqual({ checked: 0, failed: [] });
    expect((await removed).exitCode).toBe(0);
  });

  test.each([
    ['before 0.4.0', { cniVersion: '0.3.1' }],
    ['when disableCheck is set', { disableCheck: true }],
  ])('runs no plugin %s', async (_, network) => {
    const node = await new ScriptedBridge().serve({ it: works }, network);
    await node.call('ADD', 'c1');
    expect(await node.bridge.check()).toEqual({ checked: 0, failed: [] });
    expect(node.calls()).toEqual(['ADD it c1']);
  });
});
