// Jest's global teardown: gives the machine its own settings again after the last test.
import { writeFileSync } from 'node:fs';

export default function restoreKernelSettings() {
  for (const [file, value] of globalThis.keptKernelSettings) writeFileSync(file, value);
}
