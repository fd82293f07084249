import { Option } from 'commander';
import { stringify } from 'yaml';

export type OutputFormat = 'json' | 'yaml' | 'wide';

/** The option `--output`; default: text for people. */
export function outputOption(formats: readonly OutputFormat[] = ['json', 'yaml']): Option {
  return new Option('-o, --output <format>', 'output format').choices(formats);
}

/** Prints a document as JSON or YAML. */
export function printDocument(document: unknown, format: 'json' | 'yaml'): void {
  console.log(format === 'json' ? JSON.stringify(document, undefined, 2) : stringify(document).trimEnd());
}
