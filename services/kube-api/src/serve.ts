import { join } from 'node:path';
import type { KubeObject } from '@kubus/kube-objects';
import {
  CERTIFICATE_MS,
  KubeServer,
  NAMESPACE_GRACE_MS,
  SealedObjects,
  SqliteStore,
  apiAuthorizer,
  createNamespaces,
  isKubeletRequest,
  openAuthority,
  openObjectsKey,
  openTokenKey,
  startDefaults,
  startNamespaces,
  startOldEvents,
  startScheduler,
  startSigner,
  startVolumes,
} from '@kubus/kube-server';
import { ConfigError, type RunningService, type ServiceContext, tlsDoor } from '@kubus/service-kit';
import { startDns } from './dns.ts';

/** The loopback of the node's network namespace: clients of the machine come through a relay, pods to the address of a Service. */
const ADDRESS = '127.0.0.1';
/** Of the Service `kubernetes`. */
const SERVICE_PORT = 443;
/** The names of the server. */
const namesIn = (domain: string) => [
  'localhost',
  'kubernetes',
  'kubernetes.default',
  'kubernetes.default.svc',
  ...(domain === '' ? [] : [`kubernetes.default.svc.${domain}`]),
];
/** How often watches that allow it get a bookmark, in milliseconds, as in the reference. */
const BOOKMARK_MS = 60_000;

/** Serves the API until it is stopped. Throws {@link ConfigError} when the node is to have none. */
export async function serve(context: ServiceContext): Promise<RunningService> {
  const { config, clock, logger, liveness, metrics, stateDir } = context;
  const { kubeApi: settings, node } = config;
  if (settings === undefined) throw new ConfigError('bad-config', 'kubeApi: is missing; there is nothing to serve');
  const { port, serviceAddress, dnsAddress } = settings;
  const { domain, resolvConf } = config.dns;
  const authority = await openAuthority(stateDir);
  const tokenKey = await openTokenKey(stateDir);
  const names = {
    dnsNames: namesIn(domain),
    addresses: [ADDRESS, ...(serviceAddress === undefined ? [] : [serviceAddress])],
  };
  const serving = await authority.issue({ commonName: 'kube-apiserver', ...names }, 'server', CERTIFICATE_MS);
  const self = { commonName: 'kube-apiserver-kubelet-client', organizations: ['system:masters'] };
  const client = await authority.issue(self, 'client', CERTIFICATE_MS);
  const store = new SqliteStore(join(stateDir, 'objects.db'), new SealedObjects(await openObjectsKey(stateDir)));
  const server = new KubeServer({
    ...{ store, authority, serving, client, tokenKey, now: () => clock.now(), serviceAccounts: true },
    authorize: apiAuthorizer(store),
  });
  const { registry } = server;
  createNamespaces(registry);
  const service = serviceAddress === undefined ? undefined : { address: serviceAddress, port: SERVICE_PORT };
  const onError = (error: Error) => logger.warn({ err: error }, 'a step of a controller failed; it is tried again');
  const approve = (request: KubeObject) => isKubeletRequest(request, node);
  const ends = [
    startNamespaces(registry, NAMESPACE_GRACE_MS, onError),
    startDefaults(registry, { authority: authority.certificate, ...(service && { service }) }, onError),
    startScheduler(registry, onError),
    startSigner(registry, { authority, approve, lifetimeMs: CERTIFICATE_MS }),
    startOldEvents(registry, onError),
    startVolumes(registry, onError),
  ];
  const bookmarks = setInterval(() => server.bookmark(), BOOKMARK_MS);
  bookmarks.unref();
  await server.listen(ADDRESS, port);
  if (serviceAddress !== undefined) await server.listen(serviceAddress, SERVICE_PORT);
  if (dnsAddress !== undefined) ends.push(startDns({ store, address: dnsAddress, domain, resolvConf, logger }));
  liveness.door('api', tlsDoor({ host: ADDRESS, port }));
  metrics.add({
    type: 'gauge',
    name: 'kubus_kube_api_watches',
    help: 'Open watches of the node’s Kubernetes API.',
    collect: () => server.watches.length,
  });
  logger.info({ address: ADDRESS, port, version: store.version }, 'serving the Kubernetes API');
  return {
    stop: async () => {
      clearInterval(bookmarks);
      for (const end of ends) end();
      await server.close();
      store.close();
    },
  };
}
