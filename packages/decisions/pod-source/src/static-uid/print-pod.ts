import type { Pod } from '@kubus/contracts';
import { podTypes } from './pod-types.ts';
import { printedQuantity } from './printed-quantity.ts';

interface Field {
  readonly name: string;
  /** Its name in JSON; undefined where it is embedded. */
  readonly json: string | undefined;
  readonly type: string;
}

const structs: ReadonlyMap<string, readonly Field[]> = readTypes();
const numbers = /^u?int(8|16|32|64)?$/;

/**
 * A pod in the text form of the reference kubelet's in-memory pod for a hash: every field with its type, the pod's namespaces in its
 * security context, maps in the order of their keys, and a difference between an empty and a missing list.
 * Source: ForHash of k8s.io/utils/dump, Convert_v1_Pod_To_core_Pod of k8s.io/kubernetes/pkg/apis/core/v1.
 *
 * @param pod with its defaults, and with quantities as written
 */
export function printPod({ metadata, spec, status }: Pod): string {
  const {
    hostNetwork,
    hostPID,
    hostIPC,
    shareProcessNamespace,
    hostUsers,
    terminationGracePeriodSeconds: grace,
  } = spec;
  const namespaces = { hostNetwork, hostPID, hostIPC, shareProcessNamespace, hostUsers };
  const internal = {
    metadata,
    status,
    spec: {
      ...spec,
      securityContext: { ...spec.securityContext, ...namespaces },
      terminationGracePeriodSeconds: grace !== undefined && grace < 0 ? 1 : grace,
    },
  };
  return `(*core.Pod)${print('core.Pod', internal)}`;
}

function print(type: string, value: unknown): string {
  if (type.startsWith('*')) return value === undefined ? '<nil>' : print(type.slice(1), value);
  if (type.startsWith('[]')) return Array.isArray(value) ? printAll(type.slice(2), value) : '<nil>';
  if (type.startsWith('map[')) return printMap(value, (item) => print(type.slice(type.indexOf(']') + 1), item));
  if (type === 'core.ResourceList') return printMap(value, (item) => printedQuantity(asText(item), true));
  if (type === 'resource.Quantity') return printedQuantity(asText(value), false);
  if (type === 'intstr.IntOrString') return printIntOrString(value);
  if (type === 'v1.Time') return printTime(value);
  const fields = structs.get(type);
  if (fields !== undefined) return printStruct(fields, isObject(value) ? value : {});
  if (typeof value === 'boolean' || typeof value === 'number') return String(value);
  if (type === 'bool') return 'false';
  return numbers.test(type) ? '0' : (asText(value) ?? '');
}

function printAll(type: string, items: readonly unknown[]): string {
  return `[${items.map((item) => print(type, item)).join(' ')}]`;
}

function printMap(value: unknown, printItem: (item: unknown) => string): string {
  if (!isObject(value)) return '<nil>';
  const keys = Object.keys(value).sort(byBytes);
  return `map[${keys.map((key) => `${key}:${printItem(value[key])}`).join(' ')}]`;
}

function printStruct(fields: readonly Field[], value: Readonly<Record<string, unknown>>): string {
  const printed = fields.map(({ name, json, type }) => {
    return `${name}:(${type})${print(type, json === undefined ? value : value[json])}`;
  });
  return `{${printed.join(' ')}}`;
}

function printIntOrString(value: unknown): string {
  const [type, number, text] = typeof value === 'string' ? [1, 0, value] : [0, Number(value ?? 0), ''];
  return `{Type:(intstr.Type)${type} IntVal:(int32)${number} StrVal:(string)${text}}`;
}

function printTime(value: unknown): string {
  return `{Time:(time.Time){wall:(uint64)0 ext:(int64)${asText(value) ?? '0'} loc:(*time.Location)<nil>}}`;
}

/** The order of UTF-8 bytes. JavaScript's own comparison differs from it beyond the first 65536 characters. */
function byBytes(a: string, b: string): number {
  const [left, right] = [Array.from(a), Array.from(b)];
  const at = left.findIndex((char, i) => char !== right[i]);
  return at < 0 ? left.length - right.length : (left[at]?.codePointAt(0) ?? 0) - (right[at]?.codePointAt(0) ?? -1);
}

function asText(value: unknown): string | undefined {
  return typeof value === 'string' ? value : undefined;
}

function isObject(value: unknown): value is Readonly<Record<string, unknown>> {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}

function readTypes(): Map<string, Field[]> {
  const lines = podTypes
    .trim()
    .replace(/\n {2}/g, ' ')
    .split('\n');
  return new Map(lines.map(readStruct));
}

function readStruct(line: string): [string, Field[]] {
  const [type = '', fields = ''] = line.split(': ');
  return [type, fields.split(', ').map(readField)];
}

/** Such as `DNSPolicy=dnsPolicy core.DNSPolicy`. */
function readField(text: string): Field {
  const [names = '', type = ''] = text.split(' ');
  if (names.endsWith('!')) return { name: names.slice(0, -1), json: undefined, type };
  const [name = '', json] = names.split('=');
  return { name, json: json ?? name.charAt(0).toLowerCase() + name.slice(1), type };
}
