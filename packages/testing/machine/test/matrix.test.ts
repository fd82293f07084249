import { expect, test } from '@jest/globals';
import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { type GroupResult, withResults } from '../src/matrix.ts';

const document = await readFile(join(import.meta.dirname, '../../../../docs/machines.md'), 'utf8');

function result(group: string, failure: string | undefined): GroupResult {
  const versions = {
    distribution: 'Debian',
    kernel: '6.12',
    cgroup: 'v2',
    driver: 'systemd',
    containerd: '2.1',
    runc: '1.3',
    nats: '2.10',
    systemd: '257',
  };
  return { group, date: '2026-01-02', versions, checks: [{ what: 'a | b', failure }] };
}

test('a result replaces the row of its group in the document and leaves the rest', () => {
  const first = withResults(document, [result('z1', undefined), result('z2', 'why')]);
  expect(first).toContain('| `z1` | 2026-01-02 | Debian | 6.12 | v2 | systemd | 257 | 2.1 | 1.3 | 2.10 | 1 of 1 |  |');
  const second = withResults(first, [{ ...result('z2', undefined), versions: undefined }]);
  expect(second.match(/`z1`/g)).toHaveLength(1);
  expect(second).toContain('| `z2` | 2026-01-02 | ? | ? | ? | ? | ? | ? | ? | ? | 1 of 1 |  |');
  expect(withResults(second, [])).toBe(second);
  expect(withResults(first, [])).toContain('| 0 of 1 | a \\| b |');
  expect(second.startsWith(document.slice(0, 200))).toBe(true);
});
