const key = 'kubus-observatory-token';

/** Splits the fragment `#token=...` that the command line prints: the token, and the rest for the address bar. */
export function splitFragment(fragment: string): { token: string | undefined; rest: string } {
  const match = /^#token=([^&/]+)(.*)$/.exec(fragment);
  if (match?.[1] === undefined) return { token: undefined, rest: fragment };
  const rest = (match[2] ?? '').replace(/^&/, '');
  return { token: decodeURIComponent(match[1]), rest: rest === '' ? '' : `#${rest}` };
}

/**
 * Moves the token from the address bar to this tab's storage, so that it is neither copied with the address nor kept when
 * the tab is closed. Returns it; undefined when there never was one.
 */
export function takeToken(): string | undefined {
  const { token, rest } = splitFragment(window.location.hash);
  if (token !== undefined) {
    sessionStorage.setItem(key, token);
    history.replaceState(null, '', `${window.location.pathname}${window.location.search}${rest}`);
  }
  return sessionStorage.getItem(key) ?? undefined;
}
