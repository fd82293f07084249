import {
  apiVersionOf,
  badRequest,
  expired,
  failure,
  type FieldProblem,
  fieldSelector,
  invalid,
  type JsonObject,
  type KubeObject,
  labelSelector,
  type Resource,
  type Selector,
  shownAs,
  tableOf,
  tooLargeVersion,
} from '@kubus/kube-objects';
import type { RequestInfo } from './request-info.ts';
import type { Store } from './store.ts';

const CONTINUE_EXPIRED =
  'The provided continue parameter is too old to display a consistent list result. You can start a new list without the continue parameter.';

/** The selection of a list or a watch. @throws StatusError 400 for a selector that cannot be read. */
export function selectorOf(resource: Resource, { namespace, query, name }: RequestInfo): Selector {
  const fields = fieldSelector(query.get('fieldSelector') ?? '', resource.selectable ?? []);
  const labels = labelSelector(query.get('labelSelector') ?? '');
  return (object) =>
    (namespace === '' || object.metadata.namespace === namespace) &&
    (name === '' || object.metadata.name === name) &&
    fields(object) &&
    labels(object);
}

/**
 * The version that a list or watch names; undefined: any.
 *
 * @throws StatusError 400, or 500 for a watch, as in the reference.
 */
export function versionOf({ query, verb }: RequestInfo): number | undefined {
  const text = query.get('resourceVersion') ?? '';
  if (text === '') return undefined;
  if (/^\d+$/.test(text)) return Number(text);
  const message = `resourceVersion: Invalid value: "${text}": strconv.ParseUint: parsing "${text}": invalid syntax`;
  throw verb === 'watch' ? failure(500, '', message) : badRequest(`invalid resource version: ${message}`);
}

/**
 * Validates the version options of a list or watch. Source: ValidateListOptions of apimachinery, KEP-3157.
 *
 * @throws StatusError 422.
 */
export function checkVersionMatch({ query, verb }: RequestInfo): void {
  const field = 'resourceVersionMatch';
  const match = query.get(field) ?? '';
  const version = query.get('resourceVersion') ?? '';
  const initial = query.get('sendInitialEvents') !== null;
  const watch = verb === 'watch';
  const problems: FieldProblem[] = [];
  const forbid = (message: string, of = field) =>
    problems.push({ field: of, type: 'FieldValueForbidden', message: `Forbidden: ${message}` });
  const expect = (...allowed: string[]) => {
    const supported = allowed.map((one) => `"${one}"`).join(', ');
    const message = `Unsupported value: "${match}": supported values: ${supported}`;
    if (!allowed.includes(match)) problems.push({ field, type: 'FieldValueNotSupported', message });
  };
  if (watch && initial) {
    if (match !== 'NotOlderThan') forbid('sendInitialEvents requires setting resourceVersionMatch to NotOlderThan');
    if (match !== '') expect('NotOlderThan');
  } else if (watch && match !== '') {
    forbid('resourceVersionMatch is forbidden for watch unless sendInitialEvents is provided');
  } else if (!watch && match !== '') {
    if (version === '') forbid('resourceVersionMatch is forbidden unless resourceVersion is provided');
    if (query.has('continue')) forbid('resourceVersionMatch is forbidden when continue is provided');
    expect('Exact', 'NotOlderThan', '');
    if (match === 'Exact' && version === '0') {
      forbid('resourceVersionMatch "exact" is forbidden for resourceVersion "0"');
    }
  }
  if (!watch && initial) forbid('sendInitialEvents is forbidden for list', 'sendInitialEvents');
  const subject = { group: 'meta.k8s.io', plural: 'listoptions', kind: 'ListOptions' };
  if (problems.length > 0) throw invalid(subject, '', problems);
}

/**
 * The requested list, in pages if the request has a limit.
 *
 * @throws StatusError 400; 410 for a page or an exact version whose history was dropped; 504 for a future version.
 */
export function listObjects(store: Store, resource: Resource, info: RequestInfo): JsonObject {
  const { query } = info;
  const limit = Number(query.get('limit') ?? 0);
  const page = pageOf(query.get('continue') ?? '');
  checkVersionMatch(info);
  const asked = versionOf(info);
  if (asked !== undefined && asked > store.version) throw tooLargeVersion(asked, store.version);
  const exact = query.get('resourceVersionMatch') === 'Exact' || (limit > 0 && asked !== 0);
  const version = page?.version ?? (exact ? asked : undefined) ?? store.version;
  const all = store.listAt(tableOf(resource), version);
  if (all === undefined) throw expired(page ? CONTINUE_EXPIRED : tooOld(version, store.version));
  const shown = resource.view === undefined ? all : all.map((object) => shownAs(resource, object));
  const matching = shown.filter(selectorOf(resource, info)).slice(page?.from ?? 0);
  const items = limit > 0 ? matching.slice(0, limit) : matching;
  const remaining = matching.length - items.length;
  const next = { version, from: (page?.from ?? 0) + items.length };
  return {
    kind: `${resource.kind}List`,
    apiVersion: apiVersionOf(resource),
    metadata: {
      resourceVersion: String(version),
      ...(remaining > 0 && { continue: Buffer.from(JSON.stringify(next)).toString('base64url') }),
      ...(remaining > 0 && { remainingItemCount: remaining }),
    },
    items: items.map(asItem),
  };
}

/** Items of typed lists do not repeat their type. */
function asItem({ kind: _kind, apiVersion: _version, ...object }: KubeObject): JsonObject {
  return object;
}

export function tooOld(version: number, current: number): string {
  return `too old resource version: ${version} (${current})`;
}

interface Page {
  readonly version: number;
  readonly from: number;
}

function pageOf(token: string): Page | undefined {
  if (token === '') return undefined;
  const [, version, from] = /^\{"version":(\d+),"from":(\d+)\}$/.exec(Buffer.from(token, 'base64url').toString()) ?? [];
  if (version === undefined)
    throw badRequest('invalid continue token: continue key is not valid: it was not given out by this server');
  return { version: Number(version), from: Number(from) };
}
