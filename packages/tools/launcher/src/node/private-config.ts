import {
  type KubeletConfiguration,
  KubeletConfigError,
  mergePatch,
  parseCommandLine,
  resolve,
} from '@kubus/kubelet-config';
import { toError } from '@kubus/ports';
import type { NodeConfig } from '@kubus/service-kit';
import { readFileSync, statSync } from 'node:fs';
import { release } from 'node:os';
import { resolve as absolute } from 'node:path';
import { parse } from 'yaml';
import * as z from 'zod';
import { LauncherError } from '../errors.ts';
import { devices, exclusive, reservedWithCpus } from '../kubelet/exclusive-config.ts';
import { bytes } from '../kubelet/quantity-bytes.ts';

/** A configuration is a page of text; what is larger is not one. In bytes. */
const LARGEST = 256 * 1024;

/** What a private node takes over from a file with a KubeletConfiguration. */
export const privateConfigSchema = z.object({
  /** Absolute. */
  file: z.string(),
  /** Merge patches of the services' configuration, one for each field. */
  patches: z.array(z.record(z.string(), z.unknown())),
});
/** See {@link privateConfigSchema}. */
export type PrivateConfig = z.infer<typeof privateConfigSchema>;

/** What a field sets, by the part of the services' configuration. */
type Part = (config: KubeletConfiguration) => { readonly [K in keyof NodeConfig]?: object };

/** The fields that a private node honours, and what each sets. All others belong to a member of a cluster, or to options of `kubus up`. */
const parts: Partial<Record<keyof KubeletConfiguration, Part>> = {
  maxPods: ({ maxPods }) => ({ pods: { max: maxPods } }),
  // 0 and less: no limit. A merge patch removes with null.
  podPidsLimit: ({ podPidsLimit }) => ({ pods: { pidsLimit: podPidsLimit > 0 ? podPidsLimit : null } }),
  allowedUnsafeSysctls: ({ allowedUnsafeSysctls }) => ({ pods: { unsafeSysctls: allowedUnsafeSysctls } }),
  seccompDefault: ({ seccompDefault }) => ({ pods: { seccompDefault } }),
  cpuCFSQuota: ({ cpuCFSQuota }) => ({ pods: { cpuQuota: cpuCFSQuota } }),
  cpuCFSQuotaPeriod: ({ cpuCFSQuotaPeriod }) => ({ pods: { cpuPeriodUs: Math.round(cpuCFSQuotaPeriod * 1_000) } }),
  syncFrequency: ({ syncFrequency }) => ({ pods: { syncEveryMs: syncFrequency } }),
  fileCheckFrequency: ({ fileCheckFrequency }) => ({ manifests: { checkEveryMs: fileCheckFrequency } }),
  clusterDNS: ({ clusterDNS }) => ({ dns: { servers: clusterDNS } }),
  clusterDomain: ({ clusterDomain }) => ({ dns: { domain: clusterDomain } }),
  registerWithTaints: ({ registerWithTaints }) => ({
    taints: registerWithTaints.map(({ key, value, effect }) => ({ key, value, effect })),
  }),
  // The CPUs of reservedSystemCPUs count instead of reserved ones.
  systemReserved: (config) => ({ reserved: { system: reservedWithCpus(config).system } }),
  kubeReserved: (config) => ({ reserved: { kube: reservedWithCpus(config).kube } }),
  reservedSystemCPUs: (config) => ({
    reserved: { system: reservedWithCpus(config).system },
    exclusive: { reservedCpus: config.reservedSystemCPUs },
  }),
  enforceNodeAllocatable: ({ enforceNodeAllocatable: enforced }) => ({
    reserved: { enforce: enforced.filter((value) => value !== 'none') },
    eviction: { ofAllocatable: enforced.includes('pods') },
  }),
  evictionHard: ({ evictionHard }) => ({ reserved: { evictionHard }, eviction: { hard: evictionHard } }),
  evictionSoft: ({ evictionSoft }) => ({ eviction: { soft: evictionSoft } }),
  evictionSoftGracePeriod: ({ evictionSoftGracePeriod }) => ({
    eviction: { softGracePeriod: evictionSoftGracePeriod },
  }),
  evictionMinimumReclaim: ({ evictionMinimumReclaim }) => ({ eviction: { minimumReclaim: evictionMinimumReclaim } }),
  evictionMaxPodGracePeriod: ({ evictionMaxPodGracePeriod: maxPodGraceSeconds }) => ({
    eviction: { maxPodGraceSeconds },
  }),
  evictionPressureTransitionPeriod: ({ evictionPressureTransitionPeriod: transitionMs }) => ({
    eviction: { transitionMs },
  }),
  localStorageCapacityIsolation: ({ localStorageCapacityIsolation }) => ({
    eviction: { storageLimits: localStorageCapacityIsolation },
  }),
  cpuManagerPolicy: (config) => ({ exclusive: pick(config, 'cpuPolicy') }),
  cpuManagerPolicyOptions: (config) => ({ exclusive: pick(config, 'cpuOptions') }),
  cpuManagerReconcilePeriod: (config) => ({ exclusive: pick(config, 'reconcileMs') }),
  memoryManagerPolicy: (config) => ({ exclusive: pick(config, 'memoryPolicy') }),
  reservedMemory: (config) => ({ exclusive: pick(config, 'reservedMemory') }),
  topologyManagerPolicy: (config) => ({ devices: devices(config) }),
  topologyManagerScope: (config) => ({ devices: devices(config) }),
  topologyManagerPolicyOptions: (config) => ({ devices: devices(config) }),
  registryPullQPS: ({ registryPullQPS }) => ({ images: { pullQps: registryPullQPS } }),
  registryBurst: ({ registryBurst }) => ({ images: { pullBurst: Math.max(1, registryBurst) } }),
  serializeImagePulls: ({ serializeImagePulls }) => ({ images: { serialize: serializeImagePulls } }),
  maxParallelImagePulls: ({ maxParallelImagePulls }) => ({ images: { maxParallel: maxParallelImagePulls } }),
  imageGCHighThresholdPercent: ({ imageGCHighThresholdPercent: highPercent }) => ({ images: { gc: { highPercent } } }),
  imageGCLowThresholdPercent: ({ imageGCLowThresholdPercent: lowPercent }) => ({ images: { gc: { lowPercent } } }),
  imageMinimumGCAge: ({ imageMinimumGCAge: minAgeMs }) => ({ images: { gc: { minAgeMs } } }),
  imageMaximumGCAge: ({ imageMaximumGCAge: maxAgeMs }) => ({ images: { gc: { maxAgeMs } } }),
  eventRecordQPS: ({ eventRecordQPS }) => ({ events: { qps: eventRecordQPS } }),
  eventBurst: ({ eventBurst }) => ({ events: { burst: Math.max(1, eventBurst) } }),
  containerLogMaxSize: ({ containerLogMaxSize }) => ({ logs: { maxSize: bytes(containerLogMaxSize) } }),
  containerLogMaxFiles: ({ containerLogMaxFiles }) => ({ logs: { maxFiles: containerLogMaxFiles } }),
  containerLogMaxWorkers: ({ containerLogMaxWorkers }) => ({ logs: { workers: containerLogMaxWorkers } }),
  containerLogMonitorInterval: ({ containerLogMonitorInterval }) => ({
    logs: { monitorEveryMs: containerLogMonitorInterval },
  }),
};

/** One of the settings of CPUs and memory that containers have for themselves. */
function pick(config: KubeletConfiguration, name: string): object {
  return Object.fromEntries(Object.entries(exclusive(config)).filter(([key]) => key === name));
}

/** The names of the fields that a private node honours. */
const privateConfigFields: readonly string[] = Object.keys(parts).sort();

/**
 * Reads the file of `kubus up --config`: a KubeletConfiguration with fields that make sense for a private node.
 *
 * @throws LauncherError `BadConfig` that names the file, and the field that is wrong or that a private node does not have.
 */
export function readPrivateConfig(path: string): PrivateConfig {
  const file = absolute(path);
  const bad = (message: string, cause?: unknown) =>
    new LauncherError('BadConfig', `${file}: ${message}`, { cause, context: { file } });
  try {
    const { size } = statSync(file);
    if (size > LARGEST) throw bad(`it has ${size} bytes, more than ${LARGEST}`);
    const text = readFileSync(file, 'utf8');
    // What the machine is like is not the file's matter here: a private node runs where `kubus up` does.
    const machine = { cgroupVersion: 2, swap: false, kernel: release() } as const;
    const { config } = resolve({ commandLine: parseCommandLine([]), file: { path: file, text }, dropIns: [], machine });
    const names = Object.keys(parse(text) as object);
    const given = names.filter((name) => name !== 'apiVersion' && name !== 'kind');
    const unknown = given.find((name) => !(name in parts));
    if (unknown !== undefined) {
      throw bad(`${unknown}: a private node does not have this setting; it has ${privateConfigFields.join(', ')}`);
    }
    return { file, patches: given.map((name) => ({ ...parts[name as keyof KubeletConfiguration]?.(config) })) };
  } catch (error) {
    if (error instanceof LauncherError) throw error;
    throw bad(error instanceof KubeletConfigError ? error.message : toError(error).message, error);
  }
}

/** The services' configuration with what the file sets. */
export function withPrivateConfig(config: NodeConfig, given: PrivateConfig | undefined): NodeConfig {
  return (given?.patches ?? []).reduce<NodeConfig>((made, patch) => mergePatch(made, patch) as NodeConfig, config);
}
