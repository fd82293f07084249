import { pathsOf, pathText } from './field-set.ts';
import type { Path } from './field-set.ts';
import { identityOf } from './managers.ts';
import type { Manager } from './managers.ts';
import { compareTexts } from './path-element.ts';

/** A field that another manager has and the patch would change. */
export interface Conflict {
  readonly manager: Manager;
  readonly path: Path;
}

/** One cause in the details of the answer 409. */
export interface ConflictCause {
  readonly reason: 'FieldManagerConflict';
  readonly message: string;
  readonly field: string;
}

/** The conflicts of managers whose fields are those in dispute, in the order of the managers. */
export const conflictsIn = (managers: readonly Manager[]): readonly Conflict[] =>
  managers
    .toSorted((one, other) => compareTexts(identityOf(one), identityOf(other)))
    .flatMap((manager) => pathsOf(manager.fields).map((path) => ({ manager, path })));

/** The reference's message: `Apply failed with 1 conflict: conflict with "a" using v1: .spec.nodeName`. */
export function conflictMessage(conflicts: readonly Conflict[]): string {
  const [only, ...others] = conflicts;
  if (only !== undefined && others.length === 0)
    return `Apply failed with 1 conflict: conflict with ${managerText(only.manager)}: ${pathText(only.path)}`;
  const byManager = Map.groupBy(conflicts, ({ manager }) => manager);
  const lines = [...byManager].flatMap(([manager, found]) => [
    `conflicts with ${managerText(manager)}:`,
    ...found.map(({ path }) => `- ${pathText(path)}`),
  ]);
  return `Apply failed with ${String(conflicts.length)} conflicts: ${lines.join('\n')}`;
}

export const conflictCauses = (conflicts: readonly Conflict[]): readonly ConflictCause[] =>
  conflicts.map(({ manager, path }) => ({
    reason: 'FieldManagerConflict',
    message: `conflict with ${managerText(manager)}`,
    field: pathText(path),
  }));

function managerText({ name, operation, apiVersion, subresource }: Manager): string {
  const who = JSON.stringify(name);
  const where = subresource === '' ? who : `${who} with subresource ${JSON.stringify(subresource)}`;
  return operation === 'Update' ? `${where} using ${apiVersion}` : where;
}
