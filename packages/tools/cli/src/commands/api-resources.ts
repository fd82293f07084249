import type { Command } from 'commander';
import { printKubusDocument } from '../output/documents.ts';
import { outputOption, print } from '../output/output.ts';
import { formatTable } from '../output/table.ts';
import { resourceTypes } from '../resources/types.ts';

export function addApiResources(program: Command): void {
  program
    .command('api-resources')
    .description('list the types that "kubus get" knows, with the fields that --field-selector can select by')
    .addOption(outputOption())
    .action(({ output }: { output?: 'json' | 'yaml' }) => {
      if (output === undefined) {
        const rows = resourceTypes.map(({ name, shortNames, apiVersion, isNamespaced, kind, fields }) => {
          return [name, shortNames.join(','), apiVersion, String(isNamespaced), kind, fields.join(',')];
        });
        print(formatTable(['NAME', 'SHORTNAMES', 'APIVERSION', 'NAMESPACED', 'KIND', 'FIELDS'], rows));
        return;
      }
      const items = resourceTypes.map(
        ({ name, singular, shortNames, apiVersion, isNamespaced, kind, about, fields }) => {
          return { name, singular, shortNames, apiVersion, namespaced: isNamespaced, kind, about, fields };
        },
      );
      printKubusDocument('ResourceTypeList', { items }, output);
    });
}
