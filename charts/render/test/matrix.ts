import type { Values } from '../src/index.ts';
import { chart } from './rendered-pod.ts';

const services = Object.keys(chart.defaults['services'] as object);

/** Typical sets of values by purpose. */
export const matrix: Readonly<Record<string, Values>> = {
  default: {},
  'external NATS with TLS': {
    nats: {
      enabled: false,
      external: { url: 'tls://nats.example:4222', caSecret: 'nats-ca', identitiesSecret: 'seeds' },
    },
  },
  'external NATS without an authority of its own': { nats: { enabled: false, external: { url: 'nats://10.0.0.1' } } },
  'a guest by kubeconfig': { cluster: { mode: 'kubeconfig', kubeconfigSecret: 'guest' } },
  'a guest by bootstrap': { cluster: { mode: 'bootstrap', kubeconfigSecret: 'bootstrap' } },
  'a guest by ServiceAccount': { cluster: { mode: 'serviceAccount' } },
  'a guest that others reach': {
    cluster: { mode: 'serviceAccount', server: 'https://api.example:6443' },
    nodeApi: { port: 10_351, clientCaConfigMap: 'client-ca' },
  },
  'a guest without an API': { cluster: { mode: 'serviceAccount' }, nodeApi: { port: 0 } },
  'a ServiceAccount and rules that already exist': {
    cluster: { mode: 'serviceAccount' },
    serviceAccount: { create: false, name: 'theirs' },
    rbac: { create: false },
  },
  'the runtime of the machine': { runtime: { enabled: false, socket: '/run/crio/crio.sock' } },
  'a runtime that is shared': { runtime: { enabled: false, socket: '/run/x/x.sock', shared: true } },
  'several instances': { services: { 'pod-workers': { instances: 3 }, prober: { instances: 2 } } },
  'one container for all services': { placement: 'hosted' },
  'groups that share containers': {
    placement: 'groups',
    groups: { control: ['config-sources', 'sync-loop', 'pod-workers'], status: ['prober', 'status-manager'] },
    services: { 'pod-workers': { instances: 2 }, prober: { instances: 2 } },
  },
  'groups of a guest': {
    cluster: { mode: 'bootstrap', kubeconfigSecret: 'bootstrap' },
    placement: 'groups',
    groups: {
      values: ['cri-bridge', 'volume-manager', 'object-cache', 'prober'],
      writes: ['status-manager', 'sync-loop'],
    },
    services: { 'volume-manager': { hostPaths: ['/srv/data'] }, prober: { instances: 2 } },
  },
  'paths for volumes': { services: { 'volume-manager': { hostPaths: ['/srv/data', '/dev'] } } },
  'static pods of a folder': { manifests: { hostPath: '/etc/kubus/manifests' } },
  'static pods of a ConfigMap': { manifests: { configMap: 'pods' } },
  'a pod monitor': {
    cluster: { mode: 'serviceAccount' },
    podMonitor: { enabled: true, labels: { release: 'prometheus' }, tokenSecret: { name: 'scraper', key: 'token' } },
  },
  'a network policy': { networkPolicy: { enabled: true } },
  'a network policy with peers': {
    cluster: { mode: 'serviceAccount' },
    networkPolicy: { enabled: true, apiFrom: [{ namespaceSelector: { matchLabels: { name: 'monitoring' } } }] },
  },
  'a release that cleans up': {
    cluster: { mode: 'bootstrap', kubeconfigSecret: 'bootstrap' },
    uninstall: { enabled: true },
  },
  'where it runs': {
    nodeSelector: { pool: 'kubus' },
    tolerations: [{ key: 'dedicated', operator: 'Exists', effect: 'NoSchedule' }],
    affinity: {
      nodeAffinity: {
        requiredDuringSchedulingIgnoredDuringExecution: {
          nodeSelectorTerms: [
            { matchExpressions: [{ key: 'zone', operator: 'In', values: ['a'] }] },
            { matchFields: [{ key: 'metadata.name', operator: 'In', values: ['m1'] }] },
          ],
        },
      },
    },
    priorityClassName: '',
    podAnnotations: { team: 'nodes' },
    podLabels: { team: 'nodes' },
    imagePullSecrets: [{ name: 'registry' }],
  },
  'an update by hand': { updateStrategy: { type: 'OnDelete' } },
  'an update of a fifth at once': {
    updateStrategy: { type: 'RollingUpdate', rollingUpdate: { maxUnavailable: '20%' } },
  },
  'other names': {
    nameOverride: 'agent',
    fullnameOverride: 'node-agent',
    node: { folder: 'guest', nameSuffix: '.guest' },
  },
  'an image by its digest': { image: { repository: 'registry.example/kubus', digest: `sha256:${'0'.repeat(64)}` } },
  ...Object.fromEntries(services.map((name) => [`without ${name}`, { services: { [name]: { enabled: false } } }])),
  ...Object.fromEntries(
    services.map((name) => [
      `${name} of its own kind`,
      {
        cluster: { mode: 'serviceAccount' },
        services: {
          [name]: {
            enabled: true,
            image: { repository: 'registry.example/own', tag: 'v2' },
            resources: { requests: { cpu: '100m' }, limits: { memory: '1Gi' } },
            logLevel: 'debug',
            extraArgs: ['--max-old-space-size=128'],
            extraEnv: [{ name: 'TZ', value: 'UTC' }],
          },
        },
      },
    ]),
  ),
};
