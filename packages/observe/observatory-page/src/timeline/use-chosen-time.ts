import { useEffect, useEffectEvent, useState } from 'react';
import { rangeOf, rangeQuery } from '../overview/density-layout.ts';
import { goQuery, useRoute } from '../route/use-route.ts';
import type { TimeView } from './time-view.ts';

/** How long a movement must rest before it is written to the address, in milliseconds: browsers refuse too many changes. */
const restMs = 200;

/**
 * The section that the user has chosen, in the address as absolute times, so that a copied address shows the same one.
 *
 * @param zero time of the first message, in milliseconds since the Unix epoch.
 */
export function useChosenTime(zero: number): [TimeView | undefined, (view: TimeView | undefined) => void] {
  const route = useRoute();
  const [moving, setMoving] = useState<TimeView>();
  const written = rangeOf(route.query);
  const write = useEffectEvent((view: TimeView) => {
    goQuery(route, rangeQuery({ from: zero + view.from, to: zero + view.to }));
    setMoving(undefined);
  });
  useEffect(() => {
    if (moving === undefined) return undefined;
    const timer = window.setTimeout(() => write(moving), restMs);
    return () => window.clearTimeout(timer);
  }, [moving]);
  const choose = (view: TimeView | undefined): void => {
    setMoving(view);
    if (view === undefined) goQuery(route, rangeQuery(undefined));
  };
  return [moving ?? (written && { from: written.from - zero, to: written.to - zero }), choose];
}
