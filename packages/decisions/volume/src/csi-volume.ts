import {
  type CsiDriver,
  type CsiPersistentVolume,
  type ObjectVersion,
  type PersistentVolume,
  formatQuantity,
  parseQuantity,
  quantityUnits,
  uniqueCsiVolume,
} from '@kubus/contracts';
import { csiDevice, csiFolder } from './paths.ts';
import type { PersistentUse } from './persistent-volume.ts';
import type { KnownObjects } from './known.ts';
import type { CsiSize, CsiStep, VolumePlan, VolumeStage } from './step.ts';

/** Why there is no step: what is not known yet, or what the problem is. */
type Missing = { readonly awaits: string } | { readonly refusal: string; readonly at?: VolumeStage };
type Found<T> = { readonly value: T } | Missing;

/** A driver without a CSIDriver in the cluster is treated as one with the API's defaults. */
const UNDESCRIBED: Omit<CsiDriver, 'name'> = {
  attachRequired: true,
  podInfoOnMount: false,
  requiresRepublish: false,
  seLinuxMount: false,
  fsGroupPolicy: 'ReadWriteOnceWithFSType',
  lifecycleModes: ['Persistent'],
  tokenRequests: [],
};

/** How a driver creates the volume of a claim, once it is attached (behaviour:volumes, Attach and CSI). */
export function planCsiVolume(use: PersistentUse, source: CsiPersistentVolume): VolumePlan {
  const { name } = use.volume;
  const known = use.known.csiDriver(source.driver);
  if (known === undefined) return { name, awaits: 'the CSIDrivers of the cluster' };
  const driver = known === 'missing' ? UNDESCRIBED : known;
  const problem = modeProblem(driver, source);
  if (problem !== undefined) return { name, refusal: problem };
  const attachable = driver.attachRequired ? { attachable: uniqueCsiVolume(source) } : {};
  const context = driver.attachRequired ? publishContext(use.known, source) : { value: {} };
  if (!('value' in context)) return { name, ...attachable, ...context };
  const secrets = secretsOf(use.known, source);
  if (!('value' in secrets)) return { name, ...attachable, ...secrets };
  return {
    name,
    ...attachable,
    step: csiStep(use, source, driver, { publishContext: context.value, ...secrets.value }),
  };
}

/**
 * The CSI specification's name of the first access mode, which is the one that applies. What a driver receives for the first
 * and the last entry depends on its capability `SINGLE_NODE_MULTI_WRITER`: with it the name is the first one, without it the last
 * one is `SINGLE_NODE_WRITER` as well.
 */
export function csiAccessMode([mode = 'ReadWriteOnce']: readonly string[]): string {
  return ACCESS_MODES[mode] ?? 'UNKNOWN';
}

const ACCESS_MODES: Readonly<Record<string, string>> = {
  ReadWriteOnce: 'SINGLE_NODE_WRITER',
  ReadOnlyMany: 'MULTI_NODE_READER_ONLY',
  ReadWriteMany: 'MULTI_NODE_MULTI_WRITER',
  ReadWriteOncePod: 'SINGLE_NODE_SINGLE_WRITER',
};

function csiStep(
  { pod, claim, persistent, readOnly, settings }: PersistentUse,
  source: CsiPersistentVolume,
  driver: Omit<CsiDriver, 'name'>,
  found: Pick<CsiStep, 'publishContext' | 'stageSecret' | 'publishSecret' | 'expandSecret'>,
): CsiStep {
  const { namespace, name, uid } = pod.metadata;
  const { securityContext, serviceAccountName = '' } = pod.spec;
  const block = persistent.volumeMode === 'Block';
  const { fsGroup, fsGroupChangePolicy } = securityContext ?? {};
  const grouped = fsGroup !== undefined && !readOnly && !block && changesGroup(driver, source, persistent);
  const expandTo = readOnly ? undefined : missingSize(persistent, claim.capacity);
  return {
    kind: 'csi',
    path: (block ? csiDevice : csiFolder)(settings.root, uid, persistent.name),
    specName: persistent.name,
    ...{ driver: source.driver, volumeHandle: source.volumeHandle },
    ...(source.fsType !== undefined && source.fsType !== '' && { fsType: source.fsType }),
    ...{ readOnly, block, accessMode: csiAccessMode(persistent.accessModes), mountOptions: persistent.mountOptions },
    volumeAttributes: source.volumeAttributes,
    ...found,
    ...(fsGroup !== undefined && !block && { mountGroup: fsGroup }),
    ...(grouped && { fsGroup, ...(fsGroupChangePolicy !== undefined && { fsGroupChangePolicy }) }),
    pod: { namespace, name, uid, serviceAccount: serviceAccountName },
    ...{ tellPod: driver.podInfoOnMount, tokens: driver.tokenRequests, requiresRepublish: driver.requiresRepublish },
    inline: false,
    ...(expandTo !== undefined && { expandTo }),
    claim: { namespace: claim.namespace, name: claim.name, uid: claim.uid },
  };
}

function modeProblem({ lifecycleModes }: Omit<CsiDriver, 'name'>, { driver }: CsiPersistentVolume): string | undefined {
  if (lifecycleModes.includes('Persistent')) return undefined;
  const modes = lifecycleModes.map((mode) => JSON.stringify(mode)).join(' ');
  const problem = `volume mode "Persistent" not supported by driver ${driver} (only supports [${modes}])`;
  return `kubernetes.io/csi: mounter.SetupAt failed to check volume lifecycle mode: ${problem}`;
}

/**
 * The attachment's data for the driver, once the volume is attached. The controller attaches it when the Node object lists the
 * volume as in use, and reports that in the Node object's status.
 */
function publishContext(known: KnownObjects, source: CsiPersistentVolume): Found<CsiStep['publishContext']> {
  const node = known.node();
  const unique = uniqueCsiVolume(source);
  if (node === undefined) return { awaits: 'the Node object' };
  if (!node.volumesInUse.includes(unique)) return { awaits: `${unique} in volumesInUse of the Node object` };
  if (!node.volumesAttached.includes(unique)) return { awaits: `the attachment of ${unique} to the node` };
  const attachment = known.attachment(source);
  if (attachment?.attached === true) return { value: attachment.metadata };
  const { error } = attachment ?? {};
  return error === undefined ? { awaits: `the VolumeAttachment of ${unique}` } : { refusal: error, at: 'attach' };
}

function secretsOf(
  known: KnownObjects,
  { nodeStageSecret, nodePublishSecret, nodeExpandSecret }: CsiPersistentVolume,
): Found<Pick<CsiStep, 'stageSecret' | 'publishSecret' | 'expandSecret'>> {
  const wanted = [
    ['stageSecret', nodeStageSecret, 'NodeStageSecretRef', 'device'],
    ['publishSecret', nodePublishSecret, 'NodePublishSecretRef', 'setUp'],
    ['expandSecret', nodeExpandSecret, 'NodeExpandSecretRef', 'device'],
  ] as const;
  const found: [string, ObjectVersion][] = [];
  for (const [field, reference, named, at] of wanted) {
    if (reference === undefined) continue;
    const { namespace, name } = reference;
    const object = known.object({ kind: 'Secret', namespace, name });
    if (object === undefined) return { awaits: `Secret ${namespace}/${name} from the API server` };
    if (object.state !== 'present') {
      const said = object.state === 'missing' ? `secrets "${name}" not found` : object.message;
      const cause = `failed to find the secret ${name} in the namespace ${namespace} with error: ${said}`;
      return { refusal: `fetching ${named} ${namespace}/${name} failed: ${cause}`, at };
    }
    found.push([field, { kind: 'Secret', namespace, name, version: object.version }]);
  }
  return { value: Object.fromEntries(found) };
}

/** Whether the group of the volume's files is changed to the pod's (KEP-1682). */
function changesGroup(
  { fsGroupPolicy }: Omit<CsiDriver, 'name'>,
  { fsType = '' }: CsiPersistentVolume,
  { accessModes }: PersistentVolume,
): boolean {
  if (fsGroupPolicy === 'None') return false;
  if (fsGroupPolicy === 'File') return true;
  return fsType !== '' && accessModes.some((mode) => mode === 'ReadWriteOnce' || mode === 'ReadWriteOncePod');
}

/** The volume's size if the claim does not have it yet, so that the node has to expand the file system to it. */
function missingSize({ capacity = '' }: PersistentVolume, had = ''): CsiSize | undefined {
  const [size, before] = [parseQuantity(capacity), parseQuantity(had)];
  if (size === undefined || before === undefined || size.nano <= before.nano) return undefined;
  return { bytes: quantityUnits(size).toString(), capacity };
}

/**
 * The size of an expanded claim in the reference's form: as in the PersistentVolume, unless the driver reports
 * another size.
 *
 * @param made bytes, decimal, as reported by the driver; 0 where it reports none (CSI specification, NodeExpandVolumeResponse)
 */
export function expandedCapacity({ bytes, capacity }: CsiSize, made: string): string {
  if (made === bytes || made === '0') return capacity;
  return formatQuantity({ nano: parseQuantity(made)?.nano ?? 0n, format: 'BinarySI' });
}
