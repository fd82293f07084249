import type { ContainerDevices } from '@kubus/contracts';

/**
 * Merges what several plugins set on one container. Where two plugins set different values in the same place, the first one
 * takes precedence, as in the reference kubelet.
 */
export function mergedDevices(answers: readonly ContainerDevices[]): ContainerDevices {
  return {
    envs: firstOfEach(answers.map(({ envs }) => envs)),
    mounts: firstAt(answers.flatMap(({ mounts }) => mounts)),
    devices: firstAt(answers.flatMap(({ devices }) => devices)),
    annotations: firstOfEach(answers.map(({ annotations }) => annotations)),
    cdiDevices: [...new Set(answers.flatMap(({ cdiDevices }) => cdiDevices))],
  };
}

function firstOfEach(records: readonly Readonly<Record<string, string>>[]): Record<string, string> {
  return Object.fromEntries(records.toReversed().flatMap((record) => Object.entries(record)));
}

function firstAt<T extends { readonly containerPath: string }>(all: readonly T[]): T[] {
  return all.filter(
    (one, index) => all.findIndex(({ containerPath }) => containerPath === one.containerPath) === index,
  );
}
