import { execFileSync } from 'node:child_process';
import { mkdir, readFile, rmdir, symlink, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { describe, expect, test } from '@jest/globals';
import { containerdConfig } from '../src/runtime/containerd-config.ts';
import { findContainerd, parseVersion } from '../src/runtime/containerd-programs.ts';
import { startContainerd } from '../src/runtime/containerd.ts';
import { createNetworkNamespace } from '../src/network/network-namespace.ts';
import { findProcesses } from '../src/processes/process-record.ts';
import { testFolder, testNode } from './support.ts';

const other = process.env['KUBUS_TEST_CONTAINERD'];

describe('the programs of containerd', () => {
  test.each([
    ['containerd github.com/containerd/containerd 1.6.20~ds1 1.6.20~ds1-1+deb12u3\n', '1.6.20~ds1', 1],
    ['containerd github.com/containerd/containerd v1.7.24 88bf19b2105c8b17560993bee28a01ddc2f97182\n', '1.7.24', 1],
    ['containerd github.com/containerd/containerd/v2 2.1.9+unknown \n', '2.1.9+unknown', 2],
  ])('report their version: %s', (said, version, major) => {
    expect(parseVersion(said)).toEqual({ version, major });
  });

  test('are found beside a given binary; runc is used only if it can run', async () => {
    const folder = await testFolder();
    await mkdir(join(folder, 'usr/bin'), { recursive: true });
    for (const program of ['containerd', 'ctr']) {
      await symlink(execFileSync('which', [program]).toString().trim(), join(folder, 'usr/bin', program));
    }
    await writeFile(join(folder, 'usr/bin/runc'), '#!/no/such/interpreter\n', { mode: 0o755 });
    const expected = {
      containerd: join(folder, 'usr/bin/containerd'),
      ctr: join(folder, 'usr/bin/ctr'),
      // The machine's, by its full path: by name alone the broken one would be found first.
      runc: execFileSync('which', ['runc']).toString().trim(),
    };
    expect(await findContainerd(folder)).toMatchObject(expected);
    expect(await findContainerd(join(folder, 'usr/bin'))).toMatchObject(expected);
    expect(await findContainerd(join(folder, 'usr/bin/containerd'))).toMatchObject(expected);
    await expect(findContainerd(join(folder, 'usr'))).resolves.toMatchObject({ ctr: expect.any(String) as unknown });
    await expect(findContainerd('/no/such/folder')).rejects.toMatchObject({ code: 'ContainerdMissing' });
  });
});

test('containerd recognizes every key of its configuration', async () => {
  const dir = await testNode();
  const { containerd, major, runc } = await findContainerd(other);
  await writeFile(dir.containerd.config, containerdConfig({ dir, major, runc }));
  const read = execFileSync(containerd, ['--config', dir.containerd.config, 'config', 'dump']).toString();
  // The dump has only keys that containerd knows, with the value that it will use.
  const values = read.split('\n').map((line) => line.trim().replaceAll("'", '"'));
  for (const line of await readFile(dir.containerd.config, 'utf8').then((text) => text.split('\n'))) {
    if (line.includes(' = ')) {
      expect(values).toContain(line.replaceAll('","', '", "'));
    }
  }
});

describe('a containerd', () => {
  test('serves until it is stopped, and can be started again', async () => {
    const dir = await testNode();
    await createNetworkNamespace(dir.networkNamespace);
    const programs = await findContainerd(other);
    for (const _ of [1, 2]) {
      const containerd = await startContainerd({ dir, programs });
      const ctr = execFileSync(programs.ctr, ['--address', containerd.socket, 'version']).toString();
      expect(ctr).toContain('Server:');
      await containerd.stop();
      expect(await containerd.exited).toBe('code 0');
      expect(await findProcesses(dir.root, dir.processes)).toEqual([]);
    }
  });

  test('is started only once per node', async () => {
    const dir = await testNode();
    await createNetworkNamespace(dir.networkNamespace);
    const programs = await findContainerd(other);
    const first = await startContainerd({ dir, programs });
    await expect(startContainerd({ dir, programs })).rejects.toMatchObject({ code: 'AlreadyRunning' });
    expect(execFileSync(programs.ctr, ['--address', first.socket, 'version']).toString()).toContain('Server:');
  });

  test('that exits at once is reported with the end of its log', async () => {
    const dir = await testNode();
    await createNetworkNamespace(dir.networkNamespace);
    const programs = await findContainerd(other);
    await rmdir(dir.containerd.root);
    await writeFile(dir.containerd.root, 'a file where it needs a folder');
    await expect(startContainerd({ dir, programs })).rejects.toMatchObject({
      code: 'ContainerdNotServing',
      message: expect.stringMatching(/(ended|exited at once) \(code 1\)[^]*not a directory/) as unknown,
    });
  });

  test('that does not answer in time is reported and stopped', async () => {
    const dir = await testNode();
    await createNetworkNamespace(dir.networkNamespace);
    const programs = { ...(await findContainerd(other)), containerd: join(dir.root, 'hangs') };
    await writeFile(programs.containerd, '#!/bin/sh\nexec sleep 1000\n', { mode: 0o755 });
    await expect(startContainerd({ dir, programs, startLimitMs: 100 })).rejects.toMatchObject({
      code: 'ContainerdNotServing',
      message: expect.stringContaining('did not answer within 0.1 s') as unknown,
    });
    expect(await findProcesses(dir.root, dir.processes)).toEqual([]);
  });
});
