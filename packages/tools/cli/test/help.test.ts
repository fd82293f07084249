import { expect, test } from '@jest/globals';
import { type Command, CommanderError } from 'commander';
import { examples } from '../src/help/examples.ts';
import { createProgram } from '../src/program.ts';

function descendants(command: Command): Command[] {
  return command.commands.flatMap((one) => [one, ...descendants(one)]);
}

function pathOf(command: Command): string {
  return command.parent?.parent ? `${pathOf(command.parent)} ${command.name()}` : command.name();
}

const visible = descendants(await createProgram()).filter((command) =>
  command
    .createHelp()
    .visibleCommands(command.parent ?? command)
    .includes(command),
);
/** `kubelet` has the help of the reference; `test` and `bench` belong to the kubus script. */
const others = ['kubelet', 'test', 'bench'];

test('every command that does something has examples, and no other', () => {
  const wanted = visible.filter(({ commands }) => commands.length === 0).map(pathOf);
  const withOwn = Object.keys(examples).filter((path) => path === 'get' || path === 'describe');
  expect(Object.keys(examples).sort()).toEqual([...wanted.filter((path) => !others.includes(path)), ...withOwn].sort());
});

/** The words of a command line for a shell, as far as the examples use its syntax. */
function wordsOf(line: string): string[] {
  const [, inner = line] = /^source <\((.*)\)$/.exec(line) ?? [];
  const [command = ''] = inner.split(' | ');
  return [...command.matchAll(/(?:'[^']*'|[^\s'])+/g)].map(([word]) => word.replaceAll("'", ''));
}

const lines = Object.entries(examples).flatMap(([path, all]) => all.map((line) => [path, line] as const));

test.each(lines)('the example of %s is accepted: %s', async (path, line) => {
  const program = await createProgram();
  const called: string[] = [];
  for (const command of [program, ...descendants(program)]) {
    command.exitOverride().configureOutput({ writeErr: () => undefined });
    command.action(() => void called.push(pathOf(command)));
  }
  const [name, ...words] = wordsOf(line);
  expect(name).toBe('kubus');
  try {
    await program.parseAsync(words, { from: 'user' });
    // Of `get` and `describe`, also those of their types.
    expect(`${called.join()} `).toMatch(new RegExp(`^${path} `));
  } catch (error) {
    // The folder of an example need not exist here.
    if (!(error instanceof CommanderError)) throw error;
    expect(error.message).toMatch(/It does not exist\.$/);
  }
});
