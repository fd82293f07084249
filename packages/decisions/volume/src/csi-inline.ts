import type { CsiDriver, CsiVolumeSource, Pod } from '@kubus/contracts';
import { csiFolder } from './paths.ts';
import { inlineVolumeHandle } from './csi-paths.ts';
import type { KnownObjects } from './known.ts';
import type { CsiStep, VolumePlan } from './step.ts';

/** How a driver creates a volume with the lifetime of its pod (KEP-596; behaviour:volumes, csi). */
export function planInlineCsi(
  pod: Pod,
  name: string,
  source: CsiVolumeSource,
  root: string,
  known: KnownObjects,
): VolumePlan {
  const { driver: driverName, readOnly = false, fsType = '', volumeAttributes = {}, nodePublishSecretRef } = source;
  const driver = known.csiDriver(driverName);
  if (driver === undefined) return { name, awaits: 'the CSIDrivers of the cluster' };
  const problem = lifecycleProblem(driverName, driver);
  if (problem !== undefined || driver === 'missing') {
    return { name, refusal: `kubernetes.io/csi: mounter.SetupAt failed to check volume lifecycle mode: ${problem}` };
  }
  const secret = publishSecret(pod.metadata.namespace, nodePublishSecretRef?.name, known);
  if ('awaits' in secret || 'refusal' in secret) return { name, ...secret };
  const { namespace, name: podName, uid } = pod.metadata;
  const { securityContext: { fsGroup, fsGroupChangePolicy } = {}, serviceAccountName = '' } = pod.spec;
  const changesGroup = driver.fsGroupPolicy === 'File' || (driver.fsGroupPolicy !== 'None' && fsType !== '');
  const step: CsiStep = {
    kind: 'csi',
    path: csiFolder(root, uid, name),
    specName: name,
    driver: driverName,
    volumeHandle: inlineVolumeHandle(uid, name),
    ...(fsType !== '' && { fsType }),
    ...{ readOnly, block: false, accessMode: 'SINGLE_NODE_WRITER', mountOptions: [] },
    volumeAttributes,
    publishContext: {},
    ...secret,
    ...(fsGroup !== undefined && { mountGroup: fsGroup, ...(changesGroup && !readOnly && { fsGroup }) }),
    ...(fsGroupChangePolicy !== undefined && { fsGroupChangePolicy }),
    pod: { namespace, name: podName, uid, serviceAccount: serviceAccountName },
    ...{ tellPod: driver.podInfoOnMount, tokens: driver.tokenRequests, requiresRepublish: driver.requiresRepublish },
    inline: true,
  };
  return { name, step };
}

function lifecycleProblem(name: string, driver: CsiDriver | 'missing'): string | undefined {
  const mode = `volume mode "Ephemeral" not supported by driver ${name}`;
  if (driver === 'missing') return `${mode} (no CSIDriver object)`;
  if (driver.lifecycleModes.includes('Ephemeral')) return undefined;
  return `${mode} (only supports [${driver.lifecycleModes.map((one) => JSON.stringify(one)).join(' ')}])`;
}

type Secret = Pick<CsiStep, 'publishSecret'> | { readonly awaits: string } | { readonly refusal: string };

function publishSecret(namespace: string, name: string | undefined, known: KnownObjects): Secret {
  if (name === undefined) return {};
  const object = known.object({ kind: 'Secret', namespace, name });
  if (object === undefined) return { awaits: `Secret ${namespace}/${name} from the API server` };
  if (object.state === 'present')
    return { publishSecret: { kind: 'Secret', namespace, name, version: object.version } };
  const said = object.state === 'missing' ? `secrets "${name}" not found` : object.message;
  const cause = `kubernetes.io/csi: failed to find the secret ${name} in the namespace ${namespace} with error: ${said}`;
  return { refusal: `fetching NodePublishSecretRef ${namespace}/${name} failed: ${cause}` };
}
