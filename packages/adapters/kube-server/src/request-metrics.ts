import { type Resource, resources, tableOf } from '@kubus/kube-objects';
import { DEFAULT_BUCKETS, Distribution, type Labels, type MetricFamily, Tally } from '@kubus/metrics';
import type { RequestInfo } from './request-info.ts';
import type { Store } from './store.ts';

/** What the server counts, under the names of the reference. Labels come from what is served, so that no request adds one. */
export class RequestMetrics {
  readonly #requests = new Tally();
  readonly #durations = new Distribution(DEFAULT_BUCKETS);

  /** @param resource undefined: not about a kind that is stored. */
  done(info: RequestInfo, resource: Resource | undefined, code: number, seconds: number): void {
    const labels = labelsOf(info, resource);
    this.#requests.add({ ...labels, code: String(code) });
    // A watch is as long as its client wants.
    if (info.verb !== 'watch') this.#durations.observe(labels, seconds);
  }

  /** @param watches that are open. */
  families(store: Store, watches: number): MetricFamily[] {
    const stored = resources.map((resource) => ({
      labels: { group: resource.group, resource: resource.plural },
      value: store.list(tableOf(resource)).length,
    }));
    return [
      {
        ...{ name: 'apiserver_request_total', type: 'counter', samples: this.#requests.samples },
        help: 'Requests by verb, kind, and HTTP code of the answer.',
      },
      {
        ...{ name: 'apiserver_request_duration_seconds', type: 'histogram', series: this.#durations.series },
        help: 'How long requests take, watches apart.',
      },
      {
        ...{ name: 'apiserver_longrunning_requests', type: 'gauge' },
        help: 'Open watches.',
        samples: [{ labels: { verb: 'WATCH' }, value: watches }],
      },
      {
        ...{ name: 'apiserver_resource_objects', type: 'gauge', samples: stored },
        help: 'Stored objects by kind.',
      },
      {
        ...{ name: 'apiserver_storage_size_bytes', type: 'gauge' },
        help: 'Size of the database of the objects, in bytes.',
        samples: [{ labels: {}, value: store.sizeBytes }],
      },
    ];
  }
}

function labelsOf({ verb, subresource, namespace, name }: RequestInfo, resource: Resource | undefined): Labels {
  const { group = '', version = '', plural = '', subresources = [] } = resource ?? {};
  const [own = ''] = subresource.split('/');
  const scope = resource === undefined ? '' : name !== '' ? 'resource' : namespace !== '' ? 'namespace' : 'cluster';
  return {
    verb: verb.toUpperCase(),
    ...{ group, version, scope },
    resource: plural,
    subresource: subresources.includes(own) ? own : '',
  };
}
