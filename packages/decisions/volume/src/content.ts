import {
  type CachedObject,
  type KeyToPath,
  type ObjectVersion,
  type Pod,
  type Volume,
  type VolumeProjection,
  joinErrors,
  objectKey,
} from '@kubus/contracts';
import { downwardFiles } from './downward-files.ts';
import { type VolumeSettings, diskFolder, memoryFolder } from './folders.ts';
import { fileOwner } from './file-owner.ts';
import type { KnownObjects } from './known.ts';
import { nestedMountPoints } from './nested.ts';
import { volumeFolder } from './paths.ts';
import type { PlannedFile, SourceFiles } from './planned-file.ts';
import type { ContentFile, ContentStep, VolumePlan } from './step.ts';
import { trustAnchors } from './trust-anchors.ts';

/** The API's default. */
const DEFAULT_MODE = 0o644;
/** For files that only the pod's own user may read. */
const PRIVATE_MODE = 0o600;
/** The group's permissions for files that containers must not write to. */
const GROUP_READS = 0o440;

interface ContentVolume {
  /** The name of its folder, after the reference's plugin. */
  readonly plugin: string;
  readonly medium: 'disk' | 'memory';
  readonly defaultMode: number;
  readonly sources: readonly VolumeProjection[];
}

/** How a volume whose files the node writes is created (behaviour:volumes, plugins); undefined for any other volume. */
export function planContent(
  pod: Pod,
  volume: Volume,
  settings: VolumeSettings,
  known: KnownObjects,
): VolumePlan | undefined {
  const content = contentVolume(volume);
  if (content === undefined) return undefined;
  const { name } = volume;
  const planned = content.sources.map((source) => filesOf(pod, source, content, known));
  const refusals = planned.flatMap((one) => ('refusal' in one ? one.refusal : []));
  if (refusals.length > 0) return { name, refusal: joinErrors(refusals) };
  const [awaits] = planned.flatMap((one) => ('awaits' in one ? one.awaits : []));
  if (awaits !== undefined) return { name, awaits };
  const mountPoints = nestedMountPoints(pod, name);
  if (typeof mountPoints === 'string') return { name, refusal: mountPoints };
  const files = planned.flatMap((one) => ('files' in one ? one.files : []));
  return { name, step: contentStep(pod, files, { ...content, name, mountPoints, settings }) };
}

function contentVolume({ secret, configMap, downwardAPI, projected }: Volume): ContentVolume | undefined {
  if (secret !== undefined) {
    const { secretName, defaultMode = DEFAULT_MODE, ...rest } = secret;
    const sources = [{ secret: { ...rest, ...(secretName !== undefined && { name: secretName }) } }];
    return { plugin: 'secret', medium: 'memory', defaultMode, sources };
  }
  if (configMap !== undefined) {
    const { defaultMode = DEFAULT_MODE, ...rest } = configMap;
    return { plugin: 'configmap', medium: 'disk', defaultMode, sources: [{ configMap: rest }] };
  }
  if (downwardAPI !== undefined) {
    const { defaultMode = DEFAULT_MODE, ...rest } = downwardAPI;
    return { plugin: 'downward-api', medium: 'memory', defaultMode, sources: [{ downwardAPI: rest }] };
  }
  if (projected === undefined) return undefined;
  const { defaultMode = DEFAULT_MODE, sources = [] } = projected;
  return { plugin: 'projected', medium: 'memory', defaultMode, sources };
}

/** Of several files with the same path the last one takes precedence. */
function contentStep(
  pod: Pod,
  planned: readonly PlannedFile[],
  volume: ContentVolume & { name: string; mountPoints: readonly string[]; settings: VolumeSettings },
): ContentStep {
  const { name, plugin, medium, mountPoints, settings } = volume;
  const { namespace, name: podName, uid } = pod.metadata;
  const gid = pod.spec.securityContext?.fsGroup;
  const objects = new Map<string, ObjectVersion>();
  const numbered = ({ source, mode, ...file }: PlannedFile): ContentFile => {
    const rights = { ...file, mode: gid === undefined ? mode : mode | GROUP_READS };
    if (source.kind !== 'value') return { ...rights, source };
    const key = objectKey(source.object);
    objects.set(key, source.object);
    return { ...rights, source: { ...source, object: [...objects.keys()].indexOf(key) } };
  };
  const files = [...new Map(planned.map((file) => [file.path, file])).values()].map(numbered);
  const account = { namespace, name: pod.spec.serviceAccountName ?? '', pod: { name: podName, uid } };
  const path = volumeFolder(settings.root, { uid, plugin, name });
  return {
    kind: 'content',
    folder: medium === 'disk' ? diskFolder(path, gid) : memoryFolder(pod, path, { settings }),
    files,
    objects: [...objects.values()],
    ...(files.some(({ source }) => source.kind === 'token') && { account }),
    mountPoints,
    ...(gid !== undefined && { gid }),
  };
}

function filesOf(
  pod: Pod,
  source: VolumeProjection,
  { defaultMode: mode }: ContentVolume,
  known: KnownObjects,
): SourceFiles {
  const { secret, configMap, downwardAPI, serviceAccountToken, clusterTrustBundle } = source;
  if (secret !== undefined) return objectFiles(pod, 'Secret', { ...secret, mode }, known);
  if (configMap !== undefined) return objectFiles(pod, 'ConfigMap', { ...configMap, mode }, known);
  if (downwardAPI !== undefined) return downwardFiles(pod, { ...downwardAPI, mode }, known.allocatable());
  if (serviceAccountToken !== undefined) {
    const { path, audience = '', expirationSeconds } = serviceAccountToken;
    const audiences = audience === '' ? [] : [audience];
    const token = { kind: 'token', audiences, ...(expirationSeconds !== undefined && { expirationSeconds }) } as const;
    return { files: [{ path, ...privateRights(pod, mode), source: token }] };
  }
  if (clusterTrustBundle !== undefined) {
    const anchors = trustAnchors(clusterTrustBundle, known.trustBundles());
    if (!('text' in anchors)) return anchors;
    const { path } = clusterTrustBundle;
    return { files: [{ path, ...privateRights(pod, mode), source: { kind: 'text', text: anchors.text } }] };
  }
  return { refusal: 'this version of Kubus does not support pod certificates' };
}

/** Where the pod's user is known, no other user needs to read its tokens. */
function privateRights(pod: Pod, mode: number): Pick<ContentFile, 'mode' | 'uid'> {
  const uid = fileOwner(pod);
  const isPrivate = uid !== undefined || pod.spec.securityContext?.fsGroup !== undefined;
  return { mode: isPrivate ? PRIVATE_MODE : mode, ...(uid !== undefined && { uid }) };
}

interface ObjectSource {
  readonly name?: string | undefined;
  readonly items?: readonly KeyToPath[] | undefined;
  readonly optional?: boolean | undefined;
  readonly mode: number;
}

/** The keys of an object as files: all of them, or those that are listed. */
function objectFiles(
  { metadata: { namespace } }: Pod,
  kind: CachedObject['kind'],
  { name = '', items = [], optional = false, mode }: ObjectSource,
  known: KnownObjects,
): SourceFiles {
  const found = known.object({ kind, namespace, name });
  const what = `${kind.toLowerCase()} "${name}"`;
  if (found === undefined) return { awaits: `${what} from the API server` };
  if (found.state === 'refused') return { refusal: found.message };
  if (found.state === 'missing') return optional ? { files: [] } : { refusal: `${what} not found` };
  const object: ObjectVersion = { kind, namespace, name, version: found.version };
  const keys = [...found.keys, ...(found.binaryKeys ?? [])];
  const file = (key: string, path: string, own = mode): PlannedFile => {
    return { path, mode: own, source: { kind: 'value', object, key } };
  };
  if (items.length === 0) return { files: keys.map((key) => file(key, key)) };
  const absent = items.find(({ key }) => !keys.includes(key));
  if (absent !== undefined && !optional) {
    const secret = `references non-existent secret key: ${absent.key}`;
    return { refusal: kind === 'Secret' ? secret : `configmap references non-existent config key: ${absent.key}` };
  }
  return { files: items.filter(({ key }) => keys.includes(key)).map((item) => file(item.key, item.path, item.mode)) };
}
