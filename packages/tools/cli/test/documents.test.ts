import { expect, jest, test } from '@jest/globals';
import { readFileSync, readdirSync } from 'node:fs';
import type { Command } from 'commander';
import { documents, objectCommands, printKubusDocument, withoutDocument } from '../src/output/documents.ts';
import { createProgram } from '../src/program.ts';
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

/** The commands that do something, by their path; of `get` and `describe`, whose types are subcommands, also themselves. */
const commands = new Map(leaves(await createProgram(), []));

function leaves(command: Command, path: readonly string[]): (readonly [string, Command])[] {
  const visible = command
    .createHelp()
    .visibleCommands(command)
    .filter((one) => one.name() !== 'help');
  const own = command.registeredArguments.length > 0 || visible.length === 0;
  return [
    ...(own ? [[path.join(' '), command] as const] : []),
    ...visible.flatMap((one) => leaves(one, [...path, one.name()])),
  ];
}

const documented = new Set(Object.values(documents).flatMap((one): readonly string[] => one.commands));
const isObject = (path: string) => objectCommands.some((one) => one === path.split(' ')[0]);

test.each([...commands.keys()])('%s prints a document, or it is said why not', (path) => {
  const hasOutput = commands.get(path)?.options.some(({ long, short }) => long === '--output' && short === '-o');
  const isPrinted = path === 'describe' || documented.has(path) || isObject(path);
  expect([hasOutput, isPrinted]).toEqual(path in withoutDocument ? [false, false] : [true, true]);
});

test('no command is named that does not exist', () => {
  const known = [...commands.keys(), 'describe manifest'];
  expect(known).toEqual(expect.arrayContaining([...documented, ...objectCommands, ...Object.keys(withoutDocument)]));
});

test.each([
  'logs web -o json',
  'exec web -o yaml -- ls',
  'inside --output=json -- ls',
  'experiment run a.yaml -o json',
])('%s is refused with the reason', async (line) => {
  const program = await createProgram();
  let text = '';
  for (const [, command] of leaves(program, [])) command.configureOutput({ writeErr: (said) => (text += said) });
  await expect(program.parseAsync(line.split(' '), { from: 'user' })).rejects.toMatchObject({
    code: 'commander.unknownOption',
  });
  const path = Object.keys(withoutDocument).find((one) => line.startsWith(`${one} `)) ?? '';
  expect(text).toBe(`error: there is no --output here: ${withoutDocument[path]}\n`);
});
