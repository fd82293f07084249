import type { ManifestReport, Pod, PodRef } from '@kubus/contracts';
import type { Duplicates, ManifestNote } from '@kubus/pod-source';
import { toError } from '@kubus/ports';
import type { ManifestParser } from './manifest-parser.ts';

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
  /** What was reported about it; missing for a file that an earlier process has read. */
  readonly report?: ManifestReport;
}

/** The state of a file that was read just now. */
export type ReadFile = FileState & { readonly report: ManifestReport };

/**
 * Takes in a new version of a file. Its valid pods are used. While anything in it is wrong, pods of the previous
 * version stay unless the new one defines them: a file may be half written, and a mistake must not stop pods. The
 * reference drops the pods of a broken file at its next full read.
 */
export async function readFile(
  { path, text }: { path: string; text: string },
  before: FileState | undefined,
  at: { node: string; now: string; source: 'file' | 'http'; parser: ManifestParser },
): Promise<ReadFile> {
  const { node, now, source, parser } = at;
  let manifest;
  try {
    manifest = await parser.parse({ text, path, node, source, seenAt: now });
  } catch (thrown) {
    // The text is kept: it is not parsed again before it changes.
    return { ...failFile({ path, error: toError(thrown) }, before, now), text };
  }
  const broken = manifest.errors.length > 0;
  const kept = broken ? missingFrom(manifest.pods, before?.pods ?? []) : [];
  const pods = [...manifest.pods, ...kept];
  const warnings = [...manifest.warnings, ...kept.map(stays)];
  return { path, text, pods, report: report(path, now, pods, manifest.errors, warnings) };
}

/** A file that exists and cannot be read counts as a broken one. */
export function failFile(
  { path, error }: { path: string; error: Error },
  before: FileState | undefined,
  now: string,
): ReadFile {
  const pods = before?.pods ?? [];
  const errors = [{ document: 0, message: error.message }];
  return { path, fault: error.message, pods, report: report(path, now, pods, errors, pods.map(stays)) };
}

/** The report of a file of which some pods may not be used. */
export function reportOf({ report: read, pods }: ReadFile, duplicates: Duplicates | undefined): ManifestReport {
  if (duplicates === undefined) return read;
  const used = pods.filter((pod) => !duplicates.pods.has(pod));
  const errors = [...read.errors, ...duplicates.errors];
  const unused = duplicates.unused.map(({ pod, field, other, path }) => {
    return { pod: podRef(pod), field, other: podRef(other), path };
  });
  return { ...read, pods: used.map(podRef), errors, unused };
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
