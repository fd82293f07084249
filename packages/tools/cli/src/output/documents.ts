import { DOCUMENTS, printDocument } from './output.ts';

interface Described {
  /** The commands that print it. */
  readonly commands: readonly string[];
  /** The meaning of each field. */
  readonly fields: Readonly<Record<string, string>>;
}

const names = 'name, namespace and UID';
const usage = 'nanoCores (10⁻⁹ cores), bytes';

/** The documents that `-o json` and `-o yaml` print, apart from Kubernetes objects. Within a version fields are only added. */
export const documents = {
  NodeList: {
    commands: ['ls'],
    fields: { items: 'the nodes of the machine: name, state, pods, memoryBytes (without the pods), createdAt, folder' },
  },
  NodeRemoval: {
    commands: ['down'],
    fields: { node: 'its name', found: 'whether there was such a node', problems: 'what could not be removed' },
  },
  NodeHealth: {
    commands: ['status'],
    fields: {
      node: 'its name',
      healthy: 'whether every service is ready and no process lacks file descriptors; else the exit code is 1',
      services: 'instance, state (Ready, NotReady, Down), version, pid, latencyMs, pods, problems, stuck',
      processes: 'those of the node without a file descriptor left: process, pid, problem',
      runtime: 'the condition of the container runtime',
      network: 'the condition of the pod network',
      connections:
        'with the machine: network (nat, none, host), wayOut (IP versions), problem, published, registries, and for host machine: bridge, subnet',
      dns: 'of pods: own (the node’s, which answers names of services and pods), servers (empty: the machine’s), domain, resolvConf',
      manifests: 'count, faulty, and faults: path and message',
    },
  },
  PodDescription: {
    commands: ['describe pod'],
    fields: {
      pod: 'the Pod object',
      worker: 'state of its worker: state, since, error',
      volumes: 'its volumes on the machine',
      network: 'its interfaces and addresses',
      events: 'its Kubernetes events, the newest last',
    },
  },
  NodeDescription: {
    commands: ['describe node'],
    fields: { node: 'the Node object', pods: 'the Pod objects', events: 'the Kubernetes events of the node' },
  },
  ManifestDescription: {
    commands: ['describe manifest'],
    fields: { manifest: 'path, readAt, pods, and errors and warnings: document, line, field, message' },
  },
  PodExplanation: {
    commands: ['why'],
    fields: {
      uid: 'of the pod',
      state: 'waiting, failed, ending, ended, unready or ready',
      text: 'one paragraph for people',
      notice: 'that manifests have other pods with its name or UID, which are not run',
      message: 'the message that says so: id, type, source, time',
    },
  },
  ResourceTypeList: {
    commands: ['api-resources'],
    fields: { items: 'name, singular, shortNames, apiVersion, namespaced, kind, about, fields (of --field-selector)' },
  },
  NodeUsage: { commands: ['top node'], fields: { node: `name, ${usage}, capacityBytes`, cores: 'of the machine' } },
  PodUsageList: { commands: ['top pods'], fields: { items: `namespace, name, ${usage}, containers: name, ${usage}` } },
  NodePressure: {
    commands: ['pressure'],
    fields: {
      signals: 'signal, available and capacity (bytes, inodes or processes), readAt, perSecond: how it changes',
      thresholds:
        'signal, value, amount, graceSeconds, minimumReclaim, since: below it since, secondsLeft: at the present change',
      conditions: 'what the node is short of',
      transitionSeconds: 'how long a condition lasts after its last reason',
      ranking: 'signal, pods in the order in which they go: ref, critical, exceeds, priority, used, requested; leftOut',
    },
  },
  PodTimeline: {
    commands: ['trace pod'],
    fields: {
      pod: `${names}, times, phase, startMs, stopMs`,
      messages: 'its messages and their causes',
      spans: 'spans of work',
      paths: 'the critical paths of its last start and stop',
      services: 'the services with messages, in the order in which they are involved',
    },
  },
  Comparison: {
    commands: ['diff'],
    fields: {
      what: 'start or stop',
      left: 'the first side: recording, pod, number of pods, ms',
      right: 'the second side',
      steps: 'step, service, left and right (ms), verdict',
    },
  },
  RecordingList: {
    commands: ['record list', 'record start', 'record stop', 'record import'],
    fields: { items: 'name, node, state, messages, bytes, began, ended, completeness' },
  },
  RecordingFile: {
    commands: ['record export', 'record delete'],
    fields: { name: 'of the recording', file: 'that was written; missing after a deletion' },
  },
  ReplayReport: {
    commands: ['replay'],
    fields: { items: 'one life of an instance each: instance, epoch, inputs, equal, difference, ...' },
  },
  Graph: {
    commands: ['graph'],
    fields: { services: 'by name: about, the subjects that it writes and reads, and the process that it shares' },
  },
  Identities: {
    commands: ['identities'],
    fields: { config: 'file for nats-server', identities: 'folder with the keys', nodes: 'that the server admits' },
  },
  RestartedInstances: { commands: ['restart'], fields: { items: 'instance, seconds until it was ready again' } },
  ServiceInstances: { commands: ['scale'], fields: { service: 'its name', instances: 'that own the pods now' } },
  ActiveFault: {
    commands: ['fault drop', 'fault delay', 'fault duplicate', 'fault reorder'],
    fields: {
      rule: 'the rule',
      since: 'ms since 1970',
      ends: 'ms since 1970, if it does',
      until: 'when it expires by itself',
    },
  },
  ActiveFaultList: { commands: ['fault list'], fields: { items: 'rule, since, ends, until' } },
  ClearedFaults: { commands: ['fault clear'], fields: { cleared: 'names of rules and pauses' } },
  DisturbedInstances: {
    commands: ['fault pause', 'fault kill', 'fault restart'],
    fields: { what: 'was done', instances: 'to which it was done' },
  },
  MachineReport: {
    commands: ['doctor'],
    fields: {
      isHealthy: 'whether there is no problem; else the exit code is 1',
      items: 'check, verdict (ok, warning, problem), message, fix',
    },
  },
  Machine: {
    commands: ['topology machine'],
    fields: {
      sockets: 'id, cpus (a list such as 0-3,8)',
      nodes: 'NUMA nodes: id, cpus, memory (bytes), distances to each node, hugePages: size (bytes), count',
      cores: 'lists of CPUs that share a core; others are cores of their own',
      caches: 'last-level caches that a part of a node shares: id, cpus',
    },
  },
  NodeTopology: {
    commands: ['topology show'],
    fields: {
      machine: 'as in Machine, with the lists offline and isolated',
      policies: 'of the managers: cpu, memory, topology, scope',
      reserved: 'CPUs that no container has for itself; missing with the CPU policy none',
      shared: 'CPUs that no container has for itself now; missing with the CPU policy none',
      memory: 'of NUMA nodes: node, resource, allocatable, free (bytes)',
      containers: 'with something for themselves: uid, pod, name, cpus, memory: nodes, resource, bytes',
      devices: 'resource, id, healthy, numaNodes, owners: uid, pod, container',
      claims: 'devices of resource claims: claim, driver, pool, device, health, healthMessage, uid, pod',
    },
  },
  AllocationTrial: {
    commands: ['topology try'],
    fields: {
      admitted: 'whether the pod is admitted; else the exit code is 1',
      reason: 'of its refusal, as in status.reason',
      message: 'of its refusal, as in status.message',
      cpus: 'that the container has for itself; with --pod those of all containers and of the pod',
      cpuNodes: 'NUMA nodes of these',
      memoryNodes: 'NUMA nodes of its memory',
      reserved: 'CPUs that no container has for itself',
      shared: 'CPUs for all other containers, with the reserved ones',
      qosClass: 'with --pod: of the pod',
      pod: 'with --pod, where the pod has them as a whole: cpus, cpuNodes, memoryNodes',
      containers: 'with --pod: name, cpus, sharing (who else runs on them: nobody, pod or node), cpuNodes, memoryNodes',
    },
  },
  AllocationRefusal: {
    commands: ['topology why'],
    fields: {
      uid: 'of the pod',
      reason: 'of its refusal, as in status.reason',
      message: 'of its refusal, as in status.message',
      by: 'the manager that refused: topology, cpu or memory; missing: a device plugin',
      merge:
        'with a topology policy: policy, container (missing: the pod), resources: resource, hints (missing: any): nodes, preferred; nodes: that suit best, preferred',
    },
  },
  ImageList: { commands: ['image ls'], fields: { items: 'id, names, digests, sizeBytes' } },
  ImageDescription: {
    commands: ['image inspect'],
    fields: {
      id: 'digest of the configuration',
      names: 'with tags',
      digests: 'names with the digest of the manifest',
      sizeBytes: 'of the content as it was fetched',
      spec: 'platform and configuration, as OCI has them; missing where the runtime does not report it',
    },
  },
  LoadedImages: { commands: ['image load'], fields: { names: 'of the images', bytes: 'size of the archive' } },
  PulledImage: {
    commands: ['image pull'],
    fields: { name: 'of the image', id: 'digest of the configuration', bytes: 'its size', seconds: 'of the pull' },
  },
  RemovedImages: { commands: ['image rm'], fields: { names: 'that were removed' } },
  ForwardedPorts: {
    commands: ['port-forward'],
    fields: { items: 'address and port, where this machine listens, and remote: the port of the pod' },
  },
  ObservatoryAddress: {
    commands: ['observatory'],
    fields: { address: 'of the page, with the token that it asks for; served until the command is ended' },
  },
  BugReport: { commands: ['bug-report'], fields: { file: 'that was written', notes: 'what could not be collected' } },
  Version: {
    commands: ['version'],
    fields: { client: 'kubus, kubernetes, nodeJs', node: 'services, nats, runtime; missing when it is not running' },
  },
} as const satisfies Readonly<Record<string, Described>>;

/** The commands that print Kubernetes objects, or messages, instead. */
export const objectCommands = ['get', 'events', 'up', 'tail'] as const;

const OF_PROGRAM = 'what it prints is the output of the program that it runs';

/** The commands without a document, by their path, and why. */
export const withoutDocument: Readonly<Record<string, string>> = {
  logs: 'a log is printed as the container wrote it',
  exec: OF_PROGRAM,
  attach: 'what it prints is the output of the container',
  inside: OF_PROGRAM,
  debug: OF_PROGRAM,
  replace: OF_PROGRAM,
  'experiment run': 'the document is report.json in the folder of --output',
  completion: 'what it prints is a script for a shell',
  kubectl: 'it passes all options to kubectl, which has -o itself',
  kubeconfig: 'what it prints is a path for the variable KUBECONFIG',
  kubelet: 'it has the flags of the kubelet, whose output is a log',
  test: 'what it prints is the output of the tests',
  bench: '--json FILE writes its figures',
};

type Kind = keyof typeof documents;
type Fields<K extends Kind> = { readonly [Field in keyof (typeof documents)[K]['fields']]: unknown };

/** Prints a document of Kubus; its kind and fields are described above. */
export function printKubusDocument<K extends Kind>(kind: K, fields: Fields<K>, format: 'json' | 'yaml'): void {
  printDocument({ apiVersion: DOCUMENTS, kind, ...fields }, format);
}
