// What a hostile pod or manifest tries against a real node, each of which once succeeded.
import { expect } from '@jest/globals';
import { type TestNode, askNode, isReady, isSoak, poll } from '@kubus/harness';
import { runCommand } from '@kubus/launcher';
import { execFileSync } from 'node:child_process';
import { once } from 'node:events';
import { existsSync } from 'node:fs';
import { link, readFile, readdir, rename, symlink } from 'node:fs/promises';
import { join } from 'node:path';
import { setTimeout as wait } from 'node:timers/promises';
import { sharedNode } from '../src/node-tests.ts';
import { container, pod, podRunning, shell } from '../src/pods.ts';
import { placesOf } from '../src/value-search.ts';

const onNode = sharedNode('attacks');

/** The folder of a pod's logs. */
async function logsOf(node: TestNode, name: string): Promise<string> {
  const { ref } = await node.watch.waitForPod(name, isReady);
  return join(node.dir.podLogs, `${ref.namespace}_${ref.name}_${ref.uid}`, 'main');
}

onNode('a fork bomb ends in its own pod', async (node) => {
  await node.writeManifest('neighbour.json', pod('neighbour'));
  await node.watch.waitForPod('neighbour', isReady);
  // It stays full: whatever cannot fork ends, and the rest sleeps.
  await node.writeManifest('bomb.json', podRunning('bomb', 'f() { f & f & sleep 600; }; f'));
  const { ref } = await node.watch.waitForPod('bomb');
  const folder = await poll('the pod’s cgroup', async () => {
    const roots = ['/sys/fs/cgroup/pids', '/sys/fs/cgroup'].map((root) => join(root, node.dir.cgroupRoot));
    const found = await runCommand(['find', ...roots.filter(existsSync), '-type', 'd', '-name', `*${ref.uid}*`]);
    return found.split('\n')[0] || undefined;
  });
  expect((await readFile(join(folder, 'pids.max'), 'utf8')).trim()).toBe('1024');
  // With cgroup v1 a refused fork counts in the cgroup of the process, with v2 in that of the limit.
  const events = (await runCommand(['find', folder, '-name', 'pids.events'])).trim().split('\n');
  await poll('the limit is reached', async () => {
    const texts = await Promise.all(events.map((file) => readFile(file, 'utf8')));
    return texts.some((text) => /^max [1-9]/m.test(text)) || undefined;
  });
  const { code, stdout } = await node.kubus('exec', 'neighbour', '--', 'sh', '-c', 'echo works | cat');
  expect([code, stdout]).toEqual([0, 'works\n']);
});

onNode('a pipe or a link in place of a log is not read, and the logs of others are', async (node) => {
  for (const name of ['attacker', 'neighbour']) await node.writeManifest(`${name}.json`, pod(name));
  await logsOf(node, 'neighbour');
  const folder = await logsOf(node, 'attacker');
  const [log, kept, made] = [join(folder, '0.log'), join(folder, 'kept'), join(folder, 'made')];
  await link(log, kept);
  for (const make of [() => execFileSync('mkfifo', [made]), () => symlink('/etc/hostname', made)]) {
    await make();
    // At no moment without a file: the runtime would be asked to make one.
    await rename(made, log);
    // More than node-api has threads for files.
    const asked = await Promise.all(Array.from({ length: 6 }, () => node.kubus('logs', 'attacker')));
    expect(asked.map(({ stdout }) => stdout)).toEqual(asked.map(() => ''));
    expect((await node.kubus('logs', 'neighbour')).stdout).toBe('started\n');
  }
  await rename(kept, log);
});

/** The address of a stream that the runtime has prepared in a pod that is made for it. */
async function streamOf(node: TestNode, name: string): Promise<URL> {
  await node.writeManifest(`${name}.json`, pod(name));
  const { runtime } = await node.watch.waitForPod(name, isReady);
  const containerId = runtime?.containers[0]?.id ?? '';
  const { url = '' } = await node.cri('Exec', { containerId, cmd: ['true'], stdout: true });
  return new URL(url);
}

/** The status for a client that asks for a stream as kubectl does. */
async function askStream(node: TestNode, { host, port }: URL, path: string): Promise<number> {
  const socket = node.tunnel.connect(Number(port));
  const asking = ['Connection: Upgrade', 'Upgrade: SPDY/3.1', 'X-Stream-Protocol-Version: v4.channel.k8s.io'];
  socket.write([`POST ${path} HTTP/1.1`, `Host: ${host}`, ...asking, 'Content-Length: 0', '', ''].join('\r\n'));
  const [answer] = (await once(socket, 'data')) as [Buffer];
  socket.destroy();
  return Number(/^HTTP\/1.1 (\d+) /.exec(answer.toString('latin1'))?.[1]);
}

onNode('the address of a stream serves once, and a guessed one never', async (node) => {
  const url = await streamOf(node, 'streams');
  const { pathname } = url;
  const guess = pathname.replace(/[^/]+$/, (token) => 'A'.repeat(token.length));
  const ask = (path: string) => askStream(node, url, path);
  expect([await ask(guess), await ask(pathname), await ask(pathname)]).toEqual([404, 101, 404]);
});

if (isSoak) {
  onNode('the address of a stream that nobody has used is void after a minute', async (node) => {
    const url = await streamOf(node, 'unused');
    // The runtime counts it; to ask for the stream would use it.
    await wait(65_000);
    expect(await askStream(node, url, url.pathname)).toBe(404);
  });
}

onNode('a reader of the bus learns no address of a stream', async (node) => {
  await node.writeManifest('unread.json', pod('unread'));
  await node.watch.waitForPod('unread', isReady);
  expect(await node.kubus('exec', 'unread', '--', 'echo', 'done')).toMatchObject({ code: 0, stdout: 'done\n' });
  const replies = await poll('the reply', () => {
    const found = node.watch.messages.ofType('runtime.reply.Exec').map(({ message }) => message.data);
    return Promise.resolve(found.some((data) => data.includes('sealedUrl')) ? found : undefined);
  });
  expect(replies.filter((data) => data.includes('http:'))).toEqual([]);
});

onNode('what people run in a container, and what its programs write, is in no message, record or log', async (node) => {
  // Products that are in no manifest: the shell calculates them.
  const [probe, hook, failed] = ['5000011', '5000022', '5000033'];
  const main = container({
    name: 'main',
    lifecycle: { postStart: { exec: { command: shell('echo $((454546 * 11 + 16))') } } },
    readinessProbe: {
      exec: {
        command: shell(
          'test -f /ready && echo $((454546 * 11 + 5)) && exit; echo $((454546 * 11 + 27)); touch /ready; exit 1',
        ),
      },
      periodSeconds: 1,
    },
  });
  await node.writeManifest('private.json', pod('private', { containers: [main] }));
  await node.watch.waitForPod('private', isReady);
  expect(await node.kubus('exec', 'private', '--', 'echo', 'typed-5000044')).toMatchObject({
    ...{ code: 0, stdout: 'typed-5000044\n' },
  });
  const run = `/run/default/private-${node.name}/main?cmd=`;
  expect(await askNode(node.dir, `${run}echo%20typed-5000055`, { method: 'POST' })).toBe('typed-5000055\n');
  await expect(askNode(node.dir, `${run}typed-5000066`, { method: 'POST' })).rejects.toThrow('typed-5000066');
  expect(await placesOf(node, [probe, hook, 'typed-50000'])).toEqual([]);
  // What makes this a test: of a failed probe there is what its event shows, and the reply from which it is made.
  const places = await placesOf(node, [failed]);
  expect(places.filter((place) => place.includes('.event.'))).not.toEqual([]);
  expect(places.filter((place) => !/\.event\.|\.reply\.prober\.|\/nats\//.test(place))).toEqual([]);
});

onNode('folders nested deeper than any path are removed with their pod', async (node) => {
  // Each step puts what there is at the end of a path of 1,000 folders.
  const line = `cd /data; p=$(printf 'd/%.0s' $(seq 1000)); mkdir -p deep
    for i in 1 2 3 4; do mkdir -p "new/$p"; mv deep "new/$p"; mv new deep; done; echo nested; sleep 600`;
  const spec = {
    volumes: [{ name: 'data', emptyDir: {} }],
    containers: [
      container({ name: 'main', command: shell(line), volumeMounts: [{ name: 'data', mountPath: '/data' }] }),
    ],
  };
  await node.writeManifest('deep.json', pod('deep', spec));
  const { ref } = await node.watch.waitForPod('deep', isReady);
  await poll('the folders exist', async () => (await node.kubus('logs', 'deep')).stdout === 'nested\n' || undefined);
  await node.removeManifest('deep.json');
  await node.watch.waitForNoPod('deep');
  expect(existsSync(join(node.dir.pods, 'pods', ref.uid))).toBe(false);
});

onNode('a pod that has a host port reaches no server on the node’s loopback', async (node) => {
  const main = container({
    name: 'main',
    ports: [{ containerPort: 80, hostPort: 8080 }],
    securityContext: { privileged: true },
  });
  await node.writeManifest('opens.json', pod('opens', { containers: [main] }));
  await node.watch.waitForPod('opens', isReady);
  const attack = `ip addr del 127.0.0.1/8 dev lo 2>/dev/null; echo 1 >/proc/sys/net/ipv4/conf/eth0/route_localnet
    ip route replace 127.0.0.0/8 via 10.88.0.1; nc -w 2 127.0.0.1 4222 </dev/null | head -c 4`;
  const reached = async () => (await node.kubus('exec', 'opens', '--', 'sh', '-c', attack)).stdout;
  const setting = () => runCommand(node.inside(['cat', '/proc/sys/net/ipv4/conf/kubus0/route_localnet']));
  expect((await setting()).trim()).toBe('1');
  const rule = (how: string) => runCommand(node.inside(['iptables', '-w', '5', how, 'INPUT', '-j', 'KUBE-FIREWALL']));
  await poll('the rule', () =>
    rule('-C').then(
      () => true,
      () => undefined,
    ),
  );
  expect(await reached()).toBe('');
  // What makes this a test: without the rule the pod gets through.
  await rule('-D');
  expect(await reached()).toBe('INFO');
  await rule('-I');
  await node.removeManifest('opens.json');
  await node.watch.waitForNoPod('opens');
  await poll('the setting went back', async () => (await setting()).trim() === '0' || undefined);
});

onNode('a name that is too long for the pod’s folders is refused, and nothing is left of it', async (node) => {
  await node.writeManifest('long.json', pod('a'.repeat(245 - node.name.length - 1)));
  const state = await poll('the manifest is refused', async () => {
    const { stdout } = await node.kubus('get', 'manifests');
    return /long\.json .*metadata\.name: Too long/.exec(stdout)?.[0];
  });
  expect(state).toContain('long.json');
  expect(await readdir(node.dir.podLogs)).toEqual([]);
});

onNode('control sequences of a termination message and an annotation reach no terminal', async (node) => {
  const line = "printf '\\033[2Jgone\\033]0;title\\007' >/dev/termination-log; exit 3";
  await node.writeManifest('shows.json', podRunning('shows', line, { restartPolicy: 'Never' }));
  await node.watch.waitForPod('shows', ({ status }) => status?.phase === 'Failed');
  const { stdout } = await node.kubus('describe', 'pod', 'shows');
  expect(stdout).toContain('\\u001b[2Jgone\\u001b]0;title\\u0007');
  expect(stdout).not.toContain('\u001b');
  const { stdout: json } = await node.kubus('get', 'pods', 'shows', '-o', 'json');
  expect(JSON.stringify(JSON.parse(json))).toContain(JSON.stringify('\u001b[2Jgone\u001b]0;title\u0007').slice(1, -1));
});
