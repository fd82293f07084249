import { expect, test } from '@jest/globals';
import { manifestFaults } from './status.ts';

test('status shows the errors of manifests by file, such as which other file has the pod', () => {
  const report = (path: string, ...errors: { document: number; field?: string; message: string }[]) => {
    return { path, readAt: '', pods: [], errors, warnings: [] };
  };
  const message = 'Duplicate value: "web-n": pod default/web-n of /m/a.yaml has it; this pod is not run';
  const reports = [
    report('/m/c.yaml', { document: 0, message: 'not YAML' }),
    report('/m/a.yaml'),
    report('/m/b.yaml', { document: 0, field: 'metadata.name', message }, { document: 1, message: 'no kind' }),
  ];
  expect(manifestFaults(reports)).toEqual([
    { path: '/m/b.yaml', message: `metadata.name: ${message}` },
    { path: '/m/b.yaml', message: 'no kind' },
    { path: '/m/c.yaml', message: 'not YAML' },
  ]);
});
