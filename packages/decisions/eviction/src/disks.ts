import type { Signal } from './signals.ts';
import { type Threshold, isHard } from './thresholds.ts';

/**
 * Where the runtime keeps images and the layers of containers (KEP-4191): `one`, on the file system of the pods' files; `images`,
 * both on another one; `split`, the images alone on another one.
 */
export type Disks = 'one' | 'images' | 'split';

const containerSignals: readonly Signal[] = ['containerfs.available', 'containerfs.inodesFree'];

/**
 * The thresholds with those of the containers' file system, which are never set: they are those of the file system with which it
 * shares the disk (pkg/kubelet/eviction, UpdateContainerFsThresholds). `ignored` are texts about those that were set.
 */
export function withContainerFs(
  thresholds: readonly Threshold[],
  disks: Disks,
): { readonly thresholds: readonly Threshold[]; readonly ignored: readonly string[] } {
  const isSet = ({ signal }: Threshold) => containerSignals.includes(signal);
  const [twin, other] = disks === 'images' ? ['imagefs', 'containerfs'] : ['nodefs', 'containerfs'];
  const derived = thresholds.flatMap((one): Threshold[] => {
    const signal = one.signal.replace(twin, other);
    const isTwin = signal !== one.signal && !isSet(one);
    return isTwin ? [{ ...one, signal: signal as Signal }] : [];
  });
  return {
    thresholds: [...thresholds.filter((one) => !isSet(one)), ...derived],
    ignored: thresholds
      .filter(isSet)
      .map((one) => `found ${one.signal} for ${isHard(one) ? 'hard' : 'soft'} eviction. ignoring`),
  };
}
