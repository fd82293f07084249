import type { Argument, Command, Option } from 'commander';

/** Values that only the machine or the node knows. */
export type Known = 'pods' | 'services' | 'nodes' | 'namespaces';

/** What the word at the cursor can be. */
export interface Completion {
  /** Words that are always possible: commands, options, choices. */
  readonly words: readonly string[];
  readonly known?: Known;
  /** What stands before each value: `--node=`, where the word has both. */
  readonly before?: string;
  /** The node that was named. */
  readonly node?: string;
}

/** The values of positional arguments, by the command and the place of the argument; the last one repeats. */
const ARGUMENTS: Readonly<Record<string, readonly Known[]>> = {
  ...of(['pods'], 'get pods', 'describe pod', 'logs', 'exec', 'attach', 'port-forward', 'top pods', 'trace pod', 'why'),
  ...of(['pods'], 'diff'),
  ...of(['services'], 'restart', 'scale', 'debug', 'replace', 'graph', 'fault pause', 'fault kill', 'fault restart'),
  ...of(['nodes'], 'get nodes', 'describe node'),
};

const OPTIONS: Readonly<Record<string, Known>> = { '--node': 'nodes', '--namespace': 'namespaces' };

function of(known: readonly Known[], ...commands: readonly string[]): Record<string, readonly Known[]> {
  return Object.fromEntries(commands.map((command) => [command, known]));
}

/**
 * What can stand at the cursor of a command line.
 *
 * @param words the words after `kubus`; the last one is incomplete, and may be empty
 */
export function completionOf(program: Command, words: readonly string[]): Completion {
  // Bash splits words at "=".
  const given = words.filter((word, index) => word !== '=' || index === words.length - 1);
  const last = given.at(-1) ?? '';
  const read = readWords(program, given.slice(0, -1));
  const node = read.node === undefined ? {} : { node: read.node };
  if (read.isAfterDashes) return { words: [], ...node };
  if (read.awaited !== undefined) return { ...valuesOf(read.awaited), ...node };
  if (last.startsWith('-')) return { ...ofOption(read.command, last), ...node };
  const { command, positionals } = read;
  const subcommands =
    positionals === 0
      ? command
          .createHelp()
          .visibleCommands(command)
          .map((one) => one.name())
      : [];
  const known = ARGUMENTS[pathOf(command)]?.at(0);
  return { words: [...subcommands, ...choicesOf(command, positionals)], ...(known && { known }), ...node };
}

interface Read {
  readonly command: Command;
  readonly positionals: number;
  /** The option whose value is next. */
  readonly awaited?: Option | undefined;
  readonly node?: string | undefined;
  readonly isAfterDashes?: boolean;
}

function readWords(program: Command, words: readonly string[]): Read {
  let read: Read = { command: program, positionals: 0 };
  for (const word of words) {
    if (word === '--') return { ...read, isAfterDashes: true };
    if (read.awaited !== undefined) {
      const isNode = read.awaited.long === '--node';
      read = { ...read, awaited: undefined, ...(isNode && { node: word }) };
      continue;
    }
    if (word.startsWith('-')) {
      const [flag = '', value] = word.split('=');
      const option = findOption(read.command, flag);
      if (value !== undefined) read = option?.long === '--node' ? { ...read, node: value } : read;
      else if (option?.required === true) read = { ...read, awaited: option };
      continue;
    }
    const next = read.positionals === 0 ? subcommand(read.command, word) : undefined;
    read = next === undefined ? { ...read, positionals: read.positionals + 1 } : { ...read, command: next };
  }
  return read;
}

function subcommand(command: Command, word: string): Command | undefined {
  return command.commands.find((one) => one.name() === word || one.aliases().includes(word));
}

function findOption(command: Command, flag: string): Option | undefined {
  for (let at: Command | null = command; at !== null; at = at.parent) {
    const found = at.options.find(({ long, short }) => long === flag || short === flag);
    if (found !== undefined) return found;
  }
  return undefined;
}

/** The options, or the values of one in `--option=`: zsh and fish have both in one word. */
function ofOption(command: Command, word: string): Completion {
  const [, flag] = /^(--[^=]+)=/.exec(word) ?? [];
  if (flag === undefined) return { words: optionsOf(command) };
  const option = findOption(command, flag);
  return option === undefined ? { words: [] } : { ...valuesOf(option), before: `${flag}=` };
}

function optionsOf(command: Command): string[] {
  const all: string[] = ['--help'];
  for (let at: Command | null = command; at !== null; at = at.parent) {
    all.push(...at.options.flatMap(({ long }) => (long === undefined ? [] : [long])));
  }
  return [...new Set(all)];
}

function valuesOf({ long, argChoices }: Option): Completion {
  const known = OPTIONS[long ?? ''];
  return { words: argChoices ?? [], ...(known && { known }) };
}

function choicesOf(command: Command, at: number): readonly string[] {
  const all: readonly (Argument & { readonly argChoices?: readonly string[] })[] = command.registeredArguments;
  return (all[at] ?? (all.at(-1)?.variadic === true ? all.at(-1) : undefined))?.argChoices ?? [];
}

function pathOf(command: Command): string {
  const names: string[] = [];
  // The program itself is not part of the path.
  for (let at = command; at.parent !== null; at = at.parent) names.unshift(at.name());
  return names.join(' ');
}
