import type { PodTimeline } from '@kubus/contracts/observatory';
import type { ReactNode } from 'react';
import { formatRoute } from '../route/route.ts';
import { useRoute } from '../route/use-route.ts';
import { claimWords, deviceWords } from './device-words.ts';

/** The devices of plugins and of claims that the pod has, or had when it ended. */
export function PodDevices({ timeline }: { readonly timeline: PodTimeline }): ReactNode {
  const { recording } = useRoute();
  const { devices = [], claims = [] } = timeline;
  if (devices.length + claims.length === 0) return null;
  return (
    <section className="pod-devices" aria-label="Devices and claims">
      <h2>
        Devices and claims <a href={formatRoute({ recording, view: 'topology', query: {} })}>of the node</a>
      </h2>
      <ul>
        {devices.map((one) => (
          <li key={`${one.container} ${one.resource} ${one.id}`}>{deviceWords(one)}</li>
        ))}
        {claims.map((one) => (
          <li key={`${one.claim} ${one.driver} ${one.device}`}>{claimWords(one)}</li>
        ))}
      </ul>
    </section>
  );
}
