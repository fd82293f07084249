import { type NodeShutdown, nodeShutdown } from './node-shutdown.ts';
import { formatGoDuration } from '@kubus/pod';
import { parseDocuments } from '@kubus/pod-source/documents';
import { toError } from '@kubus/ports';
import type { CommandLine } from './command-line.ts';
import { configError } from './errors.ts';
import type { KubeletConfiguration } from './field-table.ts';
import { shownFlags } from './flagz.ts';
import { type KubeletFlags, configFlags, lastingFlags, otherFlags } from './flag-table.ts';
import { GateSettings } from './gates.ts';
import { type JsonObject, isObject, mergePatch } from './merge-patch.ts';
import { labelProblem } from './node-labels.ts';
import { type Note, refusal, supportNote } from './notes.ts';
import { type PodMemory, podMemory, podMemoryNotes } from './pod-memory.ts';
import { validate } from './validate.ts';
import { API_VERSION, KIND, decode, encode, fieldsByPath, toConfiguration, withDefaults } from './values.ts';

/** The content of a configuration file. */
export interface ConfigFile {
  /** Absolute. */
  readonly path: string;
  readonly text: string;
}

/** The properties of the machine on which the rules depend. */
export interface Machine {
  readonly cgroupVersion: 1 | 2;
  /** Whether it has active swap. */
  readonly swap: boolean;
  /** Release of its kernel, as of uname(2). */
  readonly kernel: string;
}

export interface Sources {
  readonly commandLine: CommandLine;
  /** The file of `--config`. */
  readonly file?: ConfigFile | undefined;
  /** The `*.conf` files of `--config-dir`, in lexical order. */
  readonly dropIns: readonly ConfigFile[];
  readonly machine: Machine;
}

/** The settings of a node. */
export interface KubeletSettings {
  readonly config: KubeletConfiguration;
  readonly flags: KubeletFlags;
  /** Whether a file or a flag names the cgroup driver. */
  readonly namesCgroupDriver: boolean;
  /** What happens when the machine shuts down; undefined: nothing before it. */
  readonly shutdown: NodeShutdown | undefined;
  /** How pods share the machine's memory. */
  readonly podMemory: PodMemory;
  /** The merged configuration as shown by `/configz`, without secrets. */
  readonly document: JsonObject;
  /** The flags as shown by `/flagz`, by name, without secrets. */
  readonly flagz: Readonly<Record<string, string>>;
  /** Logged once at startup. */
  readonly notes: readonly Note[];
}

/** The defaults of `evictionHard`, where a file does not set it (pkg/kubelet/eviction, Linux). */
const evictionDefaults = {
  'imagefs.available': '15%',
  'imagefs.inodesFree': '5%',
  'memory.available': '100Mi',
  'nodefs.available': '10%',
  'nodefs.inodesFree': '5%',
};

/** The defaults without a file, from the time when there were only flags. */
const legacyDefaults: ReadonlyMap<string, unknown> = new Map<string, unknown>([
  ['authentication.anonymous.enabled', true],
  ['authentication.webhook.enabled', false],
  ['authorization.mode', 'AlwaysAllow'],
  ['readOnlyPort', 10_255],
]);

/** Paths in a file are relative to the file (KubeletConfigurationPathRefs of the reference). */
const pathFields = [
  'staticPodPath',
  'authentication.x509.clientCAFile',
  'tlsCertFile',
  'tlsPrivateKeyFile',
  'resolvConf',
  'volumePluginDir',
  'podLogsDir',
];

/**
 * Merges defaults, file, drop-ins and flags, each of which overrides those before it (behaviour:configuration), and checks the result.
 *
 * @throws KubeletConfigError, naming the file, field or flag.
 */
export function resolve({ commandLine, file, dropIns, machine }: Sources): KubeletSettings {
  const flags = flagsOf(commandLine);
  inContext('failed to set feature gates from initial flags-based config', () => gatesOf(commandLine.fields));
  const problem = labelProblem(flags['node-labels']);
  if (problem !== undefined) throw configError(`failed to validate kubelet flags: ${problem}`);
  const minAge = flags['minimum-container-ttl-duration'];
  if (minAge < 0) throw configError(`invalid minimum garbage collection age: ${formatGoDuration(minAge)}`);
  let values = file === undefined ? withDefaults(legacyDefaults) : fromFile(file);
  if (dropIns.length > 0) values = withDropIns(values, dropIns);
  for (const [path, value] of commandLine.fields) {
    values.set(path, path === 'featureGates' ? { ...object(values.get(path)), ...object(value) } : value);
  }
  const config = toConfiguration(values);
  const gates = inContext('failed to set feature gates from initial flags-based config', () => gatesOf(values));
  const problems = [...validate(config, gates), ...machineProblems(config, machine), ...refusals(values, commandLine)];
  if (problems.length > 0) {
    const all = problems.length === 1 ? problems[0] : `[${problems.join(', ')}]`;
    throw configError(`failed to validate kubelet configuration, error: ${all ?? ''}`);
  }
  const notes = [
    ...flagNotes(commandLine),
    ...gates.notes,
    ...fieldNotes(values),
    ...podMemoryNotes(config, gates, machine),
    ...cgroupNotes(config),
  ];
  const files = [...(file === undefined ? [] : [file]), ...dropIns];
  const namesCgroupDriver =
    commandLine.fields.has('cgroupDriver') || files.some((one) => 'cgroupDriver' in object(documentOf(one)));
  return {
    config,
    flags,
    namesCgroupDriver,
    shutdown: nodeShutdown(config, gates),
    podMemory: podMemory(config, gates, machine),
    document: encode(shown(values, flags['cert-dir'])),
    flagz: shownFlags(commandLine),
    notes,
  };
}

/**
 * What people are shown: only the names of headers, which may contain credentials; and the files of the serving certificate, also where
 * they are the node's own (behaviour:configuration).
 */
function shown(values: ReadonlyMap<string, unknown>, certDir: string): ReadonlyMap<string, unknown> {
  const headers = object(values.get('staticPodURLHeader'));
  const masked = Object.fromEntries(Object.keys(headers).map((name) => [name, ['<masked>']]));
  const result = new Map(values).set('staticPodURLHeader', masked);
  const own = ['serverTLSBootstrap', 'tlsCertFile', 'tlsPrivateKeyFile'].every((path) =>
    [false, ''].includes(values.get(path) as boolean | string),
  );
  if (own) result.set('tlsCertFile', `${certDir}/kubelet.crt`).set('tlsPrivateKeyFile', `${certDir}/kubelet.key`);
  return result;
}

function flagsOf({ flags }: CommandLine): KubeletFlags {
  const all = [...otherFlags].map(([name, field]) => [name, flags.get(name) ?? field.default]);
  return Object.fromEntries(all) as KubeletFlags;
}

function gatesOf(values: ReadonlyMap<string, unknown>): GateSettings {
  return new GateSettings(object(values.get('featureGates')) as Readonly<Record<string, boolean>>);
}

function object(value: unknown): Readonly<Record<string, unknown>> {
  return isObject(value) ? value : {};
}

function inContext<T>(context: string, action: () => T): T {
  try {
    return action();
  } catch (error) {
    throw configError(`${context}: ${toError(error).message}`, error);
  }
}

function fromFile(file: ConfigFile): Map<string, unknown> {
  return inContext(`failed to load kubelet config file, path: ${file.path}, error`, () => {
    const set = decode(documentOf(file));
    for (const path of pathFields) {
      const value = set.get(path);
      if (typeof value === 'string' && value !== '' && !value.startsWith('/')) set.set(path, beside(file.path, value));
    }
    const own = set.get('evictionHard');
    if (own === undefined) set.set('evictionHard', evictionDefaults);
    else if (set.get('mergeDefaultEvictionSettings') === true) {
      set.set('evictionHard', { ...evictionDefaults, ...object(own) });
    }
    return withDefaults(set);
  });
}

/** A relative path, resolved from a file's folder, without `.` and `..`. */
function beside(file: string, path: string): string {
  const parts: string[] = [];
  for (const part of [...file.split('/').slice(0, -1), ...path.split('/')]) {
    if (part === '..') parts.pop();
    else if (part !== '.' && part !== '') parts.push(part);
  }
  return `/${parts.join('/')}`;
}

function withDropIns(values: ReadonlyMap<string, unknown>, dropIns: readonly ConfigFile[]): Map<string, unknown> {
  let document: unknown = encode(values);
  for (const dropIn of dropIns) {
    inContext(
      `failed to merge kubelet configs: failed to load kubelet dropin file, path: ${dropIn.path}, error`,
      () => {
        const patch = documentOf(dropIn);
        // The drop-in alone is checked as well, so that an error names its file.
        decode(mergePatch({}, patch));
        document = mergePatch(document, patch);
      },
    );
  }
  return withDefaults(decode(document));
}

function documentOf({ path, text }: ConfigFile): unknown {
  const { documents, problems } = parseDocuments(text);
  const [problem] = problems;
  if (problem !== undefined) throw configError(`line ${problem.line}: ${problem.message}`);
  const [document, second] = documents;
  if (document === undefined) throw configError(`kubelet config file "${path}" was empty`);
  if (second !== undefined) throw configError('there is more than one document in the file');
  const { apiVersion, kind } = object(document.value);
  if (typeof kind !== 'string' || kind === '') throw configError("Object 'Kind' is missing");
  if (typeof apiVersion !== 'string' || apiVersion === '') throw configError("Object 'apiVersion' is missing");
  if (kind !== KIND || apiVersion !== API_VERSION) {
    throw configError(
      `no kind "${kind}" is registered for version "${apiVersion}": it must be a ${KIND} of ${API_VERSION}`,
    );
  }
  return document.value;
}

function machineProblems(config: KubeletConfiguration, machine: Machine): string[] {
  const isV1 = machine.cgroupVersion === 1;
  return [
    ...(config.failCgroupV1 && isV1
      ? [
          'kubelet is configured to not run on a host using cgroup v1. cgroup v1 support is unsupported and will be removed in a future release (set failCgroupV1 to false)',
        ]
      : []),
    ...(isV1 && config.singleProcessOOMKill === false
      ? ['invalid configuration: singleProcessOOMKill must not be explicitly set to false when using cgroup v1']
      : []),
    ...(config.failSwapOn && machine.swap
      ? ['running with swap on is not supported, please disable swap or set --fail-swap-on flag to false']
      : []),
  ];
}

/** What the reference says about cgroups that are configured. */
function cgroupNotes({ kubeletCgroups: value, kubeReservedCgroup }: KubeletConfiguration): Note[] {
  if (value === '' || kubeReservedCgroup === '' || value.startsWith(kubeReservedCgroup)) return [];
  return [{ setting: 'kubeletCgroups', value, text: 'is not within kubeReservedCgroup' }];
}

function refusals(values: ReadonlyMap<string, unknown>, commandLine: CommandLine): string[] {
  const fields = [...fieldsByPath].map(([path, field]) =>
    // The same socket under another name is not a second service.
    path === 'imageServiceEndpoint' && values.get(path) === values.get('containerRuntimeEndpoint')
      ? undefined
      : refusal(path, field, values.get(path)),
  );
  const flags = [...commandLine.flags].map(([name, value]) => {
    const field = otherFlags.get(name);
    return field && refusal(`--${name}`, field, value);
  });
  return [...fields, ...flags].filter((text) => text !== undefined);
}

function fieldNotes(values: ReadonlyMap<string, unknown>): Note[] {
  return [...fieldsByPath].flatMap(([path, field]) => {
    // Where nothing sets it, the default of a file differs from that of the field.
    const initial = path === 'evictionHard' ? evictionDefaults : field.default;
    return supportNote(path, { ...field, default: initial }, values.get(path)) ?? [];
  });
}

function flagNotes({ flags, given }: CommandLine): Note[] {
  const unused = [...flags].flatMap(([name, value]) => {
    const field = otherFlags.get(name);
    return (field && supportNote(`--${name}`, field, value)) ?? [];
  });
  const deprecated = [...given.keys()].flatMap((name): Note[] => {
    const path = configFlags[name];
    if (path === undefined || lastingFlags.has(name)) return [];
    return [{ setting: `--${name}`, value: '', text: `is deprecated: set ${path} in the --config file` }];
  });
  return [...unused, ...deprecated];
}
