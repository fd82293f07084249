const key = 'kubus-observatory-token';

/** Splits the fragment `#token=...` that the command line prints: the token, and the rest for the address bar. */
export function splitFragment(fragment: string): { token: string | undefined; rest: string } {
  const match = /^#token=([^&/]+)(.*)$/.exec(fragment);
  if (match?.[1] === undefined) return { token: undefined, rest: fragment };
  const rest = (match[2] ?? '').replace(/^&/, '');
  return { token: decodeURIComponent(match[1]), rest: rest === '' ? '' : `#${rest}` };
}

/** The token in what a user has pasted: the whole address that the command line printed, or the token alone. */
export function tokenIn(pasted: string): string | undefined {
  const text = pasted.trim();
  const hash = text.indexOf('#');
  if (hash >= 0) return splitFragment(text.slice(hash)).token;
  return /^[\w-]{20,}$/.test(text) ? text : undefined;
}

/** Keeps a token for this tab. */
export function keepToken(token: string): void {
  sessionStorage.setItem(key, token);
}

/**
 * Moves the token from the address bar to this tab's storage, so that it is neither copied with the address nor kept when
 * the tab is closed. Returns it; undefined when there never was one.
 */
export function takeToken(): string | undefined {
  const { token, rest } = splitFragment(window.location.hash);
  if (token !== undefined) {
    keepToken(token);
    history.replaceState(null, '', `${window.location.pathname}${window.location.search}${rest}`);
  }
  return sessionStorage.getItem(key) ?? undefined;
}
