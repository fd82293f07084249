import { type ManifestReport, manifest } from '@kubus/contracts';
import { DOCUMENTS } from '../output/output.ts';
import type { Item, ResourceType } from './resource-type.ts';

export const manifests: ResourceType = {
  name: 'manifests',
  singular: 'manifest',
  shortNames: [],
  apiVersion: DOCUMENTS,
  kind: 'Manifest',
  isNamespaced: false,
  about: 'the manifest files that the node reads, and their errors',
  columns: [{ title: 'FILE', isName: true }, { title: 'PODS' }, { title: 'STATE' }, { title: 'MESSAGE' }],
  fields: ['metadata.name', 'path'],
  open: async (link, onChange) => {
    const handlers = {
      changed: ({ key }: { key: string }) => onChange(key),
      removed: ({ key }: { key: string }) => onChange(key),
    };
    const reports = await link.facts(manifest, handlers);
    return {
      items: () =>
        [...reports]
          .toSorted((a, b) => (a.value.path < b.value.path ? -1 : 1))
          .map(({ key, value }) => manifestItem(key, value)),
    };
  },
};

export function manifestItem(key: string, report: ManifestReport): Item {
  const { path, pods, errors, warnings } = report;
  const object = { apiVersion: DOCUMENTS, kind: 'Manifest', metadata: { name: path }, ...report };
  return {
    key,
    object,
    cells: () => [
      path,
      String(pods.length),
      errors.length > 0 ? 'Broken' : warnings.length > 0 ? 'Warnings' : 'OK',
      [...errors, ...warnings].map(({ field, message, line }) => `${place(field, line)}${message}`).join('; '),
    ],
  };
}

function place(field: string | undefined, line: number | undefined): string {
  if (field !== undefined) return `${field}: `;
  return line === undefined ? '' : `line ${line}: `;
}
