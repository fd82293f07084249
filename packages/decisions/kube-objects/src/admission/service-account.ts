import { CONFIG_MIRROR } from '@kubus/contracts';
import { type Json, type JsonObject, asList, asText, at } from '../json.ts';
import type { KubeObject } from '../object.ts';
import type { RuleContext } from '../rules/rules.ts';
import { forbidden } from '../status.ts';
import { referencedResources } from './pod-references.ts';

const PATH = '/var/run/secrets/kubernetes.io/serviceaccount';
const VOLUME = 'kube-api-access-';
/** An hour and 7 s, by which the reference knows the tokens that it has added. */
const TOKEN_SECONDS = 3607;
const PODS = { group: '', plural: 'pods', kind: 'Pod' };

/**
 * A new pod with its service account, that account's secrets for images, and the volume with its token. A mirror pod stays as it is, and may
 * have none of it. Source: plugin/pkg/admission/serviceaccount.
 *
 * @throws StatusError 403 for an account that does not exist, and for a mirror pod that refers to accounts or Secrets.
 */
export function withServiceAccount(pod: KubeObject, { find, generatedName }: RuleContext): KubeObject {
  const { name: podName, namespace = '', annotations } = pod.metadata;
  if (annotations?.[CONFIG_MIRROR] !== undefined) {
    const why = mirrorRefusal(pod);
    if (why !== undefined) throw forbidden(PODS, podName, why);
    return pod;
  }
  const { spec = {} } = pod;
  const given = asText(spec['serviceAccountName']);
  const name = given === '' ? 'default' : given;
  const account = find('ServiceAccount', name, namespace);
  if (account === undefined) {
    const why = `error looking up service account ${namespace}/${name}: serviceaccount "${name}" not found`;
    throw forbidden(PODS, podName, why);
  }
  const pulls = asList(spec['imagePullSecrets']).length > 0 ? spec['imagePullSecrets'] : account['imagePullSecrets'];
  const mounts = spec['automountServiceAccountToken'] ?? account['automountServiceAccountToken'] ?? true;
  return {
    ...pod,
    spec: {
      ...(mounts === true ? withToken(spec, generatedName) : spec),
      serviceAccountName: name,
      serviceAccount: name,
      ...(asList(pulls).length > 0 && { imagePullSecrets: asList(pulls) }),
    },
  };
}

function mirrorRefusal(pod: KubeObject): string | undefined {
  const kinds = referencedResources(pod);
  if (kinds.includes('serviceaccounts')) return 'a mirror pod may not reference service accounts';
  if (kinds.includes('secrets')) return 'a mirror pod may not reference secrets';
  if (!kinds.includes('serviceaccounts (via projected volumes)')) return undefined;
  return 'a mirror pod may not use ServiceAccountToken volume projections';
}

/** The spec with the token in each container that has nothing at its path. */
function withToken(spec: JsonObject, generatedName: RuleContext['generatedName']): JsonObject {
  const volumes = asList(spec['volumes']);
  const present = volumes.map((volume) => asText(at(volume, 'name'))).find((name) => name.startsWith(VOLUME));
  const name = present ?? generatedName(VOLUME);
  const mount = { name, readOnly: true, mountPath: PATH };
  const mounted = (list: string) =>
    asList(spec[list]).map((container): Json => {
      const mounts = asList(at(container, 'volumeMounts'));
      if (mounts.some((one) => at(one, 'mountPath') === PATH)) return container;
      return { ...(container as JsonObject), volumeMounts: [...mounts, mount] };
    });
  const lists = ['initContainers', 'containers'].filter((list) => spec[list] !== undefined);
  const all = lists.map((list) => [list, mounted(list)] as const);
  const isUsed = all.some(([list, containers]) => containers.some((one, i) => one !== asList(spec[list])[i]));
  return {
    ...spec,
    ...Object.fromEntries(all),
    ...(isUsed && present === undefined && { volumes: [...volumes, { name, projected: TOKEN }] }),
  };
}

const TOKEN: JsonObject = {
  defaultMode: 0o644,
  sources: [
    { serviceAccountToken: { path: 'token', expirationSeconds: TOKEN_SECONDS } },
    { configMap: { name: 'kube-root-ca.crt', items: [{ key: 'ca.crt', path: 'ca.crt' }] } },
    {
      downwardAPI: {
        items: [{ path: 'namespace', fieldRef: { apiVersion: 'v1', fieldPath: 'metadata.namespace' } }],
      },
    },
  ],
};
