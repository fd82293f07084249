import type { ServiceName } from '@kubus/contracts';
import * as z from 'zod';

/** The services of every node in the order of their start; none requires another one to be running. */
export const nodeServices = [
  'cni-bridge',
  'cri-bridge',
  'volume-manager',
  'pod-workers',
  'prober',
  'node-agent',
  'sync-loop',
  'config-sources',
  'node-api',
] as const satisfies readonly ServiceName[];

/** Additional services of a member of a cluster. */
export const clusterServices = ['object-cache', 'status-manager'] as const satisfies readonly ServiceName[];

/** The services that share a process when all do. The observatory and kube-api wait for the disk, which would disturb the others. */
export const hostable = [...nodeServices, ...clusterServices] as const;

/** The services that a group may name: kube-api, too, where memory counts more than the milliseconds of its writes. */
const groupable = [...hostable, 'kube-api'] as const satisfies readonly ServiceName[];

/** Services that share a process, by the name of their group. */
export const groupsSchema = z
  .record(
    z.string().regex(/^[a-z]{1,20}$/, 'the name of a group is 1 to 20 letters from a to z'),
    z.array(z.enum(groupable)).min(2, 'a group has at least two services'),
  )
  .refine((groups) => Object.keys(groups).length > 0, 'there is no group')
  .superRefine((groups, context) => {
    const seen = new Set<string>();
    for (const [name, services] of Object.entries(groups)) {
      for (const [index, service] of services.entries()) {
        if (seen.has(service)) {
          context.addIssue({ code: 'custom', path: [name, index], message: `${service} is named twice` });
        }
        seen.add(service);
      }
    }
  });

/**
 * Which services share a process: none, all in one, or groups by name. A service that no group names has a process of its own. Only the first
 * instance of a service is in a group.
 */
export const placementSchema = z.union([z.enum(['separate', 'hosted']), groupsSchema]);
/** See {@link placementSchema}. */
export type Placement = z.infer<typeof placementSchema>;

/** The program of processes that several services share, and the name of the one that has all of them. */
export const hostProcess = 'services';

/** The services that a placement puts into each shared process, by its name: `services`, or `services-NAME` of a group. A node may lack some of them. */
export function placedServices(placement: Placement): ReadonlyMap<string, readonly ServiceName[]> {
  if (placement === 'separate') return new Map();
  if (placement === 'hosted') return new Map([[hostProcess, hostable]]);
  return new Map(Object.entries(placement).map(([name, services]) => [`${hostProcess}-${name}`, services]));
}
