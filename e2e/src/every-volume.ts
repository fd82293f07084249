import { createHash } from 'node:crypto';
import { mkdir, readFile } from 'node:fs/promises';
import { join } from 'node:path';
import type { PodSpec, Volume, VolumeMount } from '@kubus/contracts';
import type { Cluster } from '@kubus/kube-fixture';
import type { ClusterClaims, DriverVolume } from './cluster-claims.ts';
import { container, shell } from './pods.ts';

/** The name of the CSI driver. */
export const DRIVER = 'every.example';
/** The volume of the driver's claim. */
export const CLAIMED: DriverVolume = { driver: DRIVER, volumeHandle: 'claimed' };

const CLAIMS = ['by-host-path', 'by-local', 'by-csi'] as const;
/** Objects that volumes are made from, with the value of their `key`. */
const SECRET = 'kept secret';
const CONFIG = 'configured';
const base64 = (text: string) => Buffer.from(text).toString('base64');

const size = { sizeLimit: '10Mi' };

const volumes: Volume[] = [
  { name: 'disk', emptyDir: size },
  { name: 'memory', emptyDir: { medium: 'Memory', ...size } },
  { name: 'secret', secret: { secretName: 'every' } },
  { name: 'config', configMap: { name: 'every' } },
  { name: 'downward', downwardAPI: { items: [{ path: 'name', fieldRef: { fieldPath: 'metadata.name' } }] } },
  {
    name: 'projected',
    projected: {
      sources: [
        { serviceAccountToken: { path: 'token', expirationSeconds: 600 } },
        { secret: { name: 'every', items: [{ key: 'key', path: 'secret' }] } },
      ],
    },
  },
  { name: 'inline', csi: { driver: DRIVER } },
  ...CLAIMS.map((claimName) => ({ name: claimName, persistentVolumeClaim: { claimName } })),
];

/** Where the container has writable volumes and parts of volumes. */
const writable = ['/disk', '/memory', '/part', '/named', '/host', '/inline', ...CLAIMS.map((name) => `/${name}`)];

/** Prints what it finds, and writes where it can, once per start. */
const main = container({
  name: 'main',
  env: [{ name: 'POD', valueFrom: { fieldRef: { fieldPath: 'metadata.name' } } }],
  command: shell(
    `for folder in ${writable.join(' ')}; do echo started >>$folder/$POD; done
    trap "exit 0" TERM; while :; do sleep 3600 & wait $!; done`,
  ),
  volumeMounts: [
    ...[{ name: 'host' }, ...volumes].map(({ name }): VolumeMount => ({ name, mountPath: `/${name}` })),
    { name: 'disk', mountPath: '/part', subPath: 'part/deep' },
    { name: 'disk', mountPath: '/named', subPathExpr: 'named/$(POD)' },
  ],
});

/** The spec of a pod with every kind of volume; `folder` is a folder of the machine. */
export function everyVolume(folder: string): Partial<PodSpec> {
  const host: Volume = { name: 'host', hostPath: { path: join(folder, 'host'), type: 'Directory' } };
  return { serviceAccountName: 'every', volumes: [host, ...volumes], containers: [main] };
}

/** Creates the sources of such pods' volumes. */
export async function makeSources(
  cluster: Cluster,
  claims: ClusterClaims,
  folder: string,
  node: string,
): Promise<void> {
  const metadata = { name: 'every' };
  await cluster.create({ apiVersion: 'v1', kind: 'Secret', metadata, data: { key: base64(SECRET) } });
  await cluster.create({ apiVersion: 'v1', kind: 'ConfigMap', metadata, data: { key: CONFIG } });
  await cluster.create({ apiVersion: 'v1', kind: 'ServiceAccount', metadata });
  for (const name of ['host', ...CLAIMS]) await mkdir(join(folder, name));
  const here = [{ matchExpressions: [{ key: 'kubernetes.io/hostname', operator: 'In', values: [node] }] }];
  await claims.make('by-host-path', { hostPath: { path: join(folder, 'by-host-path') } });
  await claims.make('by-local', {
    local: { path: join(folder, 'by-local') },
    nodeAffinity: { required: { nodeSelectorTerms: here } },
  });
  await claims.make('by-csi', { csi: CLAIMED });
}

export async function removeSources(cluster: Cluster, claims: ClusterClaims): Promise<void> {
  for (const kind of ['Secret', 'ConfigMap', 'ServiceAccount']) await cluster.delete({ kind, name: 'every' });
  await claims.release(...CLAIMS);
}

/** Prints what is in the container's volumes, one line each. */
export const readLine = [
  ...['/secret/key', '/config/key', '/downward/name', '/projected/secret'].map((path) => `cat ${path}; echo`),
  'grep -c . /projected/token',
  ...writable.map((path) => `cat ${path}/$POD`),
].join('\n');

/** The output of {@link readLine} when every volume is right and the container was started once. */
export function whatIsRead(pod: string): string[] {
  return [SECRET, CONFIG, pod, SECRET, '1', ...writable.map(() => 'started')];
}

/** The mounts in the folder of such a pod, sorted. */
export const mountsOfPod: readonly string[] = [
  ...['by-csi/mount', 'inline/mount'].map((path) => `volumes/kubernetes.io~csi/${path}`),
  'volumes/kubernetes.io~downward-api/downward',
  'volumes/kubernetes.io~empty-dir/memory',
  'volumes/kubernetes.io~local-volume/by-local',
  'volumes/kubernetes.io~projected/projected',
  'volumes/kubernetes.io~secret/secret',
  ...[volumes.length + 1, volumes.length + 2].map((index) => `volume-subpaths/disk/main/${index}`),
].sort();

/** The mount that such pods share. */
export const stagingMount = `kubernetes.io/csi/${DRIVER}/${createHash('sha256').update(CLAIMED.volumeHandle).digest('hex')}/globalmount`;

/** What these pods have written into persistent volumes. */
export async function writtenBy(pods: readonly string[], folders: readonly string[]): Promise<string[]> {
  const files = folders.flatMap((folder) => pods.map((pod) => join(folder, pod)));
  return Promise.all(files.map((file) => readFile(file, 'utf8')));
}
