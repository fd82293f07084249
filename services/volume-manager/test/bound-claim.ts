import type { PersistentVolume, VolumeClaim } from '@kubus/contracts';

/** A claim of the namespace `default` that is bound to a volume of its own name. */
export function boundClaim(name: string, source: PersistentVolume['source']): VolumeClaim {
  const common = { accessModes: ['ReadWriteOnce'], volumeMode: 'Filesystem' } as const;
  return {
    ...{
      state: 'present',
      namespace: 'default',
      name,
      uid: `claim-${name}`,
      ...common,
      accessModes: ['ReadWriteOnce'],
    },
    ...{ deleting: false, protected: true, phase: 'Bound', volumeName: `pv-${name}`, resizePending: false },
    volume: {
      ...{ name: `pv-${name}`, uid: `uid-${name}`, claimUid: `claim-${name}`, ...common },
      ...{ accessModes: ['ReadWriteOnce'], mountOptions: [], source },
    },
  };
}
