import { type Rendered, type Values, chartFolder, readChart, renderChart } from '../src/index.ts';
import * as z from 'zod';

/** The parts of a DaemonSet's pod that tests check; the rest is checked by its schema. */
const mountSchema = z.object({
  name: z.string(),
  mountPath: z.string(),
  readOnly: z.boolean().default(false),
  mountPropagation: z.string().optional(),
});
const probeSchema = z.object({
  httpGet: z.object({ port: z.number(), path: z.string() }).optional(),
  periodSeconds: z.number(),
});
const containerSchema = z.object({
  name: z.string(),
  image: z.string(),
  args: z.array(z.string()),
  env: z.array(z.looseObject({ name: z.string(), value: z.string().optional() })).default([]),
  securityContext: z.object({
    privileged: z.boolean().default(false),
    allowPrivilegeEscalation: z.boolean().optional(),
    readOnlyRootFilesystem: z.boolean(),
    runAsUser: z.number(),
    capabilities: z.object({ drop: z.array(z.string()), add: z.array(z.string()).default([]) }).optional(),
  }),
  resources: z.unknown(),
  startupProbe: probeSchema.optional(),
  readinessProbe: probeSchema.optional(),
  volumeMounts: z.array(mountSchema),
});
const volumeSchema = z.looseObject({
  name: z.string(),
  hostPath: z.object({ path: z.string(), type: z.string() }).optional(),
});
const podSchema = z.looseObject({
  hostPID: z.boolean(),
  automountServiceAccountToken: z.boolean(),
  initContainers: z.array(containerSchema),
  containers: z.array(containerSchema),
  volumes: z.array(volumeSchema),
});
export type Container = z.infer<typeof containerSchema>;
export type RenderedPod = z.infer<typeof podSchema>;

export const chart = await readChart(chartFolder);
const known = new Map<Values, Promise<Rendered>>();

/** The manifests of these values; rendered once. */
export function render(values: Values = {}): Promise<Rendered> {
  const rendered = known.get(values) ?? renderChart(chart, { values });
  known.set(values, rendered);
  return rendered;
}

/** The pod of the DaemonSet with these values. */
export async function renderPod(values?: Values): Promise<RenderedPod> {
  const daemonSet = (await render(values)).manifests.find(({ kind }) => kind === 'DaemonSet');
  const template = z.object({ template: z.object({ spec: podSchema }) }).parse(daemonSet?.['spec']);
  return template.template.spec;
}

export function containerOf(pod: RenderedPod, name: string): Container {
  const found = [...pod.initContainers, ...pod.containers].find((one) => one.name === name);
  if (found === undefined) throw new Error(`there is no container ${name}`);
  return found;
}

/** The overlay that `kubus install` gets. */
export async function renderOverlay(values?: Values): Promise<string> {
  const map = (await render(values)).manifests.find(({ kind }) => kind === 'ConfigMap');
  return z.object({ 'node.yaml': z.string() }).parse(map?.['data'])['node.yaml'];
}
