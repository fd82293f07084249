import { existsSync, mkdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { describe, expect, test } from '@jest/globals';
import { CNI_VERSIONS } from '@kubus/cni-config';
import { RESULT, ScriptedBridge, until } from './scripted-bridge.ts';

const works = `[ $CNI_COMMAND != ADD ] || echo '${RESULT}'`;
const error = (code: number, msg: string) => `{ echo '{"cniVersion":"1.0.0","code":${code},"msg":"${msg}"}'; exit 1; }`;

describe('a plugin chain', () => {
  test('passes each result to the next plugin and returns the last one', async () => {
    const node = await new ScriptedBridge().serve({
      first: works,
      second: `[ $CNI_COMMAND != ADD ] || echo '{"cniVersion":"1.0.0","ips":[{"address":"10.88.0.6/16"}]}'`,
    });
    const added = await node.call('ADD');
    expect(JSON.parse(added.stdout)).toEqual({ cniVersion: '1.0.0', ips: [{ address: '10.88.0.6/16' }] });
    expect(node.stdin('first', 'ADD')).toEqual({ type: 'first', name: 'pods', cniVersion: '1.0.0' });
    expect(node.stdin('second', 'ADD')).toMatchObject({ prevResult: { ips: [{ address: '10.88.0.5/16' }] } });
    expect(node.records()).toMatchObject([
      { state: 'added', completed: 2, pod: { namespace: 'default', name: 'web', uid: 'u1' }, netns: '/run/netns/a' },
    ]);
    await node.call('DEL');
    expect(node.stdin('first', 'DEL')).toMatchObject({ prevResult: { ips: [{ address: '10.88.0.6/16' }] } });
    expect(node.calls()).toEqual(['ADD first c1', 'ADD second c1', 'DEL second c1', 'DEL first c1']);
    expect(node.records()).toEqual([]);
  });

  test('reports each plugin run and each phase, without the plugins’ input', async () => {
    const node = await new ScriptedBridge().serve({ it: works });
    await node.call('ADD', 'c1', {
      traceparent: '00-a-b-01',
      stdin: '{"cniVersion":"1.0.0","runtimeConfig":{"secret":"hidden"}}',
    });
    const subject = {
      type: 'it',
      command: 'ADD',
      network: 'pods',
      containerId: 'c1',
      ifname: 'eth0',
      pod: { namespace: 'default', name: 'web', uid: 'u1' },
      traceparent: '00-a-b-01',
    };
    expect(node.pluginEvents).toMatchObject([{ ...subject, ips: ['10.88.0.5'] }]);
    expect(node.pluginEvents[0]?.durationMs).toBeGreaterThanOrEqual(0);
    expect(node.attachmentEvents.map(({ phase, ips }) => [phase, ...ips])).toEqual([
      ['adding'],
      ['added', '10.88.0.5'],
    ]);
    expect(JSON.stringify([node.pluginEvents, node.logged])).not.toContain('hidden');
  });

  test.each([
    ['prints rubbish', 'echo rubbish', 6, 'the result is not JSON'],
    ['prints nothing', ':', 6, 'the result is not JSON'],
    ['prints endless output', 'yes', 6, 'plugin bad (ADD) printed more than 1048576 bytes'],
    ['returns no address', `echo '{"cniVersion":"1.0.0"}'`, 999, 'the chain gave no address to interface eth0'],
    ['fails with an error message', error(100, 'no address left'), 100, 'plugin bad failed (ADD): no address left'],
    [
      'fails without an error message',
      'echo oops; exit 3',
      999,
      'plugin bad failed (ADD) with exit code 3 and without a CNI error',
    ],
    ['dies', 'kill -SEGV $$', 999, 'plugin bad (ADD) was killed by SIGSEGV'],
    ['never returns', 'exec sleep 1000', 11, 'plugin bad (ADD) did not end within 1 s'],
  ])('is undone when its last plugin %s', async (_, script, code, msg) => {
    const node = await new ScriptedBridge({ pluginMs: 1000 }).serve({
      good: works,
      bad: `[ $CNI_COMMAND = ADD ] || exit 0\n${script}`,
    });
    expect(await node.failure('ADD')).toMatchObject({ cniVersion: '1.0.0', code, msg });
    expect(node.calls()).toEqual(['ADD good c1', 'ADD bad c1', 'DEL bad c1', 'DEL good c1']);
    expect(node.records()).toEqual([]);
    expect(node.pluginEvents).toContainEqual(expect.objectContaining({ type: 'good', command: 'DEL', ips: [] }));
    expect(node.logged.filter((line) => line.includes(msg))).toEqual([expect.stringContaining('"pod":"default/web"')]);
    expect(node.bridge.load).toEqual({ running: 0, waiting: 0 });
  });

  test('with a missing plugin fails with the paths that were searched', async () => {
    const node = await new ScriptedBridge().serve({ good: works }, { plugins: [{ type: 'good' }, { type: 'absent' }] });
    expect(await node.failure('ADD')).toMatchObject({
      code: 5,
      msg: `failed to find plugin "absent" in path [${node.path('plugins')}]`,
    });
    // The missing plugin has made nothing, so neither the undo of the others nor the following DEL needs it.
    expect(node.records()).toEqual([]);
    expect((await node.call('DEL')).exitCode).toBe(0);
    expect(node.calls()).toEqual(['ADD good c1', 'DEL good c1']);
  });

  test('ends at the chain’s time limit, and its undo gets the same time again', async () => {
    const node = await new ScriptedBridge({ pluginMs: 1_000_000, chainMs: 1000 }).serve({
      good: works,
      bad: '[ $CNI_COMMAND != ADD ] || exec sleep 1000',
    });
    expect(await node.failure('ADD')).toMatchObject({
      code: 11,
      msg: expect.stringContaining('did not end within 0.'),
    });
    expect(node.records()).toEqual([]);
  });
});

describe('calls for one attachment', () => {
  test('ADD joins an ADD that is already running', async () => {
    const node = new ScriptedBridge();
    const { wait, open } = node.gate();
    await node.serve({ it: `[ $CNI_COMMAND != ADD ] || ${wait}\n${works}` });
    const calls = [node.call('ADD'), node.call('ADD'), node.call('ADD', 'c1', { stdin: '{"cniVersion":"0.4.0"}' })];
    await until(() => node.calls().length > 0);
    open('c1');
    const [first, second, third] = await Promise.all(calls);
    expect(first).toEqual(second);
    expect(JSON.parse(third?.stdout ?? '')).toEqual({
      cniVersion: '0.4.0',
      ips: [{ version: '4', address: '10.88.0.5/16' }],
    });
    expect(await node.call('ADD')).toEqual(first);
    expect(node.calls()).toEqual(['ADD it c1']);
  });

  test('DEL interrupts an unfinished ADD', async () => {
    const node = new ScriptedBridge();
    const { wait, open } = node.gate();
    await node.serve({ first: `[ $CNI_COMMAND != ADD ] || ${wait}\n${works}`, second: works });
    const adding = node.failure('ADD');
    await until(() => node.calls().length > 0);
    const deleting = node.call('DEL');
    open('c1');
    expect(await adding).toMatchObject({ code: 11, msg: 'DEL was requested in the meantime' });
    expect(await deleting).toMatchObject({ exitCode: 0 });
    expect(node.calls()).toEqual(['ADD first c1', 'DEL first c1']);
  });

  test('DEL of an unknown attachment runs the chain until it has succeeded once', async () => {
    const node = await new ScriptedBridge().serve({ it: error(102, 'stays') });
    const prevResult = { cniVersion: '1.0.0', ips: [{ address: '10.88.0.9/16' }] };
    const stdin = JSON.stringify({ cniVersion: '1.0.0', prevResult });
    expect(await node.failure('DEL', 'c1', { stdin, netns: '' })).toMatchObject({ code: 102 });
    expect(node.stdin('it', 'DEL')).toMatchObject({ prevResult: { ips: prevResult.ips } });
    node.script('it', works);
    expect(await node.call('DEL')).toEqual({ exitCode: 0, stdout: '', stderr: '' });
    expect(await node.call('DEL', 'c1', { netns: '' })).toEqual({ exitCode: 0, stdout: '', stderr: '' });
    expect(node.calls()).toEqual(['DEL it c1', 'DEL it c1']);
  });

  test('DEL of an attachment that this process has removed runs nothing; after a restart the chain runs once more', async () => {
    const node = await new ScriptedBridge().serve({ it: works });
    for (const command of ['ADD', 'DEL', 'DEL', 'ADD', 'DEL', 'DEL']) {
      expect(await node.call(command)).toMatchObject({ exitCode: 0 });
    }
    expect(node.calls()).toEqual(['ADD it c1', 'DEL it c1', 'ADD it c1', 'DEL it c1']);
    node.restart();
    await node.serve({ it: works });
    await node.call('DEL');
    await node.call('DEL');
    expect(node.calls().slice(4)).toEqual(['DEL it c1']);
  });

  test('DEL without a configured network succeeds and does not count as a removal', async () => {
    const node = await new ScriptedBridge().serve({ it: works });
    node.configure();
    expect(await node.call('DEL')).toEqual({ exitCode: 0, stdout: '', stderr: '' });
    await node.serve({ it: works });
    await node.call('DEL');
    expect(node.calls()).toEqual(['DEL it c1']);
  });

  test('DEL of loopback without a namespace runs no plugin', async () => {
    const node = await new ScriptedBridge().serve({ loopback: '' });
    await node.call('DEL', 'c1', { name: 'loopback', ifname: 'lo' });
    expect(await node.call('DEL', 'c1', { name: 'loopback', ifname: 'lo', netns: '' })).toMatchObject({ exitCode: 0 });
    expect(node.calls()).toEqual(['DEL loopback c1']);
  });

  test('ADD fails and is undone by the bridge when its shim is killed, and can be repeated', async () => {
    const node = new ScriptedBridge();
    const { wait, open } = node.gate();
    await node.serve({
      first: works,
      second: `[ $CNI_COMMAND != ADD ] || { echo $PPID > ${node.path('shim')}; ${wait}; }\n${works}`,
    });
    const shim = await node.startShim('ADD', 'c1');
    const attached = node.failure('ADD');
    await until(() => existsSync(node.path('shim')) && readFileSync(node.path('shim'), 'utf8').endsWith('\n'));
    expect(Number(readFileSync(node.path('shim'), 'utf8'))).toBe(shim.pid);
    shim.kill('SIGKILL');
    expect(await attached).toMatchObject({
      code: 11,
      msg: 'plugin second (ADD) lost the shim that ran it: it has ended',
    });
    expect(node.calls()).toEqual(['ADD first c1', 'ADD second c1', 'DEL second c1', 'DEL first c1']);
    expect(node.records()).toEqual([]);
    open('c1');
    expect(await node.call('ADD')).toMatchObject({ exitCode: 0 });
  });
});

test('a bounded number of attachments is processed at once; the others wait in order', async () => {
  const node = new ScriptedBridge({ concurrent: 2 });
  const { wait, open } = node.gate();
  await node.serve({ it: `${wait}\n${works}` });
  const calls = ['c1', 'c2', 'c3', 'c4'].map((id) => node.call('ADD', id));
  await until(() => node.calls().length === 2);
  expect(node.bridge.load).toEqual({ running: 2, waiting: 2 });
  expect(node.records()).toHaveLength(2);
  open('c2');
  await until(() => node.calls().length === 3);
  expect(node.bridge.load).toEqual({ running: 2, waiting: 1 });
  ['c1', 'c3', 'c4'].forEach(open);
  expect((await Promise.all(calls)).map(({ exitCode }) => exitCode)).toEqual([0, 0, 0, 0]);
  expect(node.calls().slice(2)).toEqual(['ADD it c3', 'ADD it c4']);
  expect(node.bridge.load).toEqual({ running: 0, waiting: 0 });
});

describe('a journal that cannot be written', () => {
  test('fails an ADD before any plugin runs, and a DEL before anything is removed', async () => {
    const node = await new ScriptedBridge().serve({ it: works });
    rmSync(node.journal, { recursive: true });
    expect(await node.failure('ADD')).toMatchObject({ code: 5, msg: expect.stringContaining(node.journal) });
    expect(node.calls()).toEqual([]);
    mkdirSync(node.journal);
    expect((await node.call('ADD')).exitCode).toBe(0);
    rmSync(node.journal, { recursive: true });
    expect(await node.failure('DEL')).toMatchObject({ code: 5 });
    expect(node.bridge.attachments).toMatchObject([{ phase: 'added' }]);
    mkdirSync(node.journal);
    expect((await node.call('DEL')).exitCode).toBe(0);
    expect(node.calls()).toEqual(['ADD it c1', 'DEL it c1']);
  });

  test('undoes an ADD when its result cannot be recorded', async () => {
    const node = new ScriptedBridge();
    await node.serve({ it: `[ $CNI_COMMAND != ADD ] || rm -r ${node.journal}\n${works}` });
    expect(await node.failure('ADD')).toMatchObject({ code: 5 });
    expect(node.calls()).toEqual(['ADD it c1', 'DEL it c1']);
    expect(node.bridge.attachments).toEqual([]);
  });
});

describe('after a restart', () => {
  test('calls wait until the journal and the configuration are known', async () => {
    const node = await new ScriptedBridge().serve({ it: works });
    const first = await node.call('ADD');
    node.restart();
    const answer = node.call('ADD');
    expect(node.bridge.network).toMatchObject({
      ready: false,
      message: expect.stringContaining('cni plugin not initialized'),
    });
    node.configure({ cniVersion: '1.0.0', name: 'pods', plugins: [{ type: 'it' }] });
    expect(node.bridge.network).toMatchObject({ ready: false, message: expect.stringContaining('not read yet') });
    await node.bridge.recover();
    expect(await answer).toEqual(first);
    expect(node.bridge.network).toMatchObject({ ready: true, network: 'pods', file: '0.conflist' });
    expect(node.calls()).toEqual(['ADD it c1']);
  });

  test('an invalid record is logged by name and left in place', async () => {
    const node = new ScriptedBridge();
    writeFileSync(node.journalFile, '{"key":"c9:eth0","value":{"version":2}}\n');
    await node.serve({ it: works });
    expect(node.records()).toEqual([{ version: 2 }]);
    expect(node.logged.some((line) => line.startsWith('cannot parse the record of an attachment'))).toBe(true);
    expect(node.bridge.attachments).toEqual([]);
  });

  test('a damaged line of the journal is logged with its file; every other attachment continues', async () => {
    const node = await new ScriptedBridge().serve({ it: works });
    for (const id of ['c1', 'c2', 'c3']) await node.call('ADD', id);
    const lines = readFileSync(node.journalFile, 'utf8').split('\n');
    const at = lines.findLastIndex((line) => line.startsWith('{"key":"c2:eth0"'));
    lines[at] = lines[at]?.slice(0, 200) ?? '';
    writeFileSync(node.journalFile, lines.join('\n'));
    node.restart();
    await node.serve({ it: works });
    expect(node.logged).toContainEqual(
      expect.stringContaining(`line ${at + 1} of the journal ${node.journalFile} is damaged`),
    );
    expect(node.bridge.attachments.map(({ containerId, phase }) => [containerId, phase])).toEqual([
      ['c1', 'added'],
      ['c3', 'added'],
    ]);
    // Its older lines would say that its ADD was interrupted: nothing is undone while its pod may run.
    expect(node.calls()).toEqual(['ADD it c1', 'ADD it c2', 'ADD it c3']);
    for (const id of ['c1', 'c2', 'c3']) expect((await node.call('DEL', id)).exitCode).toBe(0);
    expect(node.calls().slice(3)).toEqual(['DEL it c1', 'DEL it c2', 'DEL it c3']);
  });

  test('a failed removal is reported and retried by the next collection', async () => {
    const node = await new ScriptedBridge().serve({ it: `[ $CNI_COMMAND = ADD ] || ${error(102, 'busy')}\n${works}` });
    await node.call('ADD');
    expect(await node.failure('DEL')).toMatchObject({ code: 102 });
    node.restart();
    node.configure();
    const { removals } = await node.bridge.recover();
    expect(await removals).toMatchObject({ removed: 0, failed: [{ error: { cniCode: 102 } }] });
    node.script('it', works);
    expect(await node.bridge.collect(new Set(['c1']), Date.now())).toEqual({ removed: 0, failed: [] });
    expect(await node.bridge.collect(new Set(), Date.now())).toEqual({ removed: 1, failed: [] });
    expect(node.records()).toEqual([]);
  });
});

describe('readiness', () => {
  test('VERSION and STATUS are answered before recovery', async () => {
    const node = new ScriptedBridge();
    expect(JSON.parse((await node.call('VERSION')).stdout)).toEqual({
      cniVersion: '1.0.0',
      supportedVersions: [...CNI_VERSIONS],
    });
    expect(await node.failure('STATUS')).toMatchObject({
      code: 50,
      msg: 'Network plugin returns error: cni plugin not initialized',
    });
    await node.serve({ it: works });
    expect(await node.call('STATUS')).toEqual({ exitCode: 0, stdout: '', stderr: '' });
    node.configure('{');
    expect(await node.failure('STATUS')).toMatchObject({ code: 50 });
    expect(await node.failure('ADD')).toMatchObject({ code: 11, msg: 'cni plugin not initialized' });
    expect(node.networkEvents.map(({ ready, broken }) => [ready, broken.length])).toEqual([
      [false, 0],
      [true, 0],
      [false, 1],
    ]);
  });

  test('the plugins’ STATUS decides for versions that have it', async () => {
    const node = new ScriptedBridge({ statusMs: 10 });
    const answer = node.path('status');
    const script = `[ $CNI_COMMAND != STATUS ] || [ ! -e ${answer} ] || ${error(51, 'no controller')}\n${works}`;
    writeFileSync(answer, '');
    await node.serve({ first: works, second: script }, { cniVersion: '1.1.0' });
    await until(() => node.networkEvents.at(-1)?.message.includes('no controller') ?? false);
    rmSync(answer);
    await until(() => node.networkEvents.at(-1)?.ready ?? false);
    expect(node.stdin('second', 'STATUS')).toEqual({ type: 'second', name: 'pods', cniVersion: '1.1.0' });
    writeFileSync(answer, '');
    await until(() => !(node.networkEvents.at(-1)?.ready ?? true));
    node.configure({ cniVersion: '1.0.0', name: 'pods', plugins: [{ type: 'first' }] });
    expect(node.bridge.network.ready).toBe(true);
  });
});

describe('garbage collection', () => {
  test('runs the plugins’ GC with the valid attachments for versions that have it', async () => {
    const node = await new ScriptedBridge({ collectAfterMs: -1 }).serve(
      { first: `[ $CNI_COMMAND != GC ] || exit 1\n${works}`, second: works },
      { cniVersion: '1.1.0' },
    );
    await node.call('ADD', 'c1');
    await node.call('ADD', 'c2');
    const stdin = JSON.stringify({
      cniVersion: '1.1.0',
      'cni.dev/valid-attachments': [{ containerID: 'c2', ifname: 'eth0' }],
    });
    expect((await node.call('GC', '', { stdin })).exitCode).toBe(0);
    expect(node.stdin('second', 'GC')).toMatchObject({
      'cni.dev/valid-attachments': [{ containerID: 'c2', ifname: 'eth0' }],
    });
    expect(node.calls().filter((call) => /GC|DEL/.test(call))).toEqual([
      'DEL second c1',
      'DEL first c1',
      'GC first',
      'GC second',
    ]);
  });

  test.each([
    ['before 1.1.0', {}],
    ['when disableGC is set', { cniVersion: '1.1.0', disableGC: true }],
  ])('does not run the plugins’ GC %s', async (_, network) => {
    const node = await new ScriptedBridge().serve({ it: works }, network);
    await node.bridge.collect(new Set(), Date.now());
    expect(node.calls().filter((call) => call.startsWith('GC'))).toEqual([]);
  });
});
