import {
  type JsonObject,
  type KubeObject,
  type UsageResource,
  apiVersionOf,
  asText,
  fieldSelector,
  labelSelector,
  methodNotAllowed,
  noSuchPath,
  nodeMetrics,
  nodeUsage,
  notFound,
  podMetrics,
  podUsage,
} from '@kubus/kube-objects';
import type { NodeUsages, UsagePair } from './node-usages.ts';
import type { Registry } from './registry.ts';
import type { RequestInfo } from './request-info.ts';

interface Parts {
  readonly registry: Registry;
  readonly usages: NodeUsages;
}

/**
 * Answers a request for NodeMetrics or PodMetrics. What is not known, as of pods that have just started, is left out of lists. Source:
 * metrics-server, pkg/api.
 *
 * @throws StatusError 400 for a selector; 404; 405.
 */
export async function answerUsage(resource: UsageResource, info: RequestInfo, parts: Parts): Promise<JsonObject> {
  const { verb, name, subresource } = info;
  if (subresource !== '') throw noSuchPath();
  if (verb !== 'get' && verb !== 'list') throw methodNotAllowed();
  const items = await (resource.kind === 'PodMetrics' ? podItems : nodeItems)(selected(resource, info, parts), parts);
  const [first] = items;
  if (verb === 'list') {
    return { ...typeOf(`${resource.kind}List`, resource), metadata: {}, items };
  }
  if (first !== undefined) return { ...typeOf(resource.kind, resource), ...first };
  const subject = { ...resource, plural: resource.kind.toLowerCase() };
  throw notFound(subject, info.namespace === '' ? name : `${info.namespace}/${name}`);
}

const typeOf = (kind: string, resource: UsageResource) => ({ kind, apiVersion: apiVersionOf(resource) });

/** The stored objects that a request asks about, by namespace and name. */
function selected(
  { plural }: UsageResource,
  { query, name, namespace }: RequestInfo,
  { registry }: Parts,
): readonly KubeObject[] {
  const fields = fieldSelector(query.get('fieldSelector') ?? '', []);
  const labels = labelSelector(query.get('labelSelector') ?? '');
  return registry.store
    .list(plural)
    .filter(
      (object) =>
        (name === '' || object.metadata.name === name) &&
        (namespace === '' || object.metadata.namespace === namespace) &&
        fields(object) &&
        labels(object),
    );
}

async function nodeItems(nodes: readonly KubeObject[], { registry, usages }: Parts): Promise<JsonObject[]> {
  const pairs = await usages.of(nodes.map(({ metadata }) => metadata.name));
  return nodes.flatMap((node) => {
    const pair = pairs.get(node.metadata.name);
    const usage = pair && nodeUsage(pair.before, pair.now);
    return usage === undefined ? [] : [nodeMetrics(node, usage, registry.now())];
  });
}

async function podItems(pods: readonly KubeObject[], { registry, usages }: Parts): Promise<JsonObject[]> {
  const running = pods.filter(({ status }) => status?.['phase'] === 'Running');
  const pairs = await usages.of([...new Set(running.map(nodeOf))]);
  return running.flatMap((pod) => {
    const usage = usageOf(pod, pairs.get(nodeOf(pod)));
    return usage === undefined ? [] : [podMetrics(pod, usage, registry.now())];
  });
}

const nodeOf = ({ spec }: KubeObject) => asText(spec?.['nodeName']);

const usageOf = ({ metadata }: KubeObject, pair: UsagePair | undefined) =>
  pair && podUsage(pair.before, pair.now, `${metadata.namespace}/${metadata.name}`);
