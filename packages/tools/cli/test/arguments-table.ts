import type { Command, Option } from 'commander';
import { readFileSync } from 'node:fs';
import { instancePattern } from '../src/node/scale-option.ts';
import { nodeNamePattern, nodeNameRule } from '@kubus/launcher/node-dir';
import { existingPath } from '../src/commands/up-options.ts';
import { createProgram } from '../src/program.ts';

const path = new URL('../arguments.tsv', import.meta.url);

/** The table that `./kubus` checks arguments with before it builds this program (scripts/check-arguments.sh): as it is, and as it should be. */
export async function readTable(): Promise<{ path: URL; present: string; wanted: string }> {
  const program = await createProgram();
  const lines = [
    ...program.options.map((option) => line(program, option)),
    ...program.commands.flatMap((command) => linesOf(command)),
    'help\t*',
  ];
  return { path, present: readFileSync(path, 'utf8'), wanted: `${lines.join('\n')}\n` };
}

/** Of a command whose arguments are those of a subcommand or of another program, only the name. */
function linesOf(command: Command): string[] {
  const { commands, registeredArguments } = command;
  // `--node` is accepted after each command, too.
  const options = command.options.filter(({ hidden }) => !hidden);
  const isOpen = commands.length > 0 || registeredArguments.some(({ variadic }) => variadic) || options.length === 0;
  if (isOpen) return [`${command.name()}\t*`];
  const names = registeredArguments.map((one) => (one.required ? `<${one.name()}>` : `[${one.name()}]`)).join(' ');
  return [`${command.name()}\t${names === '' ? 'none' : names}`, ...options.map((option) => line(command, option))];
}

function line(command: Command, option: Option): string {
  const excluded = excludedBy(command, option).map(({ long }) => long ?? '');
  const columns = [command.name(), option.flags, patternOf(option), excluded.join(' ')];
  const note = noteOf(option);
  if (note === undefined) return columns.join('\t').trimEnd();
  // An empty column would vanish between tabs.
  return [...columns.slice(0, 3), columns[3] || '-', note].join('\t');
}

function noteOf({ long }: Option): string | undefined {
  return long === '--node' ? `${nodeNameRule}.` : undefined;
}

/** Commander keeps them under this name for itself. */
function excludedBy(command: Command, option: Option): Option[] {
  const { conflictsWith } = option as Option & { readonly conflictsWith: readonly string[] };
  return command.options.filter((other) => conflictsWith.includes(other.attributeName()));
}

/** An extended regular expression for the whole value. `@path`: the path of something that exists. */
function patternOf(option: Option): string {
  if (option.argChoices !== undefined) return option.argChoices.join('|');
  const [, placeholder] = /<(.*)>/.exec(option.flags) ?? [];
  if (option.long === '--node') return nodeNamePattern;
  if (placeholder === 'service=count') return instancePattern;
  if (placeholder === 'seconds') return '[0-9]+';
  if (option.parseArg === existingPath) return '@path';
  return '.*';
}
