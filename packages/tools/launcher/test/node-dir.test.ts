import { stat } from 'node:fs/promises';
import { createServer } from 'node:net';
import { once } from 'node:events';
import { describe, expect, test } from '@jest/globals';
import fc from 'fast-check';
import { createNodeDir, nodeDir } from '../src/node/node-dir.ts';
import { testNode } from './support.ts';

const label = fc.stringMatching(/^[a-z0-9]([-a-z0-9]{0,40}[a-z0-9])?$/);
const nodeName = fc
  .array(label, { minLength: 1, maxLength: 6 })
  .map((labels) => labels.join('.'))
  .filter((name) => name.length <= 253);

describe('the layout of the folders', () => {
  test('lies below /var/lib/kubus and /run/kubus', () => {
    const dir = nodeDir('worker-1');
    expect([dir.root, dir.state('sync-loop'), dir.socket('nats'), dir.cgroupRoot]).toEqual([
      '/var/lib/kubus/worker-1',
      '/var/lib/kubus/worker-1/state/sync-loop',
      '/run/kubus/worker-1/nats.sock',
      '/kubus-worker-1',
    ]);
  });

  test('has socket paths that can be bound, for every node name', () => {
    fc.assert(
      fc.property(nodeName, (name) => {
        expect(Buffer.byteLength(`${nodeDir(name).socket('containerd')}.ttrpc`)).toBeLessThanOrEqual(107);
      }),
    );
  });

  test('differs in every folder between any two nodes', () => {
    fc.assert(
      fc.property(nodeName, nodeName, (a, b) => {
        fc.pre(a !== b);
        const [one, two] = [nodeDir(a), nodeDir(b)];
        expect(one.root).not.toBe(two.root);
        expect(one.run).not.toBe(two.run);
        expect(one.cgroupRoot).not.toBe(two.cgroupRoot);
      }),
    );
    const long = 'a'.repeat(200);
    expect(nodeDir(`${long}-1`).run).not.toBe(nodeDir(`${long}-2`).run);
  });

  test.each(['', '..', 'a/b', '../etc', 'A', 'a_b', '-a', 'a.', 'x'.repeat(254)])(
    'refuses the node name "%s"',
    (name) => {
      expect(() => nodeDir(name)).toThrow(expect.objectContaining({ code: 'InvalidNodeName' }));
    },
  );

  test('refuses a run folder that leaves no room for sockets', () => {
    expect(() => nodeDir('a', { runBase: `/${'r'.repeat(90)}` })).toThrow(
      expect.objectContaining({ code: 'SocketPathTooLong' }),
    );
  });
});

describe('the folders', () => {
  test('have private modes where needed, and can be created twice', async () => {
    const dir = await testNode();
    await createNodeDir(dir);
    const modes = await Promise.all(
      [dir.config, dir.state('.'), dir.run, dir.processes, dir.root].map(
        async (path) => (await stat(path)).mode & 0o777,
      ),
    );
    expect(modes).toEqual([0o700, 0o700, 0o700, 0o700, 0o711]);
  });

  test('can contain sockets', async () => {
    const dir = await testNode();
    const server = createServer().listen(dir.socket('containerd'));
    await once(server, 'listening');
    server.close();
    await once(server, 'close');
  });
});
