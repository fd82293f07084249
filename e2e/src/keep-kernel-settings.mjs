// Jest's global setup: what agents instead of the kubelet write is read before the first test, because several run at once.
import { kernelDefaults } from '@kubus/launcher';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';

export default function keepKernelSettings() {
  const files = Object.keys(kernelDefaults).map((name) => join('/proc/sys', name));
  globalThis.keptKernelSettings = new Map(files.map((file) => [file, readFileSync(file, 'utf8')]));
}
