import { access, readFile, stat } from 'node:fs/promises';
import { join } from 'node:path';
import { expect, test } from '@jest/globals';
import { runCommand } from '../src/processes/command.ts';
import {
  createNetworkNamespace,
  deleteNetworkNamespace,
  inNetworkNamespace,
  isNetworkNamespace,
} from '../src/network/network-namespace.ts';
import { afterTest, testFolder } from './support.ts';

async function namespaceFile(): Promise<string> {
  const file = join(await testFolder(), 'net');
  afterTest(() => deleteNetworkNamespace(file));
  return file;
}

test('a network namespace has only its loopback interface, which is up, and forwards packets', async () => {
  const file = await namespaceFile();
  await createNetworkNamespace(file);
  const inside = (...command: [string, ...string[]]) => runCommand(inNetworkNamespace(file, command));
  expect(await inside('ip', '-oneline', 'link', 'show', 'up')).toMatch(/^1: lo: <LOOPBACK,UP.*\n$/);
  expect(await inside('cat', '/proc/sys/net/ipv4/ip_forward')).toBe('1\n');
  // nsenter keeps the mounts: the cgroups have the same paths as outside.
  expect(await inside('cat', '/proc/self/mountinfo')).toContain(' /sys/fs/cgroup');
});

test('creating and deleting it twice is harmless and leaves the machine unchanged', async () => {
  const file = await namespaceFile();
  const forwarding = await readFile('/proc/sys/net/ipv4/ip_forward', 'utf8');
  await createNetworkNamespace(file);
  const { ino: inode } = await stat(file);
  expect(await runCommand(inNetworkNamespace(file, ['readlink', '/proc/self/ns/net']))).toBe(`net:[${inode}]\n`);
  await createNetworkNamespace(file);
  expect((await stat(file)).ino).toBe(inode);
  expect(await isNetworkNamespace(file)).toBe(true);

  await deleteNetworkNamespace(file);
  await deleteNetworkNamespace(file);
  expect(await isNetworkNamespace(file)).toBe(false);
  await expect(access(file)).rejects.toMatchObject({ code: 'ENOENT' });
  expect(await readFile('/proc/sys/net/ipv4/ip_forward', 'utf8')).toBe(forwarding);
});
