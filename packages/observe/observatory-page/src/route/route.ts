export const views = [
  'overview',
  'pods',
  'messages',
  'map',
  'latency',
  'compare',
  'topology',
  'pressure',
  'recordings',
  'faults',
  'contract',
] as const;
export type View = (typeof views)[number];

/** The location of the page: `#/<recording>/<view>[/<uid of a pod>]?<parameters>`. */
export interface Route {
  readonly recording: string;
  readonly view: View;
  /** Of the view `pods`: absent for the list of pods. */
  readonly pod?: string;
  readonly query: Readonly<Record<string, string>>;
}

export function parseRoute(hash: string, home: string): Route {
  const [path = '', search = ''] = hash.replace(/^#?\/?/, '').split('?', 2);
  const [recording = '', view = '', pod = ''] = path.split('/').map(decode);
  const query = Object.fromEntries(new URLSearchParams(search));
  if (view === 'pods' && pod !== '') return { recording: recording || home, view, pod, query };
  return { recording: recording || home, view: views.find((one) => one === view) ?? 'overview', query };
}

export function formatRoute({ recording, view, pod, query }: Route): string {
  const path = [recording, view, ...(pod === undefined ? [] : [pod])].map(encode).join('/');
  const search = new URLSearchParams(query).toString();
  return `#/${path}${search === '' ? '' : `?${search}`}`;
}

/** Undefined removes a parameter. */
export function withQuery(route: Route, changes: Readonly<Record<string, string | undefined>>): Route {
  const all = Object.entries({ ...route.query, ...changes });
  return {
    ...route,
    query: Object.fromEntries(all.filter((entry): entry is [string, string] => (entry[1] ?? '') !== '')),
  };
}

function encode(segment: string): string {
  return encodeURIComponent(segment).replaceAll('%7E', '~');
}

/** A manually typed address may contain a `%` that is not an escape. */
function decode(segment: string): string {
  try {
    return decodeURIComponent(segment);
  } catch {
    return segment;
  }
}
