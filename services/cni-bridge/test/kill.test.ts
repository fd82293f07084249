// The bridge is killed at each step of an ADD and of a DEL, between its own operations and while a plugin runs, and is
// restarted while the runtime's call still waits in the shim. Afterwards the leased addresses must be those of the
// existing attachments, and a pod that existed all the time must be unaffected.
import { existsSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { execFileSync } from 'node:child_process';
import { join } from 'node:path';
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, test } from '@jest/globals';
import { someOf, testSeed } from '@kubus/harness';
import { type BridgeProcess, type Namespace, TestNode } from './test-node.ts';

/** Chooses the moments of the quick size. */
const seed = testSeed('kill');

let node: TestNode;
let bystander: Namespace;
let sandbox: Namespace;
let bridge: BridgeProcess;
let before: Record<string, string>;

/** Which plugin ends its owner, and when: "start ADD bridge", "hang DEL bridge" or "end ADD portmap". */
let fault = '';

beforeAll(async () => {
  node = await TestNode.make();
  fault = join(node.folder, 'fault');
  execFileSync('mkfifo', [join(node.folder, 'never')]);
  for (const type of ['bridge', 'portmap']) {
    node.script(type, killer(type));
  }
  node.configure('10-pods.conflist', {
    cniVersion: '1.0.0',
    name: 'pods',
    plugins: [node.bridgePlugin(), { type: 'portmap', capabilities: { portMappings: true }, snat: true }],
  });
  bystander = await node.makeSandbox();
  bridge = await node.startBridge();
  await node.call('ADD', 'bystander', bystander.path, mappings(18081));
  await bridge.kill();
  before = node.leases();
  expect(Object.values(before)).toEqual(['bystander']);
});
afterAll(() => node.close());

beforeEach(async () => {
  sandbox = await node.makeSandbox();
});
afterEach(async () => {
  [fault, `${fault}.pid`].forEach((file) => rmSync(file, { force: true }));
  await bridge.kill();
  if (Object.values(node.leases()).includes('victim')) {
    // Only after a failed test, so that it does not affect the others.
    bridge = await node.startBridge();
    await node.call('DEL', 'victim', sandbox.path, mappings(18080));
    await bridge.kill();
  }
  await sandbox.end();
});

/**
 * A plugin that kills its owner where the fault says so, and then continues as the real one ("hang": only once it gets
 * input). The fault's file contains the point and, in a second line, whom to kill: a process ID, or nothing for its
 * parent.
 */
function killer(type: string): string {
  const at = (when: string, then: string) =>
    `if [ "$(head -n 1 ${fault} 2>&-)" = "${when} $CNI_COMMAND ${type}" ]; then victim=$(tail -n +2 ${fault}); rm ${fault}; echo $$ > ${fault}.pid; kill -KILL $\{victim:-$PPID}; ${then} fi`;
  return [
    at('start', ''),
    at('hang', `cat ${join(node.folder, 'never')};`),
    `out=$(/usr/lib/cni/${type}); code=$?`,
    at('end', ''),
    `printf %s "$out"; exit $code`,
  ].join('\n');
}

function mappings(hostPort: number) {
  return { runtimeConfig: { portMappings: [{ hostPort, containerPort: 80, protocol: 'tcp', hostIP: '' }] } };
}

/** Starts a bridge that will be killed, by its own journal or by a plugin. */
async function startWith(place: string, plain: boolean): Promise<void> {
  const inPlugin = /^(start|hang|end) /.test(place);
  bridge = await node.startBridge(inPlugin ? { plain } : { plain, fault: place });
  if (inPlugin) {
    writeFileSync(fault, `${place}\n${bridge.pid}\n`);
  }
}

/** Waits until the bridge has been killed, and starts the next one. */
async function replace(): Promise<void> {
  await bridge.ended;
  expect(existsSync(fault)).toBe(false);
  bridge = await node.startBridge();
  if (existsSync(`${fault}.pid`)) {
    // The plugin that its owner left behind has ended; otherwise it could still create what the next owner has undone.
    expect(isRunning(readFileSync(`${fault}.pid`, 'utf8').trim())).toBe(false);
  }
}

/** Whether a process still executes; a zombie does not. */
function isRunning(pid: string): boolean {
  try {
    return !/\) [ZX] /.test(readFileSync(`/proc/${pid}/stat`, 'utf8'));
  } catch {
    return false;
  }
}

/** The addresses that the bridge reports as in use. */
async function attached(): Promise<Record<string, string>> {
  const { attachments } = await bridge.state();
  expect(attachments.every(({ phase }) => phase === 'added')).toBe(true);
  return Object.fromEntries(attachments.map(({ ips, containerId }) => [ips[0] ?? '', containerId]));
}

async function expectOnlyBystander(): Promise<void> {
  expect(node.leases()).toEqual(before);
  expect(await attached()).toEqual(before);
  expect(node.journal()).toHaveLength(1);
  expect(node.ports()).toHaveLength(1);
  expect(node.podRules().join('\n')).not.toContain('victim');
  expect(bystander.run('busybox', 'ping', '-c', '1', '10.88.0.1')).toContain(' 0% packet loss');
}

describe.each([
  ['in the shim', false],
  ['by the bridge', true],
])('ADD while the bridge is killed, plugins run %s', (_, plain) => {
  test.each(
    someOf(
      [
        'before put adding 0',
        'after put adding 0',
        'start ADD bridge',
        'hang ADD bridge',
        'end ADD bridge',
        'before put adding 1',
        'after put adding 1',
        'start ADD portmap',
        'hang ADD portmap',
        'end ADD portmap',
        'before put added 2',
        'after put added 2',
      ],
      5,
      seed + Number(plain),
    ),
  )('%s', async (place) => {
    await startWith(place, plain);
    const answer = node.call('ADD', 'victim', sandbox.path, mappings(18080));
    await replace();
    const { exitCode, json } = await answer;
    expect(exitCode).toBe(0);
    const address = json.ips?.[0]?.address.replace('/16', '') ?? '';
    expect(node.leases()).toEqual({ ...before, [address]: 'victim' });
    expect(await attached()).toEqual({ ...before, [address]: 'victim' });
    expect(sandbox.run('ip', '-oneline', 'address', 'show', 'dev', 'eth0')).toContain(` ${address}/16 `);
    expect(node.podRules().filter((rule) => rule.includes(`--to-destination ${address}:80`))).toHaveLength(1);
    expect(await node.call('DEL', 'victim', sandbox.path, mappings(18080))).toMatchObject({ exitCode: 0 });
    await expectOnlyBystander();
  });

  test('leaves nothing behind when the runtime gives up afterwards', async () => {
    await startWith('end ADD bridge', plain);
    // Long enough, even on a busy machine, for the plugin after which the bridge is killed.
    const answer = node.call('ADD', 'victim', sandbox.path, { ...mappings(18080), timeout: '3' });
    await bridge.ended;
    expect(await answer).toMatchObject({ exitCode: 1, json: { code: 11 } });
    expect(Object.values(node.leases()).sort()).toEqual(['bystander', 'victim']);
    bridge = await node.startBridge();
    expect(await bridge.waitFor(({ recovered }) => recovered)).toEqual({ removed: 1, failed: 0 });
    await expectOnlyBystander();
  });
});

describe.each([
  ['in the shim', false],
  ['by the bridge', true],
])('DEL while the bridge is killed, plugins run %s', (_, plain) => {
  test.each(
    someOf(
      [
        'before put deleting 2',
        'after put deleting 2',
        'start DEL portmap',
        'hang DEL portmap',
        'end DEL portmap',
        'start DEL bridge',
        'hang DEL bridge',
        'end DEL bridge',
        'before delete',
        'after delete',
      ],
      4,
      seed + 2 + Number(plain),
    ),
  )('%s', async (place) => {
    await startWith(place, plain);
    await node.call('ADD', 'victim', sandbox.path, mappings(18080));
    const answer = node.call('DEL', 'victim', sandbox.path, mappings(18080));
    await replace();
    expect(await answer).toMatchObject({ exitCode: 0, stdout: '' });
    await expectOnlyBystander();
  });
});

describe('ADD while the runtime kills the running shim', () => {
  test.each(
    someOf(
      [
        'start ADD bridge',
        'hang ADD bridge',
        'end ADD bridge',
        'hang ADD portmap',
        'end ADD portmap',
        'hang DEL portmap',
        'end DEL bridge',
      ],
      3,
      seed + 4,
    ),
  )('%s', async (place) => {
    bridge = await node.startBridge();
    const isDel = place.includes(' DEL ');
    if (isDel) {
      await node.call('ADD', 'victim', sandbox.path, mappings(18080));
    }
    const from = bridge.said.length;
    writeFileSync(fault, place);
    expect((await node.call(isDel ? 'DEL' : 'ADD', 'victim', sandbox.path, mappings(18080))).exitCode).toBe(null);
    const lost = await bridge.waitFor(({ plugin }) => plugin?.error, from);
    expect(lost).toMatchObject({ code: 11, message: expect.stringContaining('lost the shim that ran it') });
    expect(isRunning(readFileSync(`${fault}.pid`, 'utf8').trim())).toBe(false);
    // Runs after whatever the bridge is undoing of it.
    expect(await node.call('DEL', 'victim', sandbox.path, mappings(18080))).toMatchObject({ exitCode: 0 });
    await expectOnlyBystander();
  });
});
