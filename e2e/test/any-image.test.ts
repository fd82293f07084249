import { afterAll, beforeAll, expect } from '@jest/globals';
import { type TestNode, TestRegistry, isReady, kubusProgram, onMachine, poll, registryLogin } from '@kubus/harness';
import { freePorts } from '@kubus/launcher';
import { BlobStatuses, buildBusybox, busyboxReference } from '@kubus/node-images';
import { execFileSync, spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises';
import { networkInterfaces, tmpdir } from 'node:os';
import { join } from 'node:path';
import { dockerArchive, multiPlatformArchive } from '../src/image-archives.ts';
import { sharedNode } from '../src/node-tests.ts';
import { container, pod } from '../src/pods.ts';

/** Ports of the machine: of a registry on its loopback, of one on its network, and one that is published. */
const [onLoopback = 0, onNetwork = 0, published = 0] = await freePorts(3);
/** A home with a docker configuration, as `docker login` writes it, and a folder of hosts.toml files. */
const home = await mkdtemp(join(tmpdir(), 'kubus-any-image-'));
const hosts = join(home, 'hosts');
await mkdir(hosts);

/** What ctr writes at once, in bytes. */
const MIB = 1024 * 1024;

const { HOME } = process.env;
beforeAll(async () => {
  const { username, password } = registryLogin;
  const auth = Buffer.from(`${username}:${password}`).toString('base64');
  await mkdir(join(home, '.docker'));
  await writeFile(
    join(home, '.docker/config.json'),
    JSON.stringify({ auths: { [`localhost:${onLoopback}`]: { auth } } }),
  );
});
afterAll(() => rm(home, { recursive: true }));

// The node's services look for the docker configuration there.
process.env['HOME'] = home;
const onNode = sharedNode('any-image', {
  up: [
    ...['--network', 'nat', '--publish', `${published}:80`],
    ...['--registry', `localhost:${onLoopback}`, '--registry-hosts', hosts],
  ],
});
beforeAll(() => {
  process.env['HOME'] = HOME;
});

/** The machine's own address, which a node with a way out reaches. */
function machineAddress(): string {
  const addresses = Object.values(networkInterfaces()).flatMap((list) => list ?? []);
  const found = addresses.find(({ internal, family }) => !internal && family === 'IPv4');
  if (found === undefined) throw new Error('the machine has no IPv4 address besides the loopback');
  return found.address;
}

/** A pod of one container that must not be pulled, or as the policy says. */
function podOf(name: string, image: string, change: object = {}): object {
  return pod(name, { containers: [container({ name: 'main', image, imagePullPolicy: 'Never', ...change })] });
}

/** A busybox that no other test has. */
async function unique(node: TestNode, reference: string) {
  return buildBusybox({ reference, labels: { reference } }, node.folder);
}

async function names(node: TestNode): Promise<string[]> {
  const { stdout } = await node.kubus('image', 'ls', '-o', 'json');
  return (JSON.parse(stdout) as { items: { names: string[] }[] }).items.flatMap((image) => image.names).sort();
}

onNode('archives of docker and OCI are loaded, and pods run their images without a registry', async (node) => {
  const before = await names(node);
  expect(before).toEqual([busyboxReference, 'registry.k8s.io/pause:3.10']);
  const docker = await dockerArchive(node.folder, await unique(node, 'x.io/docker:1'), ['docker:1', 'docker:2']);
  expect((await node.kubus('image', 'load', docker)).stdout).toMatch(
    /^loaded docker\.io\/library\/docker:1 \(\S+ MiB\)\nloaded docker\.io\/library\/docker:2 \(\S+ MiB\)\n$/,
  );
  const annotations = { 'io.containerd.image.name': 'registry.example/team/oci:1' };
  const oci = await multiPlatformArchive(node.folder, await unique(node, 'x.io/oci:1'), { annotations });
  const gzip = execFileSync('gzip', ['--stdout', oci]);
  const loaded = execFileSync(process.execPath, [kubusProgram, 'image', 'load', '-', '-o', 'json'], {
    input: gzip,
    env: { ...process.env, ...node.environment },
  });
  expect(JSON.parse(loaded.toString())).toMatchObject({
    ...{ kind: 'LoadedImages', names: ['registry.example/team/oci:1'], bytes: gzip.length },
  });
  await node.writeManifest('docker.json', podOf('docker', 'docker:1'));
  await node.writeManifest('oci.json', podOf('oci', 'registry.example/team/oci:1'));
  await Promise.all(['docker', 'oci'].map((name) => node.watch.waitForPod(name)));

  const inspected = JSON.parse((await node.kubus('image', 'inspect', 'registry.example/team/oci:1')).stdout) as object;
  const architecture = process.arch === 'x64' ? 'amd64' : process.arch;
  expect(inspected).toMatchObject({
    names: ['registry.example/team/oci:1'],
    spec: { os: 'linux', architecture, config: { Cmd: ['sh'], Labels: { reference: 'x.io/oci:1' } } },
  });

  // In use, one of several names, the node's own, unknown.
  const remove = async (...args: string[]) => {
    const { code, stdout, stderr } = await node.kubus('image', 'rm', ...args);
    return [code, stdout + stderr];
  };
  const oneOf = 'registry.example/team/oci:1';
  expect(await remove(oneOf)).toEqual([
    1,
    expect.stringMatching(/is used by oci-\S+: remove the pods first, or use --force\n$/),
  ]);
  expect(await remove('docker:2')).toEqual([0, 'image docker:2 is removed\n']);
  expect(await remove(busyboxReference)).toEqual([1, expect.stringContaining('belongs to the node')]);
  expect(await remove('missing:1')).toEqual([
    1,
    expect.stringContaining('image missing:1 does not exist on this node'),
  ]);
  expect(await names(node)).toEqual([...before, 'docker.io/library/docker:1', oneOf].sort());
  await node.clearManifests();
  await node.watch.until('no pods', () => (node.watch.pods.length === 0 ? true : undefined));
  await poll('removed images', async () => {
    const [code] = await remove(oneOf);
    return code === 0 ? true : undefined;
  });
  expect(await remove('docker:1')).toEqual([0, 'image docker:1 is removed\n']);
  expect(await names(node)).toEqual(before);
});

onNode('an archive without a name needs one, and one for other machines is refused', async (node) => {
  const before = await names(node);
  const image = await unique(node, 'x.io/unnamed:1');
  const unnamed = await multiPlatformArchive(node.folder, image, {
    annotations: { 'org.opencontainers.image.ref.name': '1.0' },
  });
  const load = async (...args: string[]) => {
    const { code, stderr } = await node.kubus('image', 'load', ...args);
    return [code, stderr];
  };
  expect(await load(unnamed)).toEqual([
    1,
    `kubus: ${unnamed} does not say what its image is called: give it a name with --name\n`,
  ]);
  const annotations = { 'io.containerd.image.name': 'x.io/foreign:1' };
  const without = process.arch === 'x64' ? 'amd64' : process.arch;
  const foreign = await multiPlatformArchive(node.folder, image, { annotations, without });
  expect(await load(foreign)).toEqual([
    1,
    expect.stringMatching(/has no image for linux\/\w+, only for linux\/\w+, linux\/\w+\n$/),
  ]);
  expect(await load(join(node.folder, 'none.tar'))).toEqual([1, expect.stringContaining('no such file')]);
  expect(await names(node)).toEqual(before);
  expect(await load(unnamed, '--name', 'mine:1.0')).toEqual([0, '']);
  await node.writeManifest('mine.json', podOf('mine', 'mine:1.0'));
  await node.watch.waitForPod('mine');
  expect(await names(node)).toEqual([...before, 'docker.io/library/mine:1.0'].sort());
});

onNode('a registry on the machine’s loopback is reached, with the login of the docker configuration', async (node) => {
  const registry = await TestRegistry.start(onMachine(node.dir), { port: onLoopback, login: true });
  await registry.push(await unique(node, 'x.io/pulled:1'), 'team/pulled', '1');
  const name = `localhost:${onLoopback}/team/pulled:1`;
  const { stdout, stderr } = await node.kubus('image', 'pull', name);
  expect([stdout, stderr]).toEqual([expect.stringMatching(`^pulled ${name} \\(\\S+ [KM]iB\\) in \\S+ s\n$`), '']);
  await registry.push(await unique(node, 'x.io/pulled:2'), 'team/pulled', '2');
  await node.writeManifest(
    'by-pod.json',
    podOf('by-pod', `localhost:${onLoopback}/team/pulled:2`, { imagePullPolicy: 'Always' }),
  );
  expect(isReady(await node.watch.waitForPod('by-pod'))).toBe(true);
  expect(await names(node)).toEqual(expect.arrayContaining([name, `localhost:${onLoopback}/team/pulled:2`]));
});

onNode('what the runtime has received of a blob is known while it arrives', async (node) => {
  const socket = node.dir.socket('containerd');
  const args = [
    '--address',
    socket,
    '--namespace',
    'k8s.io',
    'content',
    'ingest',
    '--expected-size',
    String(3 * MIB),
    'layer-x',
  ];
  const ingest = spawn(node.programs.ctr, args, { stdio: ['pipe', 'ignore', 'inherit'] });
  const blobs = new BlobStatuses(socket);
  try {
    ingest.stdin.write(Buffer.alloc(1.5 * MIB));
    const status = await poll('the bytes', async () => (await blobs.list()).find(({ offset }) => offset === MIB));
    expect(status).toMatchObject({ ref: expect.stringMatching(/layer-x$/) as unknown, total: 3 * MIB });
  } finally {
    blobs.close();
    const ended = once(ingest, 'close');
    ingest.stdin.end(Buffer.alloc(1.5 * MIB));
    await ended;
  }
});

onNode('a mirror without TLS in hosts.toml is reached over the way out, and so are others from a pod', async (node) => {
  const registry = await TestRegistry.start(onMachine(node.dir), { port: onNetwork, login: false, address: '0.0.0.0' });
  await registry.push(await unique(node, 'x.io/mirrored:1'), 'team/mirrored', '1');
  const mirror = `http://${machineAddress()}:${onNetwork}`;
  await mkdir(join(hosts, 'registry.example'));
  await writeFile(
    join(hosts, 'registry.example/hosts.toml'),
    `server = "https://registry.example"\n[host."${mirror}"]\n  capabilities = ["pull", "resolve"]\n`,
  );
  const { stdout, stderr } = await node.kubus('image', 'pull', 'registry.example/team/mirrored:1');
  expect([stdout, stderr]).toEqual([expect.stringMatching(/^pulled registry\.example\/team\/mirrored:1 /), '']);
  // The pasta of Debian 12 can lose the end of a connection whose client closes its side with its first bytes.
  const request = `(printf 'GET /v2/ HTTP/1.0\\r\\n\\r\\n'; sleep 1) | nc -w 5 ${machineAddress()} ${onNetwork}`;
  const command = ['sh', '-c', `until ${request} | grep 200; do sleep 1; done; exec sleep 1000`];
  await node.writeManifest('asks.json', podOf('asks', busyboxReference, { command }));
  await node.watch.waitForPod('asks');
  await poll('the answer in the log', async () => {
    const { stdout: log } = await node.kubus('logs', 'asks');
    return log.includes('200 OK') ? true : undefined;
  });
});

onNode('a published port of the machine leads to a port of a pod', async (node) => {
  const command = ['sh', '-c', 'echo page of the pod >/tmp/index.html && exec httpd -f -p 8000 -h /tmp'];
  const ports = [{ containerPort: 8000, hostPort: 80 }];
  await node.writeManifest('web.json', podOf('web', busyboxReference, { command, ports }));
  await node.watch.waitForPod('web');
  const page = await poll('an answer', async () => {
    const response = await fetch(`http://127.0.0.1:${published}/`).catch(() => undefined);
    return response?.text();
  });
  expect(page).toBe('page of the pod\n');
  const { stdout } = await node.kubus('status', '-o', 'json');
  expect((JSON.parse(stdout) as { connections: object }).connections).toMatchObject({
    ...{ network: 'nat', published: [`${published}:80`], registries: [`localhost:${onLoopback}`] },
    wayOut: expect.arrayContaining(['IPv4']) as unknown,
  });
});
