import { type Pod, podSchema } from '@kubus/contracts';
import { conform, issuePath } from './conform.ts';
import { type ManifestDocument, parseDocuments } from './documents.ts';
import { MAX_DEPTH, extentOf } from './extent.ts';
import { type ManifestNote, Notes } from './notes.ts';
import { apiReferences } from '../validation/api-references.ts';
import { type StaticOrigin, staticPod } from '../static-pod.ts';
import { FieldErrors, FieldPath } from '../validation/field.ts';
import { validatePod } from '../validation/pod.ts';

/** A pod of a manifest, before defaults. */
interface DecodedPod {
  readonly pod: Pod;
  readonly document: ManifestDocument;
  /** Its path in its document: the root, or `items[n]` of a list. */
  readonly at: FieldPath;
}

export interface DecodedManifest {
  readonly pods: readonly DecodedPod[];
  readonly errors: readonly ManifestNote[];
  readonly warnings: readonly ManifestNote[];
}

export interface Manifest {
  /** The pods without errors, with their defaults set, in the order of the file. */
  readonly pods: readonly Pod[];
  readonly errors: readonly ManifestNote[];
  readonly warnings: readonly ManifestNote[];
}

/**
 * Reads the static pods of one manifest file: JSON or YAML, one or several documents, each a Pod or a list of pods. An
 * error in one pod is reported with its field and line and excludes only that pod. A file without a document is
 * an error too, because a file looks like that while it is being written; an empty PodList means no pods.
 */
export function readManifest({ text, ...origin }: StaticOrigin & { text: string }): Manifest {
  const errors = new Notes();
  const warnings = new Notes();
  const pods: Pod[] = [];
  for (const { pod, document, at } of decode(text, errors, warnings)) {
    const ready = staticPod(pod, origin);
    const wrong = [...validatePod(ready, at), ...apiReferences(ready, at)];
    for (const { path, message } of wrong) errors.addField(document, path, message);
    if (wrong.length === 0) pods.push(ready);
  }
  return { pods, errors: errors.list(), warnings: warnings.list() };
}

/** The pods of a manifest file as written, conforming to the schema. */
export function decodeManifest(text: string): DecodedManifest {
  const errors = new Notes();
  const warnings = new Notes();
  const pods = decode(text, errors, warnings);
  return { pods, errors: errors.list(), warnings: warnings.list() };
}

/** The pod of a value that JSON has given, conforming to the schema; the errors if it does not. Unknown fields stay. */
export function decodePod(value: unknown): { readonly pod?: Pod; readonly errors: readonly ManifestNote[] } {
  const errors = new Notes();
  const document: ManifestDocument = { index: 0, value, lineOf: () => 1 };
  const pod = podOf(value, { document, at: FieldPath.root }, errors, new Notes());
  return { ...(pod && { pod }), errors: errors.list() };
}

function decode(text: string, errors: Notes, warnings: Notes): DecodedPod[] {
  const { documents, problems, oddities } = parseDocuments(text);
  for (const problem of problems) errors.add(problem);
  for (const oddity of oddities) warnings.add(oddity);
  if (documents.length === 0 && problems.length === 0) {
    errors.add({ document: 0, message: 'the file contains no document' });
  }
  const pods: DecodedPod[] = [];
  for (const document of documents) {
    for (const { content, at } of podsIn(document.value, refusalIn(document, errors))) {
      const pod = podOf(content, { document, at }, errors, warnings);
      if (pod !== undefined) pods.push({ pod, document, at });
    }
  }
  return pods;
}

/** A pod of a document, if it conforms to the schema. */
function podOf(
  content: unknown,
  { document, at }: Omit<DecodedPod, 'pod'>,
  errors: Notes,
  warnings: Notes,
): Pod | undefined {
  const refuse = refusalIn(document, errors);
  const excess = excessOf(content);
  if (excess !== undefined) {
    refuse(at, excess);
    return undefined;
  }
  const conformed = conform(content, podSchema, at, (path) => warnings.addField(document, path, 'unknown field'));
  const parsed = podSchema.safeParse(conformed);
  for (const issue of parsed.error?.issues ?? []) {
    const message = issue.message.replace(/^Invalid input(: )?/, 'Invalid value: ');
    refuse(issuePath(podSchema, issue.path, at), issue.code === 'invalid_union' ? NUMBER_OR_TEXT : message);
  }
  return parsed.data;
}

function refusalIn(document: ManifestDocument, errors: Notes): Refuse {
  return (path, message) => errors.addField(document, path, message);
}

/** Values of one pod: forty times those of a large one. */
const MAX_POD_VALUES = 20_000;
/** Characters in one pod. An API server stores no larger objects (etcd's limit of a request), and the bus carries none. */
const MAX_POD_CHARACTERS = 1_500_000;

/** Why a pod is refused before any of its fields is looked at. */
function excessOf(content: unknown): string | undefined {
  const { values, characters, depth } = extentOf(content);
  if (depth > MAX_DEPTH) return `nested more than ${MAX_DEPTH} levels deep`;
  const excess = (count: number, of: string, limit: number) =>
    count > limit ? `Too long: ${count} ${of}: a pod may have at most ${limit}` : undefined;
  return excess(values, 'values', MAX_POD_VALUES) ?? excess(characters, 'characters', MAX_POD_CHARACTERS);
}

type Refuse = (path: FieldPath, message: string) => void;
const NUMBER_OR_TEXT = 'Invalid value: expected a number or a string';
const kinds = ['Pod', 'PodList', 'List'];

function podsIn(value: unknown, refuse: Refuse): { content: unknown; at: FieldPath }[] {
  const root = FieldPath.root;
  if (!isObject(value)) {
    refuse(root, 'Invalid value: expected an object');
    return [];
  }
  if (!checkType(value, kinds, root, refuse)) return [];
  if (value['kind'] === 'Pod') return [{ content: value, at: root }];
  const items: unknown = value['items'] ?? [];
  if (!Array.isArray(items)) {
    refuse(root.child('items'), 'Invalid value: expected an array');
    return [];
  }
  const found = items.map((content: unknown, i) => ({ content, at: root.child('items').index(i) }));
  return found.filter(({ content, at }) => {
    if (!isObject(content)) {
      refuse(at, 'Invalid value: expected an object');
      return false;
    }
    // The items of a typed list need not repeat their type.
    const typed = value['kind'] === 'PodList' ? { apiVersion: 'v1', kind: 'Pod', ...content } : content;
    return checkType(typed, ['Pod'], at, refuse);
  });
}

function checkType(
  object: Readonly<Record<string, unknown>>,
  supported: readonly string[],
  path: FieldPath,
  refuse: Refuse,
): boolean {
  const errors = new FieldErrors();
  for (const [field, allowed] of [
    ['apiVersion', ['v1']],
    ['kind', supported],
  ] as const) {
    const value = object[field] ?? '';
    errors.oneOf(path.child(field), typeof value === 'string' ? value : `(${typeof value})`, allowed);
  }
  for (const { path: at, message } of errors.list) refuse(at, message);
  return errors.list.length === 0;
}

function isObject(value: unknown): value is Readonly<Record<string, unknown>> {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}
