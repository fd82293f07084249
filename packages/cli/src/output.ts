import { Option } from 'commander';
import { stringify } from 'yaml';

export type OutputFormat = 'json' | 'yaml' | 'wide';

export function outputOption(formats: readonly OutputFormat[] = ['json', 'yaml']): Option {
  return new Option('-o, --output <format>', 'print for programs').choices(formats);
}

/** Prints a document for programs. */
export function printDocument(document: unknown, format: 'json' | 'yaml'): void {
  console.log(format === 'json' ? JSON.stringify(document, undefined, 2) : stringify(document).trimEnd());
}
