import { once } from 'node:events';
import { chmod, mkdir, readFile, rm, symlink, writeFile } from 'node:fs/promises';
import { type Server, type Socket, createServer } from 'node:net';
import { join } from 'node:path';
import { expect } from '@jest/globals';
import { connectNats, readSeed, storeSubject } from '@kubus/bus-nats';
import { NATS_PORT, type TestNode, isReady, poll } from '@kubus/harness';
import { identitiesFolder, isRunning, recordOf, runCommand } from '@kubus/launcher';
import { headers as natsHeaders } from '@nats-io/nats-core';
import { healthOf, problemsOf } from '../src/health.ts';
import { sharedNode } from '../src/node-tests.ts';
import { containerStatus, eventMessages } from '../src/pod-facts.ts';
import { pod } from '../src/pods.ts';

const onNode = sharedNode('bad-input', {
  // The state folder is on a small disk of its own, which can be filled.
  prepare: async (dir) => {
    await runCommand(['mount', '-t', 'tmpfs', '-o', 'size=4m,mode=0700', 'state', dir.state('.')]);
  },
});

/** Starts a pod that must survive the test; the returned function checks that it was not affected. */
async function bystander(node: TestNode, during: string): Promise<() => Promise<void>> {
  const name = `during-${during}`;
  await node.writeManifest(`${name}.json`, pod(name));
  const { ref, status } = await node.watch.waitForPod(name);
  return async () => {
    const after = await node.watch.waitForPod(name, (one) => isReady(one) && one.ref.uid === ref.uid);
    expect(containerStatus(after)).toEqual(status?.containerStatuses?.[0]);
    const runs = (await node.events.runs()).filter(({ labels }) => labels['io.kubernetes.pod.uid'] === ref.uid);
    expect(runs.map(({ starts }) => starts)).toEqual([1, 1]);
  };
}

/** Gives the services another runtime socket, which the test controls. */
async function useSocket(node: TestNode, socket: string): Promise<void> {
  await node.reconfigure((config) => ({ ...config, runtime: { ...config.runtime, socket } }));
}

async function waitHealthy(node: TestNode): Promise<void> {
  await poll('a healthy node', async () => ((await healthOf(node)).healthy ? true : undefined));
}

onNode('a manifest that is too large for a message is reported, and nothing else is touched', async (node) => {
  const check = await bystander(node, 'large');
  const before = await node.process('config-sources-0');
  const value = 'x'.repeat(9 * 1024 * 1024);
  const large = { ...pod('large'), metadata: { name: 'large', annotations: { value } } };
  await node.writeManifest('large.json', large);
  const report = await node.watch.until('a report of the file', () =>
    node.watch.manifests.find(({ path, errors }) => path.endsWith('large.json') && errors.length > 0),
  );
  expect(report.errors[0]?.message).toMatch(/too large|too long|bytes/i);
  expect((await node.kubus('get', 'manifests')).stdout).toMatch(/large\.json .* Broken /);
  await node.writeManifest('small.json', pod('small'));
  await node.watch.waitForPod('small');
  await node.writeManifest('large.json', pod('large'));
  await node.watch.waitForPod('large');
  expect((await node.process('config-sources-0'))?.pid).toBe(before?.pid);
  await check();
});

onNode('a message that does not match its subject is refused, counted and kept', async (node) => {
  const check = await bystander(node, 'garbage');
  const [desired] = node.watch.messages.ofType('config.fact.file').slice(-1);
  if (desired === undefined) throw new Error('no fact of config-sources was seen');
  const seed = await readSeed(identitiesFolder(node.dir), 'config-sources-0');
  const servers = `127.0.0.1:${await node.tunnel.expose(NATS_PORT)}`;
  const connection = await connectNats({ servers, instance: 'config-sources-0', seed });
  const refusals = async () => {
    const { body } = await node.http('sync-loop-0', 'metrics');
    return Number(/^kubus_bus_refused_total(?:\{[^}]*\})? (\d+)$/m.exec(body)?.[1]);
  };
  const before = await refusals();
  const pid = (await node.process('sync-loop-0'))?.pid;
  try {
    // Each with a later version, since a reader ignores older ones.
    const headersOf = (version: string) => {
      const headers = natsHeaders();
      for (const [name, value] of Object.entries(desired.message.headers)) headers.set(name, value);
      headers.set('Kubus-Version', version);
      return headers;
    };
    // Facts are stored under one subject, and received under another one. Of several under one subject, one a second would be reported.
    const keys = ['0', '1', '2'].map((digit) => `config.fact.file.${digit.repeat(32)}`);
    const [first = '', second = '', third = ''] = keys.map((key) => storeSubject(node.name, key));
    connection.publish(first, 'neither headers nor JSON');
    connection.publish(second, '{"not": "a pod"}', { headers: headersOf('1') });
    connection.publish(third, '{', { headers: headersOf('2') });
    await connection.flush();
    const kept = await node.watch.until('three refusals of sync-loop', () => {
      const own = node.watch.messages
        .ofType('service.event.refused')
        .filter(
          ({ envelope, message }) =>
            envelope?.source === 'sync-loop-0' && keys.some((key) => message.data.includes(key)),
        );
      return own.length >= 3 ? own : undefined;
    });
    expect(kept.map(({ message }) => (JSON.parse(message.data) as { payload: string }).payload)).toEqual([
      'neither headers nor JSON',
      '{"not": "a pod"}',
      '{',
    ]);
    expect(await refusals()).toBe(before + 3);
  } finally {
    await connection.close();
  }
  expect((await node.process('sync-loop-0'))?.pid).toBe(pid);
  await node.writeManifest('after.json', pod('after'));
  await node.watch.waitForPod('after');
  await check();
});

onNode('a runtime socket that is missing or never answers is reported; waiting pods continue later', async (node) => {
  const check = await bystander(node, 'silence');
  const socket = join(node.folder, 'r.sock');
  let silent: Server | undefined;
  const held = new Set<Socket>();
  const endSilence = () => {
    silent?.close();
    for (const one of held) one.destroy();
  };
  try {
    await useSocket(node, socket);
    for (const hangs of [false, true]) {
      if (hangs) {
        silent = createServer((one) => held.add(one.on('error', () => one.destroy())));
        silent.listen(socket);
        await once(silent, 'listening');
      }
      await node.restart('cri-bridge-0');
      const { healthy, runtime } = await poll('a runtime that is not ready', async () => {
        const health = await healthOf(node);
        return health.runtime?.ready === false ? health : undefined;
      });
      expect([healthy, runtime?.message]).toEqual([false, expect.stringMatching(hangs ? /./ : /ENOENT .*\/r\.sock/)]);
      expect(await problemsOf(node, 'cri-bridge-0')).toContain('the container runtime cannot be reached');
      const name = hangs ? 'after-silence' : 'after-absence';
      await node.writeManifest(`${name}.json`, pod(name));
      const waiting = await node.watch.waitForPod(name, ({ worker }) => worker?.error !== undefined);
      expect(waiting.worker?.error).toContain('the container runtime is not ready');
      expect((await node.kubus('describe', 'pod', name)).stdout).toContain('the container runtime is not ready');
      endSilence();
      await rm(socket, { force: true });
      await symlink(node.dir.socket('containerd'), socket);
      await node.watch.waitForPod(name);
      await waitHealthy(node);
      await rm(socket);
    }
  } finally {
    endSilence();
    await rm(socket, { force: true });
    await useSocket(node, node.dir.socket('containerd'));
    await node.restart('cri-bridge-0');
  }
  await waitHealthy(node);
  await check();
});

onNode('a runtime that hangs is reported; waiting pods continue when it answers again', async (node) => {
  const check = await bystander(node, 'hanging');
  const containerd = await node.kill('containerd', 'SIGSTOP');
  try {
    await node.writeManifest('later.json', pod('later'));
    await node.watch.until('a runtime that is not ready', () =>
      node.watch.runtimeCondition?.ready === false ? true : undefined,
    );
    expect((await healthOf(node)).healthy).toBe(false);
    expect(await problemsOf(node, 'cri-bridge-0')).not.toBe('');
  } finally {
    process.kill(containerd.pid, 'SIGCONT');
  }
  await node.watch.waitForPod('later');
  expect(await isRunning(containerd)).toBe(true);
  await waitHealthy(node);
  await check();
});

onNode(
  'a CNI plugin that is missing, or that never returns, is reported; the pods run once it is fixed',
  async (node) => {
    const check = await bystander(node, 'plugins');
    const plugins = join(node.folder, 'plugins');
    await mkdir(plugins);
    const pids = join(node.folder, 'plugin-pids');
    await writeFile(join(plugins, 'hangs'), `#!/bin/sh\necho $$ >> ${pids}\nexec sleep 3600\n`);
    await chmod(join(plugins, 'hangs'), 0o755);
    await node.reconfigure((config) => ({
      ...config,
      network: { ...config.network, pluginDirs: [...config.network.pluginDirs, plugins], pluginTimeoutMs: 1_000 },
    }));
    await node.restart('cni-bridge-0');
    // The node's own network with another plugin name.
    const own = await readFile(join(node.dir.cni.networks, '10-pods.conflist'), 'utf8');
    // The first file in the order of names is the network in use.
    const file = (type: string) => join(node.dir.cni.networks, `00-${type}.conflist`);
    const types = ['missing', 'hangs'] as const;
    const refused = 'Failed to create pod sandbox: rpc error: code = Unknown desc = ';
    const texts = {
      missing: new RegExp(`${refused}.*failed to find plugin "missing" in path`),
      hangs: new RegExp(`${refused}.*plugin hangs \\(ADD\\) did not end within 1 s`),
    };
    try {
      for (const type of types) {
        await writeFile(file(type), own.replace('"bridge"', `"${type}"`));
        await node.watch.until(`network of ${type}`, () =>
          node.watch.networkCondition?.file === `00-${type}.conflist` ? true : undefined,
        );
        await node.writeManifest(`${type}.json`, pod(`cni-${type}`));
        const waiting = await node.watch.waitForPod(`cni-${type}`, ({ worker }) => worker?.error !== undefined);
        expect(eventMessages(node, waiting, 'FailedCreatePodSandBox')[0]).toMatch(texts[type]);
        expect((await node.kubus('describe', 'pod', `cni-${type}`)).stdout).toMatch(texts[type]);
        await rm(file(type));
      }
      const [machine = ''] = (await node.config()).network.pluginDirs;
      for (const type of types) {
        await rm(join(plugins, type), { force: true });
        await symlink(join(machine, 'bridge'), join(plugins, type));
      }
      for (const type of types) await node.watch.waitForPod(`cni-${type}`);
    } finally {
      for (const type of types) await rm(file(type), { force: true });
    }
    const started = (await readFile(pids, 'utf8')).trim().split('\n').map(Number);
    for (const pid of started) {
      await poll(`end of plugin ${pid}`, async () => ((await recordOf(pid, 'hangs')) === undefined ? true : undefined));
    }
    await check();
  },
);

onNode('a pod starts on a full disk; beyond the reserve that is reported, and nothing is lost', async (node) => {
  const check = await bystander(node, 'full');
  const state = node.dir.state('.');
  const filler = join(state, 'filler');
  const fill = () => runCommand(['sh', '-c', `cat /dev/zero >> '${filler}' 2>/dev/null || true`]);
  await fill();
  try {
    await node.writeManifest('full.json', pod('on-full-disk'));
    await node.watch.waitForPod('on-full-disk');
    // The second time for a service that has made its reserve again meanwhile.
    for (let time = 0; time < 2; time++) {
      await runCommand(['sh', '-c', `rm -f '${state}'/*/reserve`]);
      await fill();
    }
    await node.writeManifest('beyond.json', pod('beyond-reserve'));
    const waiting = await node.watch.waitForPod('beyond-reserve', ({ worker }) => worker?.error !== undefined);
    expect(waiting.worker?.error).toMatch(/no space left on device/i);
    const problem = await poll('a problem of pod-workers', async () => {
      const problems = await problemsOf(node, 'pod-workers-0');
      return problems.includes('state folder: ') ? problems : undefined;
    });
    expect(problem).toMatch(/state folder: .*no space left on device/);
  } finally {
    await rm(filler);
  }
  await node.watch.waitForPod('beyond-reserve');
  await waitHealthy(node);
  await node.restart('pod-workers-0');
  await check();
});
