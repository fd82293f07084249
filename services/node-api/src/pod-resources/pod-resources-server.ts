import { type ConnectionInjector, Server, ServerCredentials, status } from '@grpc/grpc-js';
import {
  type GetPodResourcesRequest,
  type GetPodResourcesResponse,
  PodResourcesListerService,
} from '@kubus/proto/pod-resources-grpc';
import type { Socket } from 'node:net';
import { allocatableResources, listedPods, podDevices, podResources } from './pod-resources.ts';
import type { PodResourcesMethod, PodResourcesOptions } from './pod-resources-options.ts';

/**
 * The older version of the API: List alone, whose messages have a part of the fields of v1, with the same numbers
 * (k8s.io/kubelet/pkg/apis/podresources/v1alpha1).
 */
const listerOfAlpha = {
  list: { ...PodResourcesListerService.list, path: '/v1alpha1.PodResourcesLister/List' },
} as const;

type Respond = (error: { code: number; details: string } | null, answer?: unknown) => void;

/** Serves the pod resources API on the connections that are passed to it (behaviour:plugins). */
export class PodResourcesServer {
  readonly #server = new Server({ 'grpc.enable_channelz': 0 });
  readonly #injector: ConnectionInjector;

  constructor({ facts, devices, allow, count }: PodResourcesOptions) {
    const serve =
      <Request>(
        method: PodResourcesMethod,
        answer: (request: Request) => object | undefined,
        missing = (_: Request) => '',
      ) =>
      ({ request }: { request: Request }, respond: Respond) => {
        if (!allow()) {
          respond({ code: status.RESOURCE_EXHAUSTED, details: 'rejected by rate limit' });
          return;
        }
        const found = answer(request);
        count(method, found === undefined);
        if (found !== undefined) respond(null, found);
        else respond({ code: status.UNKNOWN, details: missing(request) });
      };
    this.#server.addService(PodResourcesListerService, {
      list: serve('list', () => ({ podResources: listedPods(facts.pods(), devices) })),
      getAllocatableResources: serve('get_allocatable', () =>
        allocatableResources(devices.resources(), devices.topology()),
      ),
      get: serve(
        'get',
        ({ podNamespace, podName }: GetPodResourcesRequest): GetPodResourcesResponse | undefined => {
          const found = facts.find(podNamespace, podName);
          return found && { podResources: podResources(found, devices) };
        },
        ({ podNamespace, podName }) => `pod ${podName} in namespace ${podNamespace} not found`,
      ),
    });
    this.#server.addService(listerOfAlpha, {
      list: serve('v1alpha1', () => ({ podResources: facts.pods().map((one) => podDevices(one, devices)) })),
    });
    this.#injector = this.#server.createConnectionInjector(ServerCredentials.createInsecure());
  }

  take(connection: Socket): void {
    this.#injector.injectConnection(connection);
  }

  stop(): void {
    this.#injector.destroy();
    this.#server.forceShutdown();
  }
}
