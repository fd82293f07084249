import { globSync, readFileSync } from 'node:fs';
import { expect, test } from '@jest/globals';

const read = (path: string) => readFileSync(new URL(path, import.meta.url), 'utf8');

test('the page is built again when a package changes that it imports', () => {
  const sources = globSync('src/**/*.{ts,tsx}', { cwd: new URL('..', import.meta.url) }).filter(
    (path) => !path.includes('.test.'),
  );
  const imported = sources.flatMap((path) =>
    [...read(`../${path}`).matchAll(/from '(@kubus\/[^/']+)/g)].map(([, name]) => `${name ?? ''}#generate`),
  );
  const turbo = JSON.parse(read('../../../../turbo.json').replace(/^\s*\/\/.*$/gm, '')) as {
    tasks: Record<string, { dependsOn: string[] }>;
  };
  expect(imported).not.toHaveLength(0);
  expect(turbo.tasks['@kubus/observatory-page#build']?.dependsOn).toEqual([...new Set(imported)].sort());
});
