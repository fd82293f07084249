import { expect, jest, test } from '@jest/globals';
import { readFileSync, readdirSync } from 'node:fs';
import { documents, printKubusDocument } from '../src/output/documents.ts';
import { readDocuments } from './documents-table.ts';

test('docs/commands.md describes every document; "pnpm --filter @kubus/cli write-arguments" writes it', () => {
  const { present, wanted } = readDocuments();
  expect(present).toBe(wanted);
});

test('every document that is described is printed by a command', () => {
  const folder = new URL('../src/commands/', import.meta.url);
  const code = readdirSync(folder).map((name) => readFileSync(new URL(name, folder), 'utf8'));
  const printed = code.flatMap((text) => [...text.matchAll(/printKubusDocument\(\s*'(\w+)'/g)].map(([, kind]) => kind));
  expect([...new Set(printed)].sort()).toEqual(Object.keys(documents).sort());
});

test('a document has its version and its kind', () => {
  let text = '';
  jest.spyOn(console, 'log').mockImplementation((line: string) => (text += line));
  printKubusDocument('ClearedFaults', { cleared: ['a'] }, 'json');
  expect(JSON.parse(text)).toEqual({ apiVersion: 'kubus.dev/v1', kind: 'ClearedFaults', cleared: ['a'] });
});
