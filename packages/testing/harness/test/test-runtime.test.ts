import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { access, mkdir, mkdtemp, readFile, rmdir, symlink, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { afterEach, beforeEach, describe, expect, test } from '@jest/globals';
import { cgroupHierarchies, cgroupTree } from '@kubus/cgroup';
import { mountsBelow } from '@kubus/filesystem';
import {
  POD_CIDR,
  createNetworkNamespace,
  findCniPlugins,
  isNetworkNamespace,
  podNamespaces,
  podNetwork,
  removeLostNamespaces,
  runCommand,
  takeSnapshot,
} from '@kubus/launcher';
import { buildImage, callCriOnce } from '@kubus/node-images';
import { testCache } from '../src/test-cache.ts';
import { sweepTestFolders } from '../src/test-folder.ts';
import { type RuntimeOptions, type TestRuntime, startRuntime } from '../src/test-runtime.ts';
import { runPod } from './pods.ts';

const running = new Set<TestRuntime>();
afterEach(async () => {
  for (const runtime of running) {
    running.delete(runtime);
    await runtime.stop();
  }
});

async function start(options?: RuntimeOptions): Promise<TestRuntime> {
  const runtime = await startRuntime(options);
  running.add(runtime);
  return runtime;
}

describe('a test runtime', () => {
  test('serves CRI, has the images, and leaves nothing behind when it is stopped', async () => {
    const { dir, socket, ...runtime } = await start();
    const version = await callCriOnce(socket, 'Version', {});
    expect(version).toMatchObject({ runtimeName: 'containerd', runtimeVersion: runtime.programs.version });
    const { images = [] } = await callCriOnce(socket, 'ListImages', {});
    expect(images.flatMap(({ repoTags }) => repoTags).sort()).toEqual([
      'docker.io/library/busybox:1.35',
      'registry.k8s.io/pause:3.10',
    ]);
    running.clear();
    await runtime.stop();
    expect(await mountsBelow(dir.root)).toEqual([]);
    expect(await isNetworkNamespace(dir.networkNamespace)).toBe(false);
    await expect(access(dir.root)).rejects.toMatchObject({ code: 'ENOENT' });
  });

  test('runs a pod of the Kubus handler in its network namespace and in the given cgroup', async () => {
    const runtime = await start();
    const { sandboxId, containerId } = await runPod(runtime, { uid: 'a' });

    const { status } = await callCriOnce(runtime.socket, 'PodSandboxStatus', { podSandboxId: sandboxId });
    expect(status?.network?.ip).toMatch(/^10\.88\.\d+\.\d+$/);
    const links = await runCommand(runtime.inside(['ip', '-oneline', 'link', 'show']));
    expect(links).toContain('kubus0');
    expect(await runCommand(runtime.inside(['busybox', 'ping', '-c', '1', status?.network?.ip ?? '']))).toContain(
      '1 packets received',
    );
    expect(await runCommand(['ip', '-oneline', 'link', 'show'])).not.toContain('kubus0');

    const cgroups = await cgroupTree(`${runtime.dir.cgroupRoot}/poda`);
    for (const hierarchy of await cgroupHierarchies()) {
      for (const id of [sandboxId, containerId]) {
        expect(cgroups).toContain(`${hierarchy}${runtime.dir.cgroupRoot}/poda/${id}`);
      }
    }
  });

  test('counts starts and exits per container, with the pod’s labels', async () => {
    const runtime = await start();
    const long = await runPod(runtime, { uid: 'long' });
    const short = await runPod(runtime, { uid: 'short', command: ['true'] });
    await runtime.events.waitFor(
      ({ topic, payload }) => topic === '/tasks/exit' && payload['container_id'] === short.containerId,
    );
    await callCriOnce(runtime.socket, 'ExecSync', { containerId: long.containerId, cmd: ['true'] });
    const runs = await runtime.events.runs();
    expect(
      runs.map(({ id, starts, exits, labels }) => {
        return [id, starts, exits, labels['io.kubernetes.pod.uid'], labels['io.kubernetes.container.name']];
      }),
    ).toEqual([
      [long.sandboxId, 1, 0, 'long', undefined],
      [long.containerId, 1, 0, 'long', 'main'],
      [short.sandboxId, 1, 0, 'short', undefined],
      [short.containerId, 1, 1, 'short', 'main'],
    ]);
  });

  test('is independent of another one', async () => {
    const [one, two] = await Promise.all([start(), start()]);
    await Promise.all([runPod(one, { uid: 'same' }), runPod(two, { uid: 'same' })]);
    running.delete(one);
    await one.stop();
    const { containers = [] } = await callCriOnce(two.socket, 'ListContainers', {});
    expect(containers.map(({ state }) => state)).toEqual(['CONTAINER_RUNNING']);
  });

  test('still has its pods after containerd is restarted', async () => {
    const runtime = await start();
    const { containerId } = await runPod(runtime, { uid: 'a' });
    const [own = ''] = await podNamespaces(runtime.dir);
    // The leftover of a containerd that is killed while it creates a sandbox.
    const lost = join(own, '../cni-lost');
    await createNetworkNamespace(lost);
    await runtime.restart();
    const { status } = await callCriOnce(runtime.socket, 'ContainerStatus', { containerId });
    expect(status?.state).toBe('CONTAINER_RUNNING');
    expect(await removeLostNamespaces(runtime.socket, [lost, own])).toEqual([lost]);
    expect(await podNamespaces(runtime.dir)).toEqual([own]);
    await expect(access(lost)).rejects.toMatchObject({ code: 'ENOENT' });
    const [, container] = await runtime.events.runs();
    expect(container).toMatchObject({ id: containerId, starts: 1, exits: 0 });
  });

  test('accepts further images, which run as built', async () => {
    const image = await buildImage(
      {
        reference: 'example.test/whoami:1',
        files: [
          { type: 'file', path: 'bin/busybox', mode: 0o755, content: await readFile('/bin/busybox') },
          { type: 'file', path: 'etc/passwd', content: 'app:x:7:8::/:/bin/sh\n' },
        ],
        user: 'app',
        entrypoint: ['/bin/busybox', 'sh', '-c', 'echo $(id -u):$(id -g) $GREETING'],
        env: { GREETING: 'hello', PATH: '/bin' },
      },
      join(testCache(), 'images'),
    );
    const runtime = await start({ images: [image] });
    const { image: known } = await callCriOnce(runtime.socket, 'ImageStatus', { image: { image: image.reference } });
    expect(known).toMatchObject({ id: image.id, username: 'app' });
  });

  test('also removes containers outside the node’s cgroup', async () => {
    const runtime = await start();
    const cgroupParent = `/outside-${runtime.dir.node}`;
    const { containerId } = await runPod(runtime, { uid: 'a', cgroupParent });
    expect((await cgroupTree(cgroupParent)).join()).toContain(containerId);
    running.clear();
    await runtime.stop();
    // runc removes the container's cgroup and leaves its parent to the caller that named it.
    for (const parent of await cgroupTree(cgroupParent)) {
      await rmdir(parent);
    }
  });

  test('removes leftovers of a sandbox whose network setup failed halfway', async () => {
    const plugins = await findCniPlugins();
    const runtime = await start({
      // Without loopback, which containerd runs beside the pod's network: that one succeeds.
      prepareCni: async ({ cni }) => {
        for (const plugin of ['bridge', 'host-local', 'portmap']) {
          await symlink(join(plugins, plugin), join(cni.bin, plugin));
        }
        await writeFile(join(cni.handlerConf, 'pods.conflist'), podNetwork({ dataDir: cni.data, subnet: POD_CIDR }));
      },
    });
    await expect(runPod(runtime, { uid: 'a' })).rejects.toThrow('failed to find plugin "loopback"');
    running.clear();
    await runtime.stop();
  });

  test('reports leftovers', async () => {
    const runtime = await start();
    const [hierarchy = ''] = await cgroupHierarchies();
    const stray = join(hierarchy, `${runtime.dir.cgroupRoot}-stray`);
    await mkdir(stray);
    running.clear();
    try {
      await expect(runtime.stop()).rejects.toMatchObject({
        code: 'Leak',
        message: expect.stringContaining(stray) as unknown,
      });
    } finally {
      await rmdir(stray);
    }
  });

  test('leaves nothing behind if it fails to start', async () => {
    let folder = '';
    await expect(
      startRuntime({
        prepareCni: (dir) => {
          folder = join(dir.root, '../..');
          throw new Error('no network today');
        },
      }),
    ).rejects.toThrow('no network today');
    expect(folder).toContain('kubus-test-');
    await expect(access(folder)).rejects.toMatchObject({ code: 'ENOENT' });
  });
});

describe('a test process that was killed', () => {
  // A separate folder for temporary files: another test that starts a runtime would remove its leftovers.
  let temporary: string;
  beforeEach(async () => {
    temporary = await mkdtemp(join(tmpdir(), 'kubus-swept-'));
  });
  afterEach(async () => {
    await sweepTestFolders(temporary);
    await rmdir(temporary);
  });

  test('leaves a runtime that the next test process removes', async () => {
    const script = fileURLToPath(new URL('killed-test.ts', import.meta.url));
    const killed = spawn(process.execPath, [script], {
      stdio: ['ignore', 'pipe', 'inherit'],
      env: { ...process.env, TMPDIR: temporary },
    });
    const [said] = (await once(killed.stdout, 'data')) as [Buffer];
    const { folder, cgroupRoot, sandboxId, socketOfShim } = JSON.parse(said.toString()) as Record<string, string>;
    const about = [folder ?? '', cgroupRoot ?? '', sandboxId ?? '', socketOfShim ?? ''];
    expect(await sweepTestFolders(temporary)).toEqual([]);
    killed.kill('SIGKILL');
    await once(killed, 'exit');

    const left = await takeSnapshot({ about });
    expect(left.processes).not.toEqual([]);
    expect(left.mounts).not.toEqual([]);
    expect(left.cgroups).not.toEqual([]);
    expect(left.files).toContain(socketOfShim);

    expect(await sweepTestFolders(temporary)).toEqual([folder]);
    expect(Object.values(await takeSnapshot({ about })).flat()).toEqual([]);
  });
});
