import type { ManifestReport, Pod, PodRef } from '@kubus/contracts';
import { type ManifestNote, readManifest } from '@kubus/pod-source';

/** The state of one manifest: of a file, or of a URL. */
export interface FileState {
  /** The file, or the URL. */
  readonly path: string;
  /** The text that was last read successfully. */
  readonly text?: string;
  /** Why the last read failed. */
  readonly fault?: string;
  /** The pods of the file now. */
  readonly pods: readonly Pod[];
}

export interface FileChange {
  readonly state: FileState;
  readonly report: ManifestReport;
}

/**
 * Takes in a new version of a file. Its valid pods are used. While anything in it is wrong, pods of the previous
 * version stay unless the new one defines them: a file may be half written, and a mistake must not stop pods. The
 * reference drops the pods of a broken file at its next full read.
 */
export function readFile(
  { path, text }: { path: string; text: string },
  before: FileState | undefined,
  at: { node: string; now: string; source: 'file' | 'http' },
): FileChange {
  const manifest = readManifest({ text, path, node: at.node, source: at.source, seenAt: at.now });
  const broken = manifest.errors.length > 0;
  const kept = broken ? missingFrom(manifest.pods, before?.pods ?? []) : [];
  const pods = [...manifest.pods, ...kept];
  const warnings = [...manifest.warnings, ...kept.map(stays)];
  return { state: { path, text, pods }, report: report(path, at.now, pods, manifest.errors, warnings) };
}

/** A file that exists and cannot be read counts as a broken one. */
export function failFile(
  { path, error }: { path: string; error: Error },
  before: FileState | undefined,
  now: string,
): FileChange {
  const pods = before?.pods ?? [];
  const errors = [{ document: 0, message: error.message }];
  return { state: { path, fault: error.message, pods }, report: report(path, now, pods, errors, pods.map(stays)) };
}

function missingFrom(pods: readonly Pod[], before: readonly Pod[]): Pod[] {
  const named = new Set(pods.map(({ metadata }) => `${metadata.namespace}/${metadata.name}`));
  return before.filter(({ metadata }) => !named.has(`${metadata.namespace}/${metadata.name}`));
}

function stays({ metadata }: Pod): ManifestNote {
  const message = `pod ${metadata.namespace}/${metadata.name} stays as it was before the file became invalid`;
  return { document: 0, message };
}

function report(
  path: string,
  readAt: string,
  pods: readonly Pod[],
  errors: readonly ManifestNote[],
  warnings: readonly ManifestNote[],
): ManifestReport {
  return { path, readAt, pods: pods.map(podRef), errors: [...errors], warnings: [...warnings] };
}

export function podRef({ metadata: { namespace, name, uid } }: Pod): PodRef {
  return { namespace, name, uid };
}
