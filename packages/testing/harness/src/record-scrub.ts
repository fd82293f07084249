/** Values that a record must not depend on: the node's paths, and the name of the namespace. */
export interface RecordScope {
  readonly node: string;
  readonly namespace: string;
  /** The test's own folders by placeholder, such as `<root>`; the first match wins. */
  readonly folders: Readonly<Record<string, string>>;
  /** Cgroup of the node below which the reference would have its own: removed from the start of paths. */
  readonly cgroupRoot: string;
}

/** Values that differ between runs, with their placeholders. The order matters: a rule sees the result of the earlier ones. */
const replacements: readonly (readonly [RegExp, string])[] = [
  [/[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}/g, '<uuid>'],
  [/\b[0-9a-f]{64}\b/g, '<id>'],
  [/sha256:<id>/g, '<digest>'],
  [/\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d+)?Z/g, '<time>'],
  [/\b10\.88\.\d+\.\d+/g, '<podIP>'],
  [/\b10\.123\.0\.1\b/g, '<hostIP>'],
  [/in [\d.]+m?s \([\d.]+m?s including waiting\)/g, 'in <dur> (<dur> including waiting)'],
  [/Image size: \d+ bytes/g, 'Image size: <n> bytes'],
  [/containers\/([^/"]+)\/[0-9a-f]{8}\b/g, 'containers/$1/<rand>'],
  [/kube-api-access-[a-z0-9]{5}/g, 'kube-api-access-<rand>'],
  [/"(startedAt|finishedAt)":"[^"]*"/g, '"$1":"<time>"'],
  [/back-off \d+m?\d*s/g, 'back-off <dur>'],
  [/used: \d+/g, 'used: <n>'],
  [/:[0-9]{4,5}->/g, ':<port>->'],
  [/\d\d:\d\d:\d\d(\.\d+)?/g, '<clock>'],
  // The wording of the runtime of the golden records; runc 1.2 and containerd 2 word it differently.
  [
    /(unable to start container process: )(?:error during container init: )?((?:[^"\\]|\\.)*?no such file or directory)(?:: unknown)?/g,
    '$1$2: unknown',
  ],
];

/** The address that a compared node must have, as in the rules. */
export const SCRUBBED_NODE_IP = '10.123.0.1';

/** The name of the node in the golden records. */
const GOLDEN_NODE = '"node0"';

/** A copy in which everything that differs between runs is a placeholder. */
export function scrub(value: unknown, { node, namespace, folders, cgroupRoot }: RecordScope): unknown {
  let text = JSON.stringify(value).replaceAll(namespace, '<ns>').replaceAll(`"${node}"`, GOLDEN_NODE);
  for (const [placeholder, folder] of Object.entries(folders)) {
    for (const end of ['/', '"']) text = text.replaceAll(`${folder}${end}`, `${placeholder}${end}`);
  }
  text = text.replaceAll(`"${cgroupRoot}/`, '"/');
  for (const [pattern, placeholder] of replacements) text = text.replaceAll(pattern, placeholder);
  return JSON.parse(text) as unknown;
}

/** A copy without the members of those names, at every depth. */
export function without(value: unknown, names: readonly string[]): unknown {
  if (Array.isArray(value)) return value.map((item) => without(item, names));
  if (typeof value !== 'object' || value === null) return value;
  const kept = Object.entries(value).filter(([name]) => !names.includes(name));
  return Object.fromEntries(kept.map(([name, member]) => [name, without(member, names)]));
}
