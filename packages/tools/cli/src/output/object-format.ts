import { InvalidArgumentError, Option } from 'commander';
import { type CustomColumn, customColumns } from '../query/custom-columns.ts';
import { type Part, parseTemplate } from '../query/json-path.ts';
import { toError } from '@kubus/ports';

/** How objects are printed. */
export type ObjectFormat =
  | { readonly kind: 'json' | 'yaml' | 'wide' | 'name' }
  | { readonly kind: 'jsonpath'; readonly template: readonly Part[] }
  | { readonly kind: 'custom-columns'; readonly columns: readonly CustomColumn[] };

const KINDS = ['json', 'yaml', 'wide', 'name'] as const;
const FORMATS = 'json, yaml, wide, name, jsonpath=TEMPLATE or custom-columns=TITLE:PATH,...';

/** The option `--output` of commands that print objects. */
export function objectFormatOption(): Option {
  return new Option('-o, --output <format>', `output format: ${FORMATS}`).argParser(objectFormat);
}

/** Parses the value of `--output`. Throws commander's InvalidArgumentError. */
export function objectFormat(text: string): ObjectFormat {
  const kind = KINDS.find((one) => one === text);
  if (kind !== undefined) return { kind };
  const [, name, value = ''] = /^([^=]+)=(.*)$/s.exec(text) ?? [];
  try {
    if (name === 'jsonpath') return { kind: name, template: parseTemplate(value) };
    if (name === 'custom-columns') return { kind: name, columns: customColumns(value) };
  } catch (error) {
    throw new InvalidArgumentError(toError(error).message);
  }
  throw new InvalidArgumentError(`Use ${FORMATS}.`);
}
