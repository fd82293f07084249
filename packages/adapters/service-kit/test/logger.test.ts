import { expect, test } from '@jest/globals';
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { closeSync, openSync } from 'node:fs';
import { fileURLToPath } from 'node:url';

test('a log that cannot be written ends no process', async () => {
  const full = openSync('/dev/full', 'w');
  try {
    const program = fileURLToPath(new URL('log-writer.ts', import.meta.url));
    const child = spawn(process.execPath, [program], { stdio: ['ignore', full, 'inherit'] });
    expect(await once(child, 'exit')).toEqual([7, null]);
  } finally {
    closeSync(full);
  }
});
