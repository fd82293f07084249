import { toError } from '@kubus/ports';
import { configError } from './errors.ts';
import { configFlags, otherFlags } from './flag-table.ts';
import { type Kind, bool } from './kinds.ts';
import { fieldsByPath } from './values.ts';

/** The content of a command line. */
export interface CommandLine {
  /** Fields of the configuration that are set by flags, by path. */
  readonly fields: ReadonlyMap<string, unknown>;
  /** Flags that were given and do not set a field. */
  readonly flags: ReadonlyMap<string, unknown>;
  /** The values that were given for each flag, as written. */
  readonly given: ReadonlyMap<string, readonly string[]>;
}

/** One-letter forms. `v` is the flag's full name. */
const shorthands: Readonly<Record<string, string>> = { h: 'help', v: 'v' };

/** The value of a flag that was given without one. */
function implied(name: string, kind: Kind<unknown>): string | undefined {
  return kind === bool || name === 'version' ? 'true' : undefined;
}

/**
 * Parses a command line as the reference does (spf13/pflag): `--name=value`, `--name value`, `-v 2`, `-v=2`; `_` counts as `-`.
 * The values of repeated list and map flags are combined; of all other flags the last one takes precedence.
 *
 * @throws KubeletConfigError with pflag's text.
 */
export function parseCommandLine(args: readonly string[]): CommandLine {
  const texts = new Map<string, string[]>();
  const rest = [...args];
  for (let arg = rest.shift(); arg !== undefined; arg = rest.shift()) {
    if (!arg.startsWith('-') || arg === '-' || arg === '--') {
      const word = arg === '--' ? rest[0] : arg;
      if (word === undefined) break;
      throw configError(`unknown command ${word}`);
    }
    const { name, shown, value } = nameOf(arg);
    const kind = kindOf(name);
    if (kind === undefined) throw configError(arg.startsWith('--') ? `unknown flag: ${shown}` : unknownShorthand(arg));
    const text = value ?? implied(name, kind) ?? rest.shift();
    if (text === undefined) throw configError(`flag needs an argument: ${shown}`);
    texts.set(name, [...(texts.get(name) ?? []), text]);
  }
  const fields = new Map<string, unknown>();
  const flags = new Map<string, unknown>();
  for (const [name, given] of texts) {
    const path = configFlags[name];
    if (path === undefined) flags.set(name, parse(name, given));
    else fields.set(path, parse(name, given));
  }
  return { fields, flags, given: texts };
}

function nameOf(arg: string): { name: string; shown: string; value: string | undefined } {
  const [, dashes = '', shown = '', value] = /^(--?)([^=]*)(?:=(.*))?$/s.exec(arg) ?? [];
  if (dashes === '--') return { name: shown.replaceAll('_', '-'), shown: `--${shown}`, value };
  // The value may directly follow the letter: -v2.
  const letter = shown.slice(0, 1);
  const attached = shown.length > 1 ? shown.slice(1) + (value === undefined ? '' : `=${value}`) : value;
  return { name: shorthands[letter] ?? '', shown: `-${letter}`, value: attached };
}

function unknownShorthand(arg: string): string {
  const letters = arg.slice(1);
  return `unknown shorthand flag: '${letters.slice(0, 1)}' in -${letters}`;
}

/** Undefined: the flag does not exist. */
function kindOf(name: string): Kind<unknown> | undefined {
  const path = Object.hasOwn(configFlags, name) ? configFlags[name] : undefined;
  return (path === undefined ? otherFlags.get(name) : fieldsByPath.get(path))?.kind;
}

function parse(name: string, texts: readonly string[]): unknown {
  try {
    return kindOf(name)?.parse(texts);
  } catch (error) {
    const text = JSON.stringify(texts.at(-1));
    throw configError(`invalid argument ${text} for "--${name}" flag: ${toError(error).message}`, error);
  }
}
