import type { ManifestReport } from '@kubus/contracts';
import { formatTable, indent } from '../output/table.ts';
import { field } from './fields.ts';

/** A manifest with its pods, errors and warnings. */
export function describeManifest({ path, readAt, pods, errors, warnings }: ManifestReport): string[] {
  const issues = [
    ...errors.map((issue) => ({ ...issue, severity: 'Error' })),
    ...warnings.map((issue) => ({ ...issue, severity: 'Warning' })),
  ];
  const rows = issues.map(({ severity, document, line, field, message }) => [
    severity,
    String(document + 1),
    line === undefined ? '-' : String(line),
    field ?? '-',
    message,
  ]);
  return [
    field('File', path),
    field('Read', readAt),
    field('Pods', pods.map(({ namespace, name }) => `${namespace}/${name}`).join(', ') || undefined),
    ...(rows.length === 0
      ? [field('Problems', undefined)]
      : ['Problems:', indent(formatTable(['TYPE', 'DOCUMENT', 'LINE', 'FIELD', 'MESSAGE'], rows))]),
  ];
}
