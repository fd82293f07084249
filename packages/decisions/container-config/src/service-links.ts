import type { Pod, ServiceAddress } from '@kubus/contracts';

/** The namespace of the API server's own service. */
const DEFAULT_NAMESPACE = 'default';

/** Whether a pod requests variables for its namespace's services. */
export function wantsServiceLinks({ spec }: Pick<Pod, 'spec'>): boolean {
  return spec.enableServiceLinks !== false;
}

/** The namespaces of the services for which a pod has variables, see {@link serviceVariables}. */
export function serviceNamespaces(pod: Pick<Pod, 'metadata' | 'spec'>): readonly string[] {
  const { namespace } = pod.metadata;
  return wantsServiceLinks(pod) && namespace !== DEFAULT_NAMESPACE
    ? [DEFAULT_NAMESPACE, namespace]
    : [DEFAULT_NAMESPACE];
}

/**
 * The variables by which a container finds services (behaviour:environment-and-dns): those of its pod's namespace, if the pod
 * requests them, and always the API server's. Ordered by service, so that equal input gives equal output.
 *
 * @param links `enableServiceLinks` of the pod
 */
export function serviceVariables(
  services: readonly ServiceAddress[],
  namespace: string,
  links: boolean,
): ReadonlyMap<string, string> {
  const chosen = new Map<string, ServiceAddress>();
  for (const service of services) {
    const own = links && service.namespace === namespace;
    const master = service.namespace === DEFAULT_NAMESPACE && service.name === 'kubernetes';
    if (own || (master && !chosen.has(service.name))) chosen.set(service.name, service);
  }
  const variables = new Map<string, string>();
  for (const name of [...chosen.keys()].sort()) {
    for (const [variable, value] of linkVariables(chosen.get(name))) variables.set(variable, value);
  }
  return variables;
}

function* linkVariables(service: ServiceAddress | undefined): Generator<[string, string]> {
  const [first] = service?.ports ?? [];
  const ip = service?.clusterIP ?? '';
  if (service === undefined || first === undefined || ip === '' || ip === 'None') return;
  const prefix = variableName(service.name);
  yield [`${prefix}_SERVICE_HOST`, ip];
  yield [`${prefix}_SERVICE_PORT`, String(first.port)];
  for (const { name, port } of service.ports) {
    if (name !== undefined && name !== '') yield [`${prefix}_SERVICE_PORT_${variableName(name)}`, String(port)];
  }
  // The older form, introduced by Docker's links.
  for (const [index, { port, protocol }] of service.ports.entries()) {
    const transport = protocol === undefined || protocol === '' ? 'TCP' : protocol;
    const url = `${transport.toLowerCase()}://${ip.includes(':') ? `[${ip}]` : ip}:${port}`;
    if (index === 0) yield [`${prefix}_PORT`, url];
    const portPrefix = `${prefix}_PORT_${port}_${transport.toUpperCase()}`;
    yield [portPrefix, url];
    yield [`${portPrefix}_PROTO`, transport.toLowerCase()];
    yield [`${portPrefix}_PORT`, String(port)];
    yield [`${portPrefix}_ADDR`, ip];
  }
}

function variableName(name: string): string {
  return name.replaceAll('-', '_').toUpperCase();
}
