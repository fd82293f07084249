import { afterAll, beforeAll, expect, test } from '@jest/globals';
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { checkKernelDefaults } from '../../src/kubelet/kernel-defaults.ts';

let folder: string;
beforeAll(() => {
  folder = mkdtempSync(join(tmpdir(), 'kubus-sysctls-'));
});
afterAll(() => rmSync(folder, { recursive: true }));

function set(name: string, value: string): void {
  mkdirSync(dirname(join(folder, name)), { recursive: true });
  writeFileSync(join(folder, name), `${value}\n`);
}

test('protected settings of the kernel have to be as the reference wants them', async () => {
  set('vm/overcommit_memory', '1');
  set('vm/panic_on_oom', '0');
  set('kernel/panic', '10');
  set('kernel/panic_on_oops', '1');
  set('kernel/keys/root_maxkeys', '1000000');
  set('kernel/keys/root_maxbytes', '25000000');
  await checkKernelDefaults(true, folder);
  const panic = 'invalid kernel flag: kernel/panic, expected value: 10, actual value: 0';
  set('kernel/panic', '0');
  await expect(checkKernelDefaults(true, folder)).rejects.toThrow(`Failed to start ContainerManager: ${panic}`);
  set('vm/overcommit_memory', '2');
  const overcommit = 'invalid kernel flag: vm/overcommit_memory, expected value: 1, actual value: 2';
  await expect(checkKernelDefaults(true, folder)).rejects.toThrow(`ContainerManager: [${overcommit}, ${panic}]`);
  await checkKernelDefaults(false, folder);
});
