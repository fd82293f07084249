import { readFileSync, readdirSync } from 'node:fs';
import { describe, expect, test } from '@jest/globals';
import type { ContainerConfig } from '@kubus/proto/cri';
import { type PodSecuritySettings, containerConfig, sandboxConfig } from '../src/index.ts';
import { thrown } from './thrown.ts';
import {
  type Golden,
  containerSettings,
  lookup,
  sandboxSettings,
  seenPod,
  withIds,
  withoutDefaults,
} from './golden.ts';

const folder = new URL('golden/', import.meta.url);
const records = readdirSync(folder).map(
  (name) => [name, JSON.parse(readFileSync(new URL(name, folder), 'utf8')) as Golden] as const,
);
const made = records.flatMap(([file, golden]) =>
  Object.entries(golden.containers).map(([name, expected]) => [file, name, golden, expected] as const),
);
const refused = records.flatMap(([file, golden]) =>
  Object.entries(golden.waiting ?? {}).map(([name, message]) => [file, name, golden, message] as const),
);
const sandboxes = records.filter(([, { sandbox }]) => sandbox !== undefined);

describe('requests of the reference kubelet to the runtime', () => {
  test('are recorded', () => expect([sandboxes.length, made.length, refused.length]).toEqual([28, 36, 2]));

  test.each(sandboxes)('are equal for the sandbox of %s', (_, golden) => {
    const pod = seenPod(golden);
    expect(withoutDefaults(sandboxConfig(pod, sandboxSettings(pod)))).toEqual(golden.sandbox);
  });

  test.each(made)('are equal for %s, container %s', (_, name, golden, expected) => {
    expect(withoutDefaults(comparable(config(golden, name)))).toEqual(expected);
  });

  test.each(refused)('are absent for %s, container %s, which is refused', (_, name, golden, message) => {
    expect(thrown(() => config(golden, name))).toMatchObject({ code: 'CreateContainerConfigError', message });
  });
});

describe('requests for a pod with a user namespace differ only in the ids', () => {
  const userNamespace = { hostId: 131_072, length: 65_536 };
  const ownUsers = (golden: Golden): Golden => ({
    ...golden,
    pod: { ...golden.pod, spec: { ...golden.pod.spec, hostUsers: false } },
  });

  test.each(sandboxes)('for the sandbox of %s', (_, golden) => {
    const pod = seenPod(ownUsers(golden));
    const made = sandboxConfig(pod, { ...sandboxSettings(pod), userNamespace });
    expect(withoutDefaults(made)).toEqual(withIds(golden.sandbox, userNamespace));
  });

  test.each(made)('for %s, container %s', (_, name, golden, expected) => {
    const made = config(ownUsers(golden), name, { userNamespace });
    expect(withoutDefaults(comparable(made))).toEqual(withIds(expected, userNamespace));
  });
});

function config(golden: Golden, name: string, settings: PodSecuritySettings = {}): ContainerConfig {
  const pod = seenPod(golden);
  const all = [...(pod.spec.initContainers ?? []), ...pod.spec.containers];
  const container = all.find((container) => container.name === name);
  if (container === undefined) throw new Error(`no container ${name}`);
  return containerConfig(pod, container, { ...containerSettings(pod, container), ...settings }, lookup(golden));
}

/** In the form of the records: values that differ from run to run are placeholders, and containerd 1.6 has fewer fields. */
function comparable({ annotations = {}, envs = [], image, logPath, mounts = [], ...rest }: ContainerConfig): object {
  const { 'io.kubernetes.container.restartCount': attempt, ...stable } = annotations;
  return {
    ...rest,
    annotations: stable,
    envs: Object.fromEntries(envs.map(({ key = '', value = '' }) => [key, atob(value)] as const)),
    image: { image: image?.image },
    logPath: logPath?.replace(`/${attempt}.log`, '/<attempt>.log'),
    mounts: mounts.toSorted((a, b) => ((a.containerPath ?? '') < (b.containerPath ?? '') ? -1 : 1)),
  };
}
