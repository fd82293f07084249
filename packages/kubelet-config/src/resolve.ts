import { parseDocuments } from '@kubus/pod-manifest/documents';
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
import { validate } from './validate.ts';
import { API_VERSION, KIND, decode, encode, fieldsByPath, toConfiguration, withDefaults } from './values.ts';

/** A file as it was read. */
export interface ConfigFile {
  /** Absolute. */
  readonly path: string;
  readonly text: string;
}

/** What the rules need to know of the machine. */
export interface Machine {
  readonly cgroupVersion: 1 | 2;
  /** Whether it has swap that is in use. */
  readonly swap: boolean;
}

export interface Sources {
  readonly commandLine: CommandLine;
  /** The file of `--config`. */
  readonly file?: ConfigFile | undefined;
  /** The `*.conf` files of `--config-dir`, in lexical order. */
  readonly dropIns: readonly ConfigFile[];
  readonly machine: Machine;
}

/** How a node is to run. */
export interface KubeletSettings {
  readonly config: KubeletConfiguration;
  readonly flags: KubeletFlags;
  /** The merged configuration as `/configz` shows it, without secrets. */
  readonly document: JsonObject;
  /** The flags as `/flagz` shows them, by name, without secrets. */
  readonly flagz: Readonly<Record<string, string>>;
  /** Told once at the start. */
  readonly notes: readonly Note[];
}

/** Of `evictionHard`, where a file says nothing about it (pkg/kubelet/eviction, Linux). */
const evictionDefaults = {
  'imagefs.available': '15%',
  'imagefs.inodesFree': '5%',
  'memory.available': '100Mi',
  'nodefs.available': '10%',
  'nodefs.inodesFree': '5%',
};

/** What counts without a file, from the time when flags were all there was. */
const legacyDefaults: ReadonlyMap<string, unknown> = new Map<string, unknown>([
  ['authentication.anonymous.enabled', true],
  ['authentication.webhook.enabled', false],
  ['authorization.mode', 'AlwaysAllow'],
  ['readOnlyPort', 10_255],
]);

/** Paths in a file are relative to it (KubeletConfigurationPathRefs of the reference). */
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
 * Merges defaults, file, drop-ins and flags, each over those before it (kubelet behaviour 1.26), and checks the result.
 *
 * @throws KubeletConfigError that names file, field or flag.
 */
export function resolve({ commandLine, file, dropIns, machine }: Sources): KubeletSettings {
  const flags = flagsOf(commandLine);
  inContext('failed to set feature gates from initial flags-based config', () => gatesOf(commandLine.fields));
  const problem = labelProblem(flags['node-labels']);
  if (problem !== undefined) throw configError(`failed to validate kubelet flags: ${problem}`);
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
  const notes = [...flagNotes(commandLine), ...gates.notes, ...fieldNotes(values)];
  return { config, flags, document: encode(withoutSecrets(values)), flagz: shownFlags(commandLine), notes };
}

/** Headers may carry credentials: what people are shown has their names alone. */
function withoutSecrets(values: ReadonlyMap<string, unknown>): ReadonlyMap<string, unknown> {
  const headers = object(values.get('staticPodURLHeader'));
  const masked = Object.fromEntries(Object.keys(headers).map((name) => [name, ['<masked>']]));
  return new Map(values).set('staticPodURLHeader', masked);
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

/** A relative path as seen from a file's folder, without `.` and `..`. */
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
        // What it says alone is checked as well, so that an error names the file it is in.
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

function refusals(values: ReadonlyMap<string, unknown>, commandLine: CommandLine): string[] {
  const fields = [...fieldsByPath].map(([path, field]) =>
    // The same socket by its name is no second service.
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
    // Without a word of anybody, the file's default of this one is not the field's.
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
    return [{ setting: `--${name}`, value: '', text: `is deprecated: set ${path} in the file of --config` }];
  });
  return [...unused, ...deprecated];
}
