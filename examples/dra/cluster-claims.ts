import { CustomObjectsApi, KubeConfig } from '@kubernetes/client-node';
import type { Claim } from '@kubus/proto/dra-grpc';
import * as z from 'zod';

const API = { group: 'resource.k8s.io', version: 'v1' } as const;

const claimSchema = z.object({
  metadata: z.object({ uid: z.string() }),
  status: z.object({
    allocation: z.object({
      devices: z.object({
        results: z.array(z.object({ driver: z.string(), request: z.string(), pool: z.string(), device: z.string() })),
      }),
    }),
  }),
});

const slicesSchema = z.object({ items: z.array(z.object({ metadata: z.object({ name: z.string() }) })) });

/** A device that the scheduler has allocated to a request of a claim. */
type Allocated = z.infer<typeof claimSchema>['status']['allocation']['devices']['results'][number];

/** The cluster's side of a driver: the claims, and the ResourceSlice that lists the node's devices. */
export class ClusterClaims {
  readonly #api: CustomObjectsApi;
  readonly #driver: string;
  readonly #node: string;

  constructor(kubeconfig: string, { driver, node }: { readonly driver: string; readonly node: string }) {
    const config = new KubeConfig();
    config.loadFromFile(kubeconfig);
    this.#api = config.makeApiClient(CustomObjectsApi);
    this.#driver = driver;
    this.#node = node;
  }

  /** The driver's devices that are allocated to a claim. Throws when the claim is another one by now. */
  async devicesOf({ namespace, name, uid }: Claim): Promise<readonly Allocated[]> {
    const object: unknown = await this.#api.getNamespacedCustomObject({
      ...API,
      plural: 'resourceclaims',
      namespace,
      name,
    });
    const { metadata, status } = claimSchema.parse(object);
    if (metadata.uid !== uid) throw new Error(`the claim ${namespace}/${name} was replaced by another one`);
    return status.allocation.devices.results.filter(({ driver }) => driver === this.#driver);
  }

  /** Lists `count` devices for the scheduler: `device-0`, `device-1`, ... */
  async offer(count: number): Promise<void> {
    const plural = 'resourceslices';
    const name = `${this.#node}-${this.#driver}`;
    // A node may list its own slices only, and remove only what exists.
    const fieldSelector = `spec.nodeName=${this.#node},spec.driver=${this.#driver}`;
    const list: unknown = await this.#api.listClusterCustomObject({ ...API, plural, fieldSelector });
    for (const { metadata } of slicesSchema.parse(list).items) {
      await this.#api.deleteClusterCustomObject({ ...API, plural, name: metadata.name });
    }
    const body = {
      apiVersion: 'resource.k8s.io/v1',
      kind: 'ResourceSlice',
      metadata: { name },
      spec: {
        driver: this.#driver,
        nodeName: this.#node,
        pool: { name: this.#node, generation: 1, resourceSliceCount: 1 },
        devices: Array.from({ length: count }, (_, index) => ({ name: `device-${index}` })),
      },
    };
    await this.#api.createClusterCustomObject({ ...API, plural, body });
  }
}
