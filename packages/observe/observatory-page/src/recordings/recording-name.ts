/** The rule of the observatory, also checked here while the name is typed. */
const allowed = /^[A-Za-z0-9][A-Za-z0-9._-]{0,62}$/;

/** The problem with a name for a new recording; undefined if it is valid. */
export function nameProblem(name: string, taken: readonly string[]): string | undefined {
  if (!allowed.test(name)) return 'Letters, digits, dots, dashes or underscores, at most 63, a letter or digit first.';
  if (taken.includes(name)) return 'A recording with that name already exists.';
  return undefined;
}

/** The name that a file's recording gets: without its extension, with invalid characters replaced, and unused. */
export function nameOfFile(file: string, taken: readonly string[]): string {
  const base =
    file
      .replace(/\.kubus$/, '')
      .replaceAll(/[^A-Za-z0-9._-]/g, '-')
      .replace(/^[^A-Za-z0-9]+/, '')
      .slice(0, 56) || 'recording';
  if (!taken.includes(base)) return base;
  for (let number = 2; ; number++) {
    if (!taken.includes(`${base}-${number}`)) return `${base}-${number}`;
  }
}
