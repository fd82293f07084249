import { parseQuantity, quantityUnits } from '@kubus/contracts';
import { ThresholdError, parseThresholds } from '@kubus/eviction';
import { formatGoDuration } from '@kubus/pod';
import type { KubeletConfiguration } from './field-table.ts';
import type { GateSettings } from './gates.ts';
import { Problems } from './problems.ts';
import { enforcement, memory, policies, reservedMemory, shutdown } from './validate-parts.ts';

/** The problems of a configuration, with the reference's texts (its package config/validation). */
export function validate(config: KubeletConfiguration, gates: GateSettings): string[] {
  const problems = new Problems();
  numbers(config, problems);
  images(config, problems);
  shutdown(config, gates, problems);
  memory(config, gates, problems);
  enforcement(config, problems);
  policies(config, gates, problems);
  reservedMemory(config, problems);
  logs(config, gates, problems);
  eviction(config, problems);
  return problems.found;
}

type Names = readonly [field: string, flag?: string];

function named([field, flag]: Names, value: number): string {
  return `${field}${flag === undefined ? '' : ` (--${flag})`} ${value}`;
}

function numbers(config: KubeletConfiguration, problems: Problems): void {
  const notNegative = (names: Names, value: number) =>
    problems.check(value >= 0, () => `${named(names, value)} must not be a negative number`);
  const between = (names: Names, value: number, low: number, high: number, unit = (limit: number) => String(limit)) =>
    problems.check(
      value >= low && value <= high,
      () => `${named(names, value)} must be between ${unit(low)} and ${unit(high)}, inclusive`,
    );
  problems.check(config.nodeLeaseDurationSeconds > 0, () => 'nodeLeaseDurationSeconds must be greater than 0');
  problems.check(
    config.systemCgroups === '' || config.cgroupRoot !== '',
    () => 'systemCgroups (--system-cgroups) was specified and cgroupRoot (--cgroup-root) was not specified',
  );
  notNegative(['eventBurst', 'event-burst'], config.eventBurst);
  notNegative(['eventRecordQPS', 'event-qps'], config.eventRecordQPS);
  if (config.healthzPort !== 0) between(['healthzPort', 'healthz-port'], config.healthzPort, 1, 65_535);
  const period = config.cpuCFSQuotaPeriod;
  problems.check(
    period >= 1 && period <= 1000,
    () =>
      `cpuCFSQuotaPeriod (--cpu-cfs-quota-period) ${formatGoDuration(period)} must be between 1ms and 1sec, inclusive`,
  );
  between(['iptablesDropBit', 'iptables-drop-bit'], config.iptablesDropBit, 0, 31);
  between(['iptablesMasqueradeBit', 'iptables-masquerade-bit'], config.iptablesMasqueradeBit, 0, 31);
  notNegative(['kubeAPIBurst', 'kube-api-burst'], config.kubeAPIBurst);
  notNegative(['kubeAPIQPS', 'kube-api-qps'], config.kubeAPIQPS);
  problems.check(
    config.nodeStatusMaxImages >= -1,
    () =>
      `${named(['nodeStatusMaxImages', 'node-status-max-images'], config.nodeStatusMaxImages)} must be -1 or greater`,
  );
  notNegative(['maxOpenFiles', 'max-open-files'], config.maxOpenFiles);
  notNegative(['maxPods', 'max-pods'], config.maxPods);
  between(['oomScoreAdj', 'oom-score-adj'], config.oomScoreAdj, -1000, 1000);
  notNegative(['podsPerCore', 'pods-per-core'], config.podsPerCore);
  between(['port', 'port'], config.port, 1, 65_535);
  if (config.readOnlyPort !== 0) {
    problems.check(
      config.readOnlyPort > 0 && config.readOnlyPort <= 65_535,
      () => `${named(['readOnlyPort', 'read-only-port'], config.readOnlyPort)} must be between 0 and 65535, inclusive`,
    );
  }
  problems.check(
    !config.runOnce,
    () => `runOnce (--runOnce) ${config.runOnce}, Runonce mode has been deprecated and should not be set`,
  );
  const { idsPerPod } = config.userNamespaces;
  if (idsPerPod !== undefined) {
    problems.check(idsPerPod >= 65_536, () => 'userNamespaces.idsPerPod must not be less than 65536');
    problems.check(idsPerPod % 65_536 === 0, () => 'userNamespaces.idsPerPod must be a multiple of 65536');
    problems.check(idsPerPod < 2 ** 32, () => `userNamespaces.idsPerPod must not be more than ${2 ** 32 - 1}`);
  }
  problems.check(
    config.containerRuntimeEndpoint !== '',
    () => 'the containerRuntimeEndpoint was not specified or empty',
  );
}

function images(config: KubeletConfiguration, problems: Problems): void {
  const { imageGCHighThresholdPercent: high, imageGCLowThresholdPercent: low } = config;
  const highName = named(['imageGCHighThresholdPercent', 'image-gc-high-threshold'], high);
  const lowName = named(['imageGCLowThresholdPercent', 'image-gc-low-threshold'], low);
  problems.check(high >= 0 && high <= 100, () => `${highName} must be between 0 and 100, inclusive`);
  problems.check(low >= 0 && low <= 100, () => `${lowName} must be between 0 and 100, inclusive`);
  problems.check(low < high, () => `${lowName} must be less than ${highName}`);
  const [min, max] = [config.imageMinimumGCAge, config.imageMaximumGCAge].map(formatGoDuration);
  problems.check(config.imageMinimumGCAge >= 0, () => `imageMinimumGCAge ${min} must not be negative`);
  problems.check(config.imageMaximumGCAge >= 0, () => `imageMaximumGCAge ${max} must not be negative`);
  problems.check(
    config.imageMaximumGCAge <= 0 || config.imageMaximumGCAge > config.imageMinimumGCAge,
    () => `imageMaximumGCAge ${max} must be greater than imageMinimumGCAge ${min}`,
  );
  const { registryBurst, registryPullQPS, maxParallelImagePulls: parallel, serializeImagePulls } = config;
  problems.check(
    registryBurst >= 0,
    () => `${named(['registryBurst', 'registry-burst'], registryBurst)} must not be a negative number`,
  );
  problems.check(
    registryPullQPS >= 0,
    () => `${named(['registryPullQPS', 'registry-qps'], registryPullQPS)} must not be a negative number`,
  );
  if (parallel !== undefined) {
    problems.check(parallel >= 1, () => `maxParallelImagePulls ${parallel} must be a positive number`);
    problems.check(
      !serializeImagePulls || parallel <= 1,
      () =>
        'maxParallelImagePulls cannot be larger than 1 unless SerializeImagePulls (--serialize-image-pulls) is set to false',
    );
  }
  const policy = config.imagePullCredentialsVerificationPolicy;
  const known = ['NeverVerify', 'NeverVerifyPreloadedImages', 'NeverVerifyAllowlistedImages', 'AlwaysVerify'];
  problems.check(
    known.includes(policy),
    () =>
      `option "${policy}" specified for imagePullCredentialsVerificationPolicy. Valid options are "NeverVerify", "NeverVerifyPreloadedImages", "NeverVerifyAllowlistedImages" or "AlwaysVerify"`,
  );
  problems.check(
    config.preloadedImagesVerificationAllowlist.length === 0 || policy === 'NeverVerifyAllowlistedImages',
    () =>
      'can\'t set `preloadedImagesVerificationAllowlist` if `imagePullCredentialsVertificationPolicy` is not "NeverVerifyAllowlistedImages"',
  );
}

function logs(config: KubeletConfiguration, gates: GateSettings, problems: Problems): void {
  problems.check(
    !config.enableSystemLogQuery || gates.enabled('NodeLogQuery'),
    () => 'NodeLogQuery feature gate is required for enableSystemLogQuery',
  );
  problems.check(
    !config.enableSystemLogQuery || config.enableSystemLogHandler,
    () => 'enableSystemLogHandler is required for enableSystemLogQuery',
  );
  problems.check(config.containerLogMaxWorkers >= 1, () => 'containerLogMaxWorkers must be greater than or equal to 1');
  problems.check(
    config.containerLogMonitorInterval >= 3000,
    () => 'containerLogMonitorInterval must be a positive time duration greater than or equal to 3s',
  );
  problems.check(config.containerLogMaxFiles > 1, () => 'containerLogMaxFiles must be greater than 1');
  const size = parseQuantity(config.containerLogMaxSize);
  problems.check(
    size !== undefined && quantityUnits(size) > 0n,
    () => `containerLogMaxSize "${config.containerLogMaxSize}" must be greater than 0`,
  );
  const { podLogsDir } = config;
  problems.check(podLogsDir.startsWith('/'), () => `pod logs path "${podLogsDir}" must be absolute path`);
  problems.check(isClean(podLogsDir), () => `pod logs path "${podLogsDir}" must be normalized`);
  problems.check(
    /^[\0-\x7f]*$/.test(podLogsDir),
    () => `pod logs path "${podLogsDir}" mut contains ASCII characters only`,
  );
  const { format, flushFrequency, verbosity, vmodule } = config.logging;
  const known = ['text', 'json'];
  problems.check(known.includes(format), () => `logging.format: Invalid value: "${format}": Unsupported log format`);
  problems.check(
    flushFrequency > 0,
    () => `logging.flushFrequency: Invalid value: "${formatGoDuration(flushFrequency)}": Must be greater than zero`,
  );
  problems.check(verbosity >= 0, () => `logging.verbosity: Invalid value: ${verbosity}: Must be positive or zero`);
  problems.check(
    vmodule.length === 0 || format === 'text',
    () => 'logging.vmodule: Forbidden: Only supported for text log format',
  );
}

/** The reference finds the first of these only when it starts its eviction manager (pkg/kubelet/eviction). */
function eviction(config: KubeletConfiguration, problems: Problems): void {
  try {
    parseThresholds(config, { enforcesPods: false });
  } catch (error) {
    if (!(error instanceof ThresholdError)) throw error;
    problems.check(false, () => error.message);
  }
}

/** Without `.`, `..`, repeated or trailing slashes. */
function isClean(path: string): boolean {
  return path === '/' || !/\/\/|\/\.{1,2}(\/|$)|\/$/.test(path);
}
