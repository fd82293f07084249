import * as z from 'zod';

const cpuSchema = z.object({
  time: z.string(),
  usageNanoCores: z.number().optional(),
  usageCoreNanoSeconds: z.number().optional(),
});
const memorySchema = z.object({ workingSetBytes: z.number().optional(), availableBytes: z.number().optional() });
const usedSchema = z.object({ cpu: cpuSchema.optional(), memory: memorySchema.optional() });

/** The part of /stats/summary (stats/v1alpha1) that `top` reads. */
export const summarySchema = z.object({
  node: usedSchema.extend({ nodeName: z.string() }),
  pods: z.array(
    z.object({
      podRef: z.object({ name: z.string(), namespace: z.string(), uid: z.string() }),
      containers: z
        .array(usedSchema.extend({ name: z.string() }))
        .nullish()
        .transform((list) => list ?? []),
    }),
  ),
});
export type Summary = z.infer<typeof summarySchema>;
type Used = z.infer<typeof usedSchema>;

/** The usage of a node, pod or container; undefined where it is unknown. */
export interface Usage {
  /** CPU, in billionths of a core. */
  readonly nanoCores: number | undefined;
  /** Memory (working set), in bytes. */
  readonly bytes: number | undefined;
}

/** The usage of the node. */
export interface NodeUsage extends Usage {
  readonly name: string;
  /** Memory of the machine, in bytes. */
  readonly capacityBytes: number | undefined;
}

/** The usage of a container. */
interface ContainerUsage extends Usage {
  readonly name: string;
}

/** The usage of a pod: the sum of its containers. */
export interface PodUsage extends Usage {
  readonly namespace: string;
  readonly name: string;
  readonly uid: string;
  readonly containers: readonly ContainerUsage[];
}

/** Whether a CPU rate is missing: the node reports one only from its second sample on. */
export function needsSecondSample({ node, pods }: Summary): boolean {
  return [node, ...pods.flatMap(({ containers }) => containers)].some(
    ({ cpu }) => cpu !== undefined && cpu.usageNanoCores === undefined,
  );
}

/** The node's usage. @param earlier a previous summary, from which missing CPU rates are computed */
export function nodeUsage({ node }: Summary, earlier?: Summary): NodeUsage {
  const { workingSetBytes: bytes, availableBytes: available } = node.memory ?? {};
  const capacityBytes = bytes === undefined || available === undefined ? undefined : bytes + available;
  return { name: node.nodeName, nanoCores: rate(node, earlier?.node), bytes, capacityBytes };
}

/** The usage of the pods and their containers, in the summary's order. @param earlier see {@link nodeUsage} */
export function podUsages({ pods }: Summary, earlier?: Summary): PodUsage[] {
  return pods.map(({ podRef: { namespace, name, uid }, containers }) => {
    const before = earlier?.pods.find(({ podRef }) => podRef.uid === uid)?.containers;
    const used = containers.map((one) => ({
      name: one.name,
      nanoCores: rate(
        one,
        before?.find((other) => other.name === one.name),
      ),
      bytes: one.memory?.workingSetBytes,
    }));
    return {
      ...{ namespace, name, uid, containers: used },
      nanoCores: sum(used.map(({ nanoCores }) => nanoCores)),
      bytes: sum(used.map(({ bytes }) => bytes)),
    };
  });
}

function rate({ cpu }: Used, earlier?: Used): number | undefined {
  if (cpu?.usageNanoCores !== undefined) return cpu.usageNanoCores;
  const before = earlier?.cpu;
  if (cpu?.usageCoreNanoSeconds === undefined || before?.usageCoreNanoSeconds === undefined) return undefined;
  const seconds = (Date.parse(cpu.time) - Date.parse(before.time)) / 1000;
  const nanos = cpu.usageCoreNanoSeconds - before.usageCoreNanoSeconds;
  // A restarted container counts from zero.
  return seconds > 0 && nanos >= 0 ? nanos / seconds : undefined;
}

/** The sum of the known values; undefined when none is known. */
function sum(values: readonly (number | undefined)[]): number | undefined {
  const known = values.filter((value) => value !== undefined);
  return known.length === 0 ? undefined : known.reduce((all, value) => all + value, 0);
}
