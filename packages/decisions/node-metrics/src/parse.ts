import type { MetricFamily } from '@kubus/metrics';
import * as z from 'zod';

const labels = z.record(z.string(), z.string());
const base = { name: z.string(), help: z.string() };

const familiesSchema = z.array(
  z.discriminatedUnion('type', [
    z.object({
      ...base,
      type: z.enum(['counter', 'gauge']),
      samples: z.array(z.object({ labels, value: z.number() })),
    }),
    z.object({
      ...base,
      type: z.literal('histogram'),
      series: z.array(
        z.object({
          labels,
          buckets: z.array(z.object({ le: z.number(), count: z.number() })),
          sum: z.number(),
          count: z.number(),
        }),
      ),
    }),
  ]),
);

/** Parses the families that a service serves as `/metrics.json`. Throws when the text does not contain families. */
export function parseFamilies(text: string): MetricFamily[] {
  return familiesSchema.parse(JSON.parse(text));
}
