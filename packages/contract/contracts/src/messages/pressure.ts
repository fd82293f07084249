import * as z from 'zod';
import { command } from '../declare.ts';
import { pressureConditions } from './cluster-node.ts';
import { podRefSchema } from './common.ts';

/** How many pods of a ranking are named. */
export const RANKED_MOST = 100;

/** A pod with the numbers that decide when its turn is (behaviour:eviction, ranking). */
export const rankedPodSchema = z.object({
  ref: podRefSchema,
  /** It is not evicted whatever it uses: the node needs it. */
  critical: z.boolean(),
  /** It uses more than it requests. */
  exceeds: z.boolean(),
  priority: z.int(),
  /** Bytes, inodes or processes. Missing: nothing is known of it. */
  used: z.number().optional(),
  /** Of memory and disks, in bytes. */
  requested: z.number(),
});
export type RankedPod = z.infer<typeof rankedPodSchema>;

/** The pods in the order in which they are evicted for a signal. */
export const evictionRankingSchema = z.object({
  signal: z.string(),
  pods: z.array(rankedPodSchema).max(RANKED_MOST),
  /** How many more there were. */
  leftOut: z.int().nonnegative(),
});
export type EvictionRanking = z.infer<typeof evictionRankingSchema>;

/** What a node can do without. */
const reclaimables = ['containers', 'images'] as const;

const reclaimedSchema = z.object({
  what: z.enum(reclaimables),
  /** What was left of the signal, in bytes or inodes, as read before and after. Missing: it could not be read. */
  before: z.number().optional(),
  after: z.number().optional(),
});
export type Reclaimed = z.infer<typeof reclaimedSchema>;

/** Why the node needs a pod to go, and why this one. */
export const evictionDecisionSchema = z.object({
  signal: z.string(),
  /** The threshold as it is set, and in bytes, inodes or processes. */
  threshold: z.string(),
  amount: z.number(),
  /** Seconds for which the signal had to be below it. */
  graceSeconds: z.number().nonnegative(),
  /** What was left, and of how much, in bytes, inodes or processes. */
  available: z.number(),
  capacity: z.number(),
  /** RFC 3339: when that was read. */
  readAt: z.string(),
  /** What was removed before, in this order, which was not enough. */
  reclaimed: z.array(reclaimedSchema),
  ranking: evictionRankingSchema,
});
export type EvictionDecision = z.infer<typeof evictionDecisionSchema>;

/** What the node has left of something that pods can exhaust. */
export const nodeSignalSchema = z.object({
  signal: z.string(),
  /** Bytes, inodes or processes. */
  available: z.number(),
  capacity: z.number(),
  /** RFC 3339. */
  readAt: z.string(),
  /** How `available` has changed in a second over the last minute. Missing: it was read only once. */
  perSecond: z.number().optional(),
});
export type NodeSignal = z.infer<typeof nodeSignalSchema>;

export const nodeThresholdSchema = z.object({
  signal: z.string(),
  /** As it is set. */
  value: z.string(),
  /** Bytes, inodes or processes. Missing: a percentage of a capacity that is not known. */
  amount: z.number().optional(),
  /** Seconds for which the signal has to be below it; 0: a hard threshold. */
  graceSeconds: z.number().nonnegative(),
  /** As it is set: how far above the threshold the signal has to come again. */
  minimumReclaim: z.string().optional(),
  /** RFC 3339: since when the signal has been below it. Missing: it is not. */
  since: z.string().optional(),
  /** At the present slope: seconds until the signal is below it. Missing: it does not come nearer. */
  secondsLeft: z.number().nonnegative().optional(),
});
export type NodeThreshold = z.infer<typeof nodeThresholdSchema>;

/** What was left at one time, by signal, in bytes, inodes or processes. */
export const pressureReadingSchema = z.object({
  /** RFC 3339. */
  readAt: z.string(),
  available: z.record(z.string(), z.number()),
});
export type PressureReading = z.infer<typeof pressureReadingSchema>;

/** How many readings are kept: those of ten minutes. */
export const READINGS_MOST = 61;

export const pressureReportSchema = z.object({
  signals: z.array(nodeSignalSchema),
  thresholds: z.array(nodeThresholdSchema),
  conditions: z.array(z.enum(pressureConditions)),
  /** How long a condition lasts after its last reason, in seconds. */
  transitionSeconds: z.number().nonnegative(),
  /** Missing: no pod is evicted for lack of anything, because there is no threshold. */
  ranking: evictionRankingSchema.optional(),
  /** The last readings, the newest last. Missing: they were not asked for. */
  readings: z.array(pressureReadingSchema).max(READINGS_MOST).optional(),
});
export type PressureReport = z.infer<typeof pressureReportSchema>;

export const readPressure = command({
  area: 'node',
  name: 'readPressure',
  key: 'name',
  server: 'node-agent',
  fenced: false,
  request: z.object({
    /** Of which the pods are ranked. Default: the signal that is nearest to its threshold. */
    signal: z.string().optional(),
    /** With the readings of the last minutes. */
    readings: z.boolean().optional(),
  }),
  result: pressureReportSchema,
  about:
    'What the node has left, its thresholds, and in which order pods would be evicted. Changes nothing. Keyed by the node’s name. Fails with the code unknown-signal.',
});
