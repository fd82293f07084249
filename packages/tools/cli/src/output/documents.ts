import { DOCUMENTS, printDocument } from './output.ts';

interface Described {
  /** The commands that print it. */
  readonly command: string;
  /** The meaning of each field. */
  readonly fields: Readonly<Record<string, string>>;
}

const names = 'name, namespace and UID';
const usage = 'nanoCores (10⁻⁹ cores), bytes';

/** The documents that `-o json` and `-o yaml` print, apart from Kubernetes objects. Within a version fields are only added. */
export const documents = {
  NodeList: {
    command: 'ls',
    fields: { items: 'the nodes of the machine: name, state, pods, memoryBytes (without the pods), createdAt, folder' },
  },
  NodeRemoval: {
    command: 'down',
    fields: { node: 'its name', found: 'whether there was such a node', problems: 'what could not be removed' },
  },
  NodeHealth: {
    command: 'status',
    fields: {
      node: 'its name',
      healthy: 'whether every service is ready; else the exit code is 1',
      services: 'instance, state (Ready, NotReady, Down), version, pid, latencyMs, pods, problems, stuck',
      runtime: 'the condition of the container runtime',
      network: 'the condition of the pod network',
      connections: 'with the machine: network (nat, none), wayOut (IP versions), problem, published, registries',
      manifests: 'count, faulty, and faults: path and message',
    },
  },
  PodDescription: {
    command: 'describe pod',
    fields: {
      pod: 'the Pod object',
      worker: 'state of its worker: state, since, error',
      volumes: 'its volumes on the machine',
      network: 'its interfaces and addresses',
      events: 'its Kubernetes events, the newest last',
    },
  },
  NodeDescription: {
    command: 'describe node',
    fields: { node: 'the Node object', pods: 'the Pod objects', events: 'the Kubernetes events of the node' },
  },
  ManifestDescription: {
    command: 'describe manifest',
    fields: { manifest: 'path, readAt, pods, and errors and warnings: document, line, field, message' },
  },
  PodExplanation: {
    command: 'why',
    fields: {
      uid: 'of the pod',
      state: 'waiting, failed, ending, ended, unready or ready',
      text: 'one paragraph for people',
      message: 'the message that says so: id, type, source, time',
    },
  },
  ResourceTypeList: {
    command: 'api-resources',
    fields: { items: 'name, singular, shortNames, apiVersion, namespaced, kind, about, fields (of --field-selector)' },
  },
  NodeUsage: { command: 'top node', fields: { node: `name, ${usage}, capacityBytes`, cores: 'of the machine' } },
  PodUsageList: { command: 'top pods', fields: { items: `namespace, name, ${usage}, containers: name, ${usage}` } },
  PodTimeline: {
    command: 'trace pod',
    fields: {
      pod: `${names}, times, phase, startMs, stopMs`,
      messages: 'its messages and their causes',
      spans: 'spans of work',
      paths: 'the critical paths of its last start and stop',
      services: 'the services with messages, in the order in which they are involved',
    },
  },
  Comparison: {
    command: 'diff',
    fields: {
      what: 'start or stop',
      left: 'the first side: recording, pod, number of pods, ms',
      right: 'the second side',
      steps: 'step, service, left and right (ms), verdict',
    },
  },
  RecordingList: {
    command: 'record list, start, stop, import',
    fields: { items: 'name, node, state, messages, bytes, began, ended, completeness' },
  },
  RecordingFile: {
    command: 'record export, delete',
    fields: { name: 'of the recording', file: 'that was written; missing after a deletion' },
  },
  ReplayReport: {
    command: 'replay',
    fields: { items: 'one life of an instance each: instance, epoch, inputs, equal, difference, ...' },
  },
  Graph: {
    command: 'graph',
    fields: { services: 'by name: about, the subjects that it writes and reads, and the process that it shares' },
  },
  Identities: {
    command: 'identities',
    fields: { config: 'file for nats-server', identities: 'folder with the keys', nodes: 'that the server admits' },
  },
  RestartedInstances: { command: 'restart', fields: { items: 'instance, seconds until it was ready again' } },
  ServiceInstances: { command: 'scale', fields: { service: 'its name', instances: 'that own the pods now' } },
  ActiveFault: {
    command: 'fault drop, delay, duplicate, reorder',
    fields: {
      rule: 'the rule',
      since: 'ms since 1970',
      ends: 'ms since 1970, if it does',
      until: 'when it expires by itself',
    },
  },
  ActiveFaultList: { command: 'fault list', fields: { items: 'rule, since, ends, until' } },
  ClearedFaults: { command: 'fault clear', fields: { cleared: 'names of rules and pauses' } },
  DisturbedInstances: {
    command: 'fault pause, kill, restart',
    fields: { what: 'was done', instances: 'to which it was done' },
  },
  MachineReport: {
    command: 'doctor',
    fields: {
      isHealthy: 'whether there is no problem; else the exit code is 1',
      items: 'check, verdict (ok, warning, problem), message, fix',
    },
  },
  ImageList: { command: 'image ls', fields: { items: 'id, names, digests, sizeBytes' } },
  ImageDescription: {
    command: 'image inspect',
    fields: {
      id: 'digest of the configuration',
      names: 'with tags',
      digests: 'names with the digest of the manifest',
      sizeBytes: 'of the content as it was fetched',
      spec: 'platform and configuration, as OCI has them; missing where the runtime does not report it',
    },
  },
  LoadedImages: { command: 'image load', fields: { names: 'of the images', bytes: 'size of the archive' } },
  PulledImage: {
    command: 'image pull',
    fields: { name: 'of the image', id: 'digest of the configuration', bytes: 'its size', seconds: 'of the pull' },
  },
  RemovedImages: { command: 'image rm', fields: { names: 'that were removed' } },
  BugReport: { command: 'bug-report', fields: { file: 'that was written', notes: 'what could not be collected' } },
  Version: {
    command: 'version',
    fields: { client: 'kubus, kubernetes, nodeJs', node: 'services, nats, runtime; missing when it is not running' },
  },
} as const satisfies Readonly<Record<string, Described>>;

type Kind = keyof typeof documents;
type Fields<K extends Kind> = { readonly [Field in keyof (typeof documents)[K]['fields']]: unknown };

/** Prints a document of Kubus; its kind and fields are described above. */
export function printKubusDocument<K extends Kind>(kind: K, fields: Fields<K>, format: 'json' | 'yaml'): void {
  printDocument({ apiVersion: DOCUMENTS, kind, ...fields }, format);
}
