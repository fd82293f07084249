import { afterEach, beforeEach, expect, test } from '@jest/globals';
import { silentLogger } from '@kubus/ports';
import { mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { kernelDefaults, setKernelDefaults } from '../../src/kubelet/kernel-defaults.ts';

let folder: string;
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'kubus-sysctls-'));
  for (const [name, value] of Object.entries(kernelDefaults)) set(name, String(value));
});
afterEach(() => rmSync(folder, { recursive: true }));

function set(name: string, value: string): void {
  mkdirSync(dirname(join(folder, name)), { recursive: true });
  writeFileSync(join(folder, name), `${value}\n`);
}

function settings(): Record<string, number> {
  return Object.fromEntries(
    Object.keys(kernelDefaults).map((name) => [name, Number(readFileSync(join(folder, name), 'utf8'))]),
  );
}

test('protected settings of the kernel have to be as the reference wants them, and stay as they are', async () => {
  await setKernelDefaults(true, silentLogger, folder);
  const panic = 'invalid kernel flag: kernel/panic, expected value: 10, actual value: 0';
  set('kernel/panic', '0');
  await expect(setKernelDefaults(true, silentLogger, folder)).rejects.toThrow(
    `Failed to start ContainerManager: ${panic}`,
  );
  set('vm/overcommit_memory', '2');
  const overcommit = 'invalid kernel flag: vm/overcommit_memory, expected value: 1, actual value: 2';
  await expect(setKernelDefaults(true, silentLogger, folder)).rejects.toThrow(
    `ContainerManager: [${overcommit}, ${panic}]`,
  );
  expect(settings()).toEqual({ ...kernelDefaults, 'kernel/panic': 0, 'vm/overcommit_memory': 2 });
});

test('others are written', async () => {
  for (const name of Object.keys(kernelDefaults)) set(name, '7');
  await setKernelDefaults(false, silentLogger, folder);
  expect(settings()).toEqual(kernelDefaults);
});

test('one that cannot be written ends the start, after the others were written', async () => {
  set('vm/panic_on_oom', '2');
  rmSync(join(folder, 'kernel/panic'));
  mkdirSync(join(folder, 'kernel/panic'));
  set('kernel/panic_on_oops', '0');
  await expect(setKernelDefaults(false, silentLogger, folder)).rejects.toThrow(
    'Failed to start ContainerManager: EISDIR: illegal operation on a directory, read',
  );
  rmSync(join(folder, 'kernel/panic'), { recursive: true });
  set('kernel/panic', '10');
  expect(settings()).toEqual(kernelDefaults);
});
