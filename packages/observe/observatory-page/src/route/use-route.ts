import { createContext, useContext, useEffect, useMemo, useSyncExternalStore } from 'react';
import { type Route, formatRoute, parseRoute, withQuery } from './route.ts';

const RouteContext = createContext<Route>({ recording: '', view: 'overview', query: {} });

/** Provides the location to the whole page, so that all parts see a new address at the same time. */
export const RouteProvider = RouteContext;

/** The location of the page. */
export function useRoute(): Route {
  return useContext(RouteContext);
}

/**
 * Follows the address bar.
 *
 * @param home the recording that is shown when the address names none; undefined while it is not known.
 */
export function useAddress(home: string | undefined): Route {
  const hash = useSyncExternalStore(subscribe, () => window.location.hash);
  const route = useMemo(() => parseRoute(hash, home ?? ''), [hash, home]);
  // An address that was not complete, such as the one that the command line prints, names what it shows, so that it can be copied.
  useEffect(() => {
    if (home !== undefined && window.location.hash !== formatRoute(route))
      history.replaceState(null, '', formatRoute(route));
  }, [home, route]);
  return route;
}

export function go(route: Route): void {
  window.location.hash = formatRoute(route);
}

/** Changes parameters of the view: not a new entry in the browser's history, since the location is the same. */
export function goQuery(route: Route, changes: Readonly<Record<string, string | undefined>>): void {
  history.replaceState(null, '', formatRoute(withQuery(route, changes)));
  window.dispatchEvent(new HashChangeEvent('hashchange'));
}

/** Opens a message in the inspector, or closes it. */
export function inspect(route: Route, seq: number | undefined): void {
  go(withQuery(route, { message: seq === undefined ? undefined : String(seq) }));
}

function subscribe(changed: () => void): () => void {
  window.addEventListener('hashchange', changed);
  return () => window.removeEventListener('hashchange', changed);
}
