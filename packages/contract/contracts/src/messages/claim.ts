import * as z from 'zod';
import { command, fact } from '../declare.ts';
import { podRefSchema } from './common.ts';

const claimDeviceSchema = z.object({
  pool: z.string(),
  device: z.string(),
  /** Which share of a device that several claims have at once. */
  shareId: z.string().optional(),
  /** The requests of the claim that it serves; none: all of them. */
  requests: z.array(z.string()),
  /** Fully qualified names of the Container Device Interface. */
  cdiDevices: z.array(z.string()),
  /** What its driver has reported lately; nothing: unknown. */
  health: z.enum(['Healthy', 'Unhealthy']).optional(),
  healthMessage: z.string().optional(),
});
/** A device that a driver has prepared for a claim. */
export type ClaimDevice = z.infer<typeof claimDeviceSchema>;

const preparedClaimSchema = z.object({
  /** The name of the ResourceClaim object, in the pod's namespace. */
  name: z.string(),
  uid: z.string(),
  /** The drivers that have answered. */
  drivers: z.array(
    z.object({
      driver: z.string(),
      /** Whether a process of the driver can be called now. */
      connected: z.boolean().optional(),
      devices: z.array(claimDeviceSchema),
    }),
  ),
});
/** A ResourceClaim, as far as drivers have prepared it. */
export type PreparedClaim = z.infer<typeof preparedClaimSchema>;

export const claimUseSchema = z.object({ claims: z.array(preparedClaimSchema) });
export type ClaimUse = z.infer<typeof claimUseSchema>;

export const claimUse = fact({
  area: 'device',
  name: 'claims',
  key: 'pod',
  owner: 'node-agent',
  payload: claimUseSchema,
  about:
    'The resource claims that a pod uses, and the devices that drivers have prepared for them. Removed when none of them is prepared for the pod any more.',
});

export const prepareClaims = command({
  area: 'device',
  name: 'prepare',
  key: 'pod',
  server: 'node-agent',
  fenced: false,
  request: z.object({
    ref: podRefSchema,
    /** The ResourceClaim objects that the pod uses, in its namespace. */
    claims: z.array(
      z.object({
        claim: z.string(),
        /** It was made for this pod, which has to be its owner. */
        owned: z.boolean(),
      }),
    ),
    /** The pod's sandbox exists: what was prepared for the pod before is good, and drivers are called for the rest only. */
    started: z.boolean(),
  }),
  result: claimUseSchema,
  about:
    'Have the drivers of a pod’s resource claims prepare them, or return what they have prepared already. What is about to be prepared is on the disk before a driver is called.',
});

export const unprepareClaims = command({
  area: 'device',
  name: 'unprepare',
  key: 'pod',
  server: 'node-agent',
  fenced: false,
  request: z.object({ ref: podRefSchema }),
  result: z.object({}),
  about:
    'The pod no longer uses its resource claims: drivers undo those that no other pod uses. Done also for a pod that ends without this command.',
});
